import type { Encoding } from '../../editor/values.ts'
import { createCatalogueReader } from './catalogueReader.ts'
import { TYPES } from './postgresqlTypes.ts'

const VISIBLE = `n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'`

const SCHEMAS = `SELECT n.nspname FROM pg_namespace n WHERE ${VISIBLE} ORDER BY 1`

const TABLES = `SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), c.reltuples::bigint::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND ${VISIBLE} AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1, 2`

const COLUMNS = `SELECT n.nspname, c.relname, a.attname, a.attnum, b.typname, format_type(a.atttypid, a.atttypmod),
    NOT a.attnotnull, a.attidentity <> '', a.attgenerated <> '', a.atttypmod,
    CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND ${VISIBLE}
  ORDER BY 1, 2, a.attnum`

const KEYS = `SELECT n.nspname, c.relname, a.attname
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS u(number, place)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.number
  WHERE k.contype = 'p' AND ${VISIBLE} ORDER BY 1, 2, u.place`

const REFERENCES = `SELECT n.nspname, c.relname, k.conname, a.attname, fn.nspname, fc.relname, fa.attname
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class fc ON fc.oid = k.confrelid JOIN pg_namespace fn ON fn.oid = fc.relnamespace
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS u(number, other, place)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.number
    JOIN pg_attribute fa ON fa.attrelid = fc.oid AND fa.attnum = u.other
  WHERE k.contype = 'f' AND ${VISIBLE} ORDER BY 1, 2, 3, u.place`

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  ...Object.fromEntries(Object.values(TYPES)),
  // Results read it as text, tables as a decimal.
  money: 'decimal',
  geometry: 'wkt',
  geography: 'wkt',
}

export const postgresqlCatalogue = createCatalogueReader({
  schemas: SCHEMAS,
  tables: TABLES,
  isView: (what) => what === true,
  columns: COLUMNS,
  columnOf,
  keys: KEYS,
  references: REFERENCES,
})

function columnOf(row: unknown[]) {
  const [, , name, ordinal, dataType, fullType, isNullable, isIdentity, isComputed, modifier, defaultExpression] = row
  const type = String(dataType)
  // Decodes the type modifier (PostgreSQL, `numeric.c` and `varchar.c`); -1 means none.
  const packed = Number(modifier) < 4 ? undefined : Number(modifier) - 4
  const isText = type === 'varchar' || type === 'bpchar'
  const isExact = type === 'numeric'
  return {
    name: String(name),
    ordinal: Number(ordinal),
    dataType: type,
    fullType: String(fullType),
    encoding: ENCODINGS[type] ?? ('text' as const),
    isNullable: isNullable === true,
    isIdentity: isIdentity === true,
    isComputed: isComputed === true,
    maxLength: isText && packed !== undefined ? packed : null,
    precision: isExact && packed !== undefined ? (packed >> 16) & 0xffff : null,
    scale: isExact && packed !== undefined ? packed & 0x7ff : null,
    defaultExpression: defaultExpression === null ? null : String(defaultExpression),
  }
}
