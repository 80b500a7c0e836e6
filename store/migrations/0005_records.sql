-- Every change of a payment, and every piece of news that changed nothing. Append-only.
CREATE TABLE payment_event (
    id text PRIMARY KEY,
    payment_id text NOT NULL REFERENCES payment,
    -- The payment's version after this event.
    sequence bigint NOT NULL,
    kind text NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    actor text NOT NULL,
    -- Why, in the event's own words: a reason, a proof, a channel's code. No payer data.
    cause jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT payment_event_sequence UNIQUE (payment_id, sequence)
);

-- Every request to a channel and what came of it. Append-only.
CREATE TABLE channel_exchange (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payment_id text NOT NULL REFERENCES payment,
    operation text NOT NULL
        CONSTRAINT channel_exchange_operation CHECK (operation IN ('charge', 'lookup', 'close')),
    claim_token text,
    started_at timestamptz NOT NULL,
    duration_ms bigint NOT NULL,
    outcome text NOT NULL,
    transaction_id text,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX channel_exchange_by_payment ON channel_exchange (payment_id);

-- Every movement of money that we know of, once. Append-only: a fact never disappears.
CREATE TABLE money_fact (
    channel text NOT NULL,
    account text NOT NULL,
    transaction_id text NOT NULL,
    payment_id text NOT NULL REFERENCES payment,
    amount bigint NOT NULL,
    currency text NOT NULL,
    -- What became of it when it was first seen. Anything but Applied has a review.
    disposition text NOT NULL CONSTRAINT money_fact_disposition CHECK (
        disposition IN ('Applied', 'Surplus', 'Late', 'Mismatch', 'SecondTransaction', 'Broken')
    ),
    event_id text NOT NULL,
    source text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT money_fact_transaction PRIMARY KEY (channel, account, transaction_id)
);
CREATE INDEX money_fact_by_payment ON money_fact (payment_id);

CREATE TABLE review (
    id text PRIMARY KEY,
    payment_id text NOT NULL REFERENCES payment,
    event_id text NOT NULL,
    reason text NOT NULL,
    state text NOT NULL CONSTRAINT review_state CHECK (state IN ('Open', 'Decided', 'Overtaken')),
    version bigint NOT NULL DEFAULT 1,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    remind_at timestamptz NOT NULL,
    ended_at timestamptz,
    decision_id text CONSTRAINT review_decision UNIQUE,
    choice jsonb,
    decided_by text,
    decision_reason text,
    CONSTRAINT review_ended CHECK ((state = 'Open') = (ended_at IS NULL)),
    CONSTRAINT review_decided CHECK (
        (state = 'Decided') = (decision_id IS NOT NULL)
        AND (decision_id IS NULL) = (choice IS NULL)
        AND (decision_id IS NULL) = (decided_by IS NULL)
        AND (decision_id IS NULL) = (decision_reason IS NULL)
    )
);
-- A payment whose outcome a person must decide asks once.
CREATE UNIQUE INDEX review_one_open_per_reason ON review (payment_id, reason, event_id)
    WHERE state = 'Open';
CREATE INDEX review_open ON review (opened_at) WHERE state = 'Open';

-- Events for others, written with the change that they tell of.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payment_id text NOT NULL REFERENCES payment,
    -- The payment's version: a consumer that ignores a lower one than it has seen is right.
    sequence bigint NOT NULL,
    kind text NOT NULL,
    body jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT outbox_sequence UNIQUE (payment_id, sequence)
);
