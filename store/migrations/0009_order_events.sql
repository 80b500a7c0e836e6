-- Every change of an order's state, with who did it and why. Append-only. That an order was made
-- is said by its own row.
CREATE TABLE order_event (
    order_id text NOT NULL REFERENCES customer_order,
    -- The order's version after this event.
    sequence bigint NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    actor text NOT NULL,
    -- The payment on whose account it happened.
    payment_id text REFERENCES payment,
    -- Why: the event of that payment, or a code. No payer data.
    cause jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (order_id, sequence)
);

GRANT SELECT, INSERT ON order_event TO oncepay_worker;
GRANT SELECT ON order_event TO oncepay_api;
