CREATE TABLE merchant (
    id text PRIMARY KEY CONSTRAINT merchant_id_form CHECK (id ~ '^[a-z0-9-]{1,40}$'),
    name text NOT NULL,
    currency text NOT NULL CONSTRAINT merchant_currency_form CHECK (currency ~ '^[A-Z]{3}$'),
    -- Added to every order below free_freight_from.
    freight bigint NOT NULL DEFAULT 0 CONSTRAINT merchant_freight_positive CHECK (freight >= 0),
    free_freight_from bigint,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE product (
    merchant_id text NOT NULL REFERENCES merchant,
    sku text NOT NULL,
    name text NOT NULL,
    unit_price bigint NOT NULL CONSTRAINT product_price_positive CHECK (unit_price > 0),
    -- available + reserved + sold is constant but for a restock, which changes available alone.
    available bigint NOT NULL CONSTRAINT product_available_not_negative CHECK (available >= 0),
    reserved bigint NOT NULL DEFAULT 0
        CONSTRAINT product_reserved_not_negative CHECK (reserved >= 0),
    sold bigint NOT NULL DEFAULT 0 CONSTRAINT product_sold_not_negative CHECK (sold >= 0),
    PRIMARY KEY (merchant_id, sku)
);

CREATE TABLE coupon (
    merchant_id text NOT NULL REFERENCES merchant,
    code text NOT NULL,
    amount_off bigint NOT NULL CONSTRAINT coupon_amount_positive CHECK (amount_off > 0),
    minimum bigint NOT NULL DEFAULT 0,
    available bigint NOT NULL CONSTRAINT coupon_available_not_negative CHECK (available >= 0),
    reserved bigint NOT NULL DEFAULT 0
        CONSTRAINT coupon_reserved_not_negative CHECK (reserved >= 0),
    used bigint NOT NULL DEFAULT 0 CONSTRAINT coupon_used_not_negative CHECK (used >= 0),
    PRIMARY KEY (merchant_id, code)
);
