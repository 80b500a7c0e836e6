-- A proposal counts as one of two people only while its operator may decide: who decides must see
-- who may. The digests of tokens stay unread.
GRANT SELECT (name, disabled_at) ON operator TO oncepay_worker;
