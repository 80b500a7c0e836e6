-- The people who may decide reviews. Of a token only its SHA-256 is kept. A token is drawn from
-- 2^256, so its digest can be neither guessed nor turned back.
CREATE TABLE operator (
    name text PRIMARY KEY CONSTRAINT operator_name_form CHECK (name ~ '^[a-z0-9._-]{1,40}$'),
    token_sha256 bytea NOT NULL CONSTRAINT operator_token UNIQUE
        CONSTRAINT operator_token_length CHECK (octet_length(token_sha256) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- From this instant on the token proves nothing. The name stays, for the records that have it.
    disabled_at timestamptz
);

-- Only the owner adds people: neither the API nor a worker can give itself the right to decide.
GRANT SELECT ON operator TO oncepay_api;
