-- The roles that the processes use. They may exist already: they belong to the whole server, and
-- an administrator gives them their passwords. Who may write what stands in the last migration.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['oncepay_worker', 'oncepay_api'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN', role_name);
        EXCEPTION
            -- Another database of the same server may create it at the same moment.
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
END
$$;
