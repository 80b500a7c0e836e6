CREATE TABLE customer_order (
    id text PRIMARY KEY CONSTRAINT customer_order_id_form CHECK (id ~ '^ord_[a-z2-7]{26}$'),
    merchant_id text NOT NULL REFERENCES merchant,
    state text NOT NULL CONSTRAINT customer_order_state CHECK (
        state IN ('AwaitingPayment', 'Closing', 'Closed', 'Paid', 'Fulfilling', 'Fulfilled',
                  'Cancelled', 'Refunded')
    ),
    currency text NOT NULL,
    goods_total bigint NOT NULL,
    discount bigint NOT NULL,
    freight bigint NOT NULL,
    payable bigint NOT NULL CONSTRAINT customer_order_payable_positive CHECK (payable > 0),
    coupon_code text,
    -- Which payment's money is kept. Set once, by the first confirmed money.
    paid_by text,
    version bigint NOT NULL DEFAULT 1,
    close_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT customer_order_sum CHECK (payable = goods_total - discount + freight),
    CONSTRAINT customer_order_coupon
        FOREIGN KEY (merchant_id, coupon_code) REFERENCES coupon (merchant_id, code),
    -- Kept money and the states that have it come and go together.
    CONSTRAINT customer_order_paid_by_with_state CHECK (
        (paid_by IS NOT NULL)
        = (state IN ('Paid', 'Fulfilling', 'Fulfilled', 'Cancelled', 'Refunded'))
    )
);

-- The price snapshot: what was agreed, whatever the product costs later. Each line is also the
-- order's reservation of that product.
CREATE TABLE order_item (
    order_id text NOT NULL REFERENCES customer_order,
    merchant_id text NOT NULL,
    sku text NOT NULL,
    name text NOT NULL,
    quantity integer NOT NULL CONSTRAINT order_item_quantity_positive CHECK (quantity > 0),
    unit_price bigint NOT NULL,
    line_total bigint NOT NULL,
    PRIMARY KEY (order_id, sku),
    FOREIGN KEY (merchant_id, sku) REFERENCES product (merchant_id, sku),
    CONSTRAINT order_item_sum CHECK (line_total = unit_price * quantity)
);

-- What a key was used for outside payments, whose own row holds their key.
CREATE TABLE idempotency (
    merchant_id text NOT NULL REFERENCES merchant,
    operation text NOT NULL CONSTRAINT idempotency_operation CHECK (operation IN ('create_order')),
    key text NOT NULL,
    fingerprint text NOT NULL,
    resource_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT idempotency_key PRIMARY KEY (merchant_id, operation, key)
);

CREATE FUNCTION keep_paid_by() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.paid_by IS NOT NULL AND NEW.paid_by IS DISTINCT FROM OLD.paid_by THEN
        RAISE EXCEPTION 'paid_by of order % is set once', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'customer_order_paid_by_once';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER customer_order_paid_by_once BEFORE UPDATE OF paid_by ON customer_order
    FOR EACH ROW EXECUTE FUNCTION keep_paid_by();
