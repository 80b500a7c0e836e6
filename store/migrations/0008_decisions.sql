-- Every decision of a person: what they chose and what that did. Append-only: the row of a review
-- says how it ended, this says who said what on the way.
CREATE TABLE decision (
    id text PRIMARY KEY,
    -- The order in which decisions were made: an operator's latest proposal counts.
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    review_id text NOT NULL REFERENCES review,
    -- The version of the review that the person saw.
    review_version bigint NOT NULL,
    operator text NOT NULL
        CONSTRAINT decision_operator_form CHECK (operator ~ '^[a-z0-9._-]{1,40}$'),
    authenticated boolean NOT NULL,
    choice jsonb NOT NULL,
    reason text NOT NULL,
    did text NOT NULL CONSTRAINT decision_did CHECK (did IN ('Proposed', 'Decided')),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A name that was not proved never counts as one of two people.
    CONSTRAINT decision_proposal_proved CHECK (did = 'Decided' OR authenticated)
);
CREATE INDEX decision_by_review ON decision (review_id);
CREATE UNIQUE INDEX decision_one_per_review ON decision (review_id) WHERE did = 'Decided';

-- What was decided before there was this record.
INSERT INTO decision
    (id, review_id, review_version, operator, authenticated, choice, reason, did, at)
SELECT decision_id, id, version - 1, decided_by, true, choice, decision_reason, 'Decided', ended_at
FROM review WHERE state = 'Decided';

GRANT SELECT, INSERT ON decision TO oncepay_worker;
GRANT SELECT ON decision TO oncepay_api;

ALTER TABLE payment
    -- The operator who started the payment; they do not decide about it.
    ADD COLUMN started_by text
        CONSTRAINT payment_started_by_form CHECK (started_by ~ '^[a-z0-9._-]{1,40}$'),
    -- The decision that lets the request be sent once more. The claim that does so uses it up.
    ADD COLUMN risk_accepted_by text REFERENCES decision,
    -- A request was sent again at a person's risk where the channel might execute both. From then
    -- on the answer to one request says nothing about the other.
    ADD COLUMN risk_taken boolean NOT NULL DEFAULT false;
