import { quoteIdentifier } from '../../editor/names.ts'
import type { LoginNames } from './port.ts'

/** The tables, views and sequences that the current user owns. */
const RELATIONS = `SELECT c.oid::regclass::text AS name, c.relkind = 'S' AS is_sequence
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND pg_catalog.pg_has_role(c.relowner, 'USAGE')`

/** The schemas that the current user owns. */
const SCHEMAS = `SELECT pg_catalog.quote_ident(n.nspname) AS name FROM pg_catalog.pg_namespace n
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND pg_catalog.pg_has_role(n.nspowner, 'USAGE')`

/**
 * Returns a statement that grants the editor's logins access to everything that the current user owns or will create.
 * Idempotent. Objects of others (extensions, catalogues with password hashes) are left alone.
 */
export function buildGrantStatement({ reader, writer }: LoginNames): string {
  const [read, write] = [quoteIdentifier('postgresql', reader), quoteIdentifier('postgresql', writer)]
  const both = `${read}, ${write}`
  // Quoted again for the string literals inside EXECUTE.
  const [bothInText, writeInText] = [both.replaceAll("'", "''"), write.replaceAll("'", "''")]
  return `DO $freehold_grants$
DECLARE one record;
BEGIN
  ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO ${both};
  ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ${both};
  ALTER DEFAULT PRIVILEGES GRANT INSERT, UPDATE, DELETE ON TABLES TO ${write};
  ALTER DEFAULT PRIVILEGES GRANT SELECT ON SEQUENCES TO ${both};
  ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO ${write};
  FOR one IN ${SCHEMAS} LOOP
    EXECUTE 'GRANT USAGE ON SCHEMA ' || one.name || ' TO ${bothInText}';
  END LOOP;
  FOR one IN ${RELATIONS} LOOP
    IF one.is_sequence THEN
      EXECUTE 'GRANT SELECT ON SEQUENCE ' || one.name || ' TO ${bothInText}';
      EXECUTE 'GRANT USAGE ON SEQUENCE ' || one.name || ' TO ${writeInText}';
    ELSE
      EXECUTE 'GRANT SELECT ON TABLE ' || one.name || ' TO ${bothInText}';
      EXECUTE 'GRANT INSERT, UPDATE, DELETE ON TABLE ' || one.name || ' TO ${writeInText}';
    END IF;
  END LOOP;
END
$freehold_grants$`
}
