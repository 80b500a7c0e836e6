CREATE TABLE payment (
    id text PRIMARY KEY CONSTRAINT payment_id_form CHECK (id ~ '^pay_[a-z2-7]{26}$'),
    merchant_id text NOT NULL REFERENCES merchant,
    idempotency_key text NOT NULL,
    order_id text NOT NULL REFERENCES customer_order,
    amount bigint NOT NULL CONSTRAINT payment_amount_positive CHECK (amount > 0),
    currency text NOT NULL,
    channel text NOT NULL,
    account text NOT NULL,
    payment_method text NOT NULL,
    attempt smallint NOT NULL DEFAULT 1,
    reference text NOT NULL CONSTRAINT payment_reference UNIQUE,
    fingerprint text NOT NULL,
    state text NOT NULL CONSTRAINT payment_state CHECK (
        state IN ('Created', 'Processing', 'AwaitingPayer', 'Unknown', 'Succeeded', 'Persisted',
                  'Failed', 'Closed', 'ManualReview')
    ),
    -- Whether this payment may call the channel. Once false, false for ever.
    live boolean NOT NULL,
    version bigint NOT NULL,
    -- No charge is sent from this instant on: a payer who has left must not be charged.
    start_before timestamptz NOT NULL,
    claim_token text,
    -- Set by the first claim. Null proves that no request was ever sent.
    first_sent_at timestamptz,
    -- The end of the last claim: nothing of ours is sent after it.
    send_before timestamptz,
    permits_used smallint NOT NULL DEFAULT 0
        CONSTRAINT payment_permits_limit CHECK (permits_used BETWEEN 0 AND 3),
    -- When a complete lookup last found nothing under the present claim.
    not_found_at timestamptz,
    action jsonb,
    pay_before timestamptz,
    transaction_id text,
    transaction_amount bigint,
    transaction_currency text,
    effect text CONSTRAINT payment_effect CHECK (effect IN ('Applied', 'Surplus', 'Late')),
    failure_class text CONSTRAINT payment_failure_class CHECK (
        failure_class IN ('declined', 'declined_finally', 'not_executed', 'not_started',
                          'confirmed_not_paid')
    ),
    review_reason text,
    -- Past this instant somebody must look at the payment; null once it is finished.
    attend_by timestamptz,
    -- The row was made again from a workflow's input after a loss.
    rebuilt boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payment_key UNIQUE (merchant_id, idempotency_key),
    CONSTRAINT payment_claim_has_end CHECK ((first_sent_at IS NULL) = (send_before IS NULL)),
    CONSTRAINT payment_processing_has_claim CHECK (state <> 'Processing' OR claim_token IS NOT NULL),
    CONSTRAINT payment_awaiting_has_action CHECK (
        state <> 'AwaitingPayer' OR (action IS NOT NULL AND pay_before IS NOT NULL)
    ),
    CONSTRAINT payment_money_with_state CHECK (
        (state IN ('Succeeded', 'Persisted')) = (transaction_id IS NOT NULL)
        AND (transaction_id IS NULL) = (transaction_amount IS NULL)
        AND (transaction_id IS NULL) = (transaction_currency IS NULL)
    ),
    CONSTRAINT payment_effect_with_state CHECK ((state = 'Persisted') = (effect IS NOT NULL)),
    CONSTRAINT payment_failure_with_state CHECK ((state = 'Failed') = (failure_class IS NOT NULL)),
    CONSTRAINT payment_review_with_state
        CHECK ((state = 'ManualReview') = (review_reason IS NOT NULL)),
    CONSTRAINT payment_ended_is_not_live CHECK (
        NOT live OR (state NOT IN ('Failed', 'Closed') AND coalesce(effect, 'Applied') = 'Applied')
    )
);

-- Two intents never work on one order at the same time, whoever starts them.
CREATE UNIQUE INDEX payment_one_live_per_order ON payment (order_id) WHERE live;
CREATE INDEX payment_by_order ON payment (order_id);
CREATE INDEX payment_to_attend ON payment (attend_by) WHERE attend_by IS NOT NULL;

ALTER TABLE customer_order
    ADD CONSTRAINT customer_order_paid_by FOREIGN KEY (paid_by) REFERENCES payment (id);

CREATE FUNCTION keep_not_live() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.live AND NOT OLD.live THEN
        RAISE EXCEPTION 'payment % may never call the channel again', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'payment_live_once';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER payment_live_once BEFORE UPDATE OF live ON payment
    FOR EACH ROW EXECUTE FUNCTION keep_not_live();
