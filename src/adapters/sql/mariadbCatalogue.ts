import { inverted } from '../../core/inverted.ts'
import type { Encoding } from '../../editor/values.ts'
import { createCatalogueReader } from './catalogueReader.ts'

const TABLES = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_ROWS FROM information_schema.TABLES
  WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME`

const COLUMNS = `SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.ORDINAL_POSITION, c.DATA_TYPE, c.COLUMN_TYPE, c.IS_NULLABLE,
    c.EXTRA, c.IS_GENERATED, c.CHARACTER_MAXIMUM_LENGTH, c.NUMERIC_PRECISION, c.NUMERIC_SCALE, c.COLUMN_DEFAULT,
    (SELECT COUNT(*) FROM information_schema.CHECK_CONSTRAINTS k WHERE k.CONSTRAINT_SCHEMA = c.TABLE_SCHEMA
      AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = c.COLUMN_NAME AND k.CHECK_CLAUSE LIKE 'json_valid(%')
  FROM information_schema.COLUMNS c WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION`

const KEYS = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_NAME, SEQ_IN_INDEX`

const REFERENCES = `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,
    REFERENCED_COLUMN_NAME
  FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL
  ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`

const ENCODINGS = inverted<Encoding>({
  integer: 'tinyint smallint mediumint int year',
  bigint: 'bigint',
  decimal: 'decimal',
  float: 'float double',
  date: 'date',
  time: 'time',
  dateTime: 'datetime timestamp',
  uuid: 'uuid',
  json: 'json',
})
const BYTES = /^(tiny|medium|long)?blob$|binary$/
const SHAPES = /^(geometry|point|linestring|polygon|multipoint|multilinestring|multipolygon|geometrycollection)$/

export const mariadbCatalogue = createCatalogueReader({
  // In MariaDB a schema is a database, and a session sees only its own.
  schemas: (database) => [database],
  tables: TABLES,
  isView: (type) => String(type).includes('VIEW'),
  columns: COLUMNS,
  columnOf: (row) => columnOf(row.map((value) => (value === null ? null : String(value)))),
  keys: KEYS,
  references: REFERENCES,
})

function columnOf(row: (string | null)[]) {
  const [
    ,
    ,
    name,
    ordinal,
    dataType,
    fullType,
    nullable,
    extra,
    generated,
    length,
    precision,
    scale,
    standard,
    isJson,
  ] = row
  const type = dataType ?? ''
  const number = (value: string | null | undefined) => (value === null || value === undefined ? null : Number(value))
  return {
    name: name ?? '',
    ordinal: Number(ordinal),
    dataType: isJson === '1' ? 'json' : type,
    fullType: fullType ?? type,
    encoding: isJson === '1' ? ('json' as const) : encodingOf(type, fullType ?? ''),
    isNullable: nullable === 'YES',
    isIdentity: extra?.includes('auto_increment') === true,
    isComputed: generated === 'ALWAYS',
    maxLength: number(length),
    precision: number(precision),
    scale: number(scale),
    defaultExpression: standard === null || standard === 'NULL' ? null : (standard ?? null),
  }
}

function encodingOf(type: string, fullType: string): Encoding {
  if (type === 'bit') return fullType === 'bit(1)' ? 'boolean' : 'bigint'
  if (BYTES.test(type)) return 'binary'
  if (SHAPES.test(type)) return 'wkt'
  return ENCODINGS[type] ?? 'text'
}
