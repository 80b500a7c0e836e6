-- Since when an operator's present token proves who they are. Who is disabled and added again, or
-- gets another token, begins anew: what was proposed before counts no more. Of operators that are
-- there already nobody knows whether that happened: they propose again.
ALTER TABLE operator ADD COLUMN token_since timestamptz NOT NULL DEFAULT clock_timestamp();
GRANT SELECT (token_since) ON operator TO oncepay_worker;
