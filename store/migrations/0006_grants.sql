-- Append-only is a privilege, not a habit: nobody but the owner may change or delete a record.
GRANT USAGE ON SCHEMA public TO oncepay_worker, oncepay_api;

GRANT SELECT, INSERT, UPDATE ON
    merchant, product, coupon, customer_order, order_item, idempotency, payment, review, outbox
    TO oncepay_worker;
GRANT SELECT, INSERT ON payment_event, channel_exchange, money_fact TO oncepay_worker;

-- The API writes a new order and nothing else.
GRANT SELECT ON
    merchant, product, coupon, customer_order, order_item, idempotency, payment, payment_event,
    channel_exchange, money_fact, review, outbox
    TO oncepay_api;
GRANT INSERT ON customer_order, order_item, idempotency TO oncepay_api;
GRANT UPDATE (available, reserved) ON product TO oncepay_api;
GRANT UPDATE (available, reserved) ON coupon TO oncepay_api;

-- Both ask at start whether the schema is the one they were built for.
GRANT SELECT ON _sqlx_migrations TO oncepay_worker, oncepay_api;
