import { inverted } from '../../core/inverted.ts'
import type { Encoding } from '../../editor/values.ts'
import { createCatalogueReader } from './catalogueReader.ts'

const TABLES = `SELECT s.name, o.name, o.type, CONVERT(varchar(20), (SELECT SUM(p.rows) FROM sys.partitions p WHERE p.object_id = o.object_id AND p.index_id < 2))
  FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 ORDER BY 1, 2`

const COLUMNS = `SELECT s.name, o.name, c.name, c.column_id, b.name, c.is_nullable, c.is_identity, c.is_computed, c.max_length, c.precision, c.scale, d.definition
  FROM sys.columns c JOIN sys.objects o ON o.object_id = c.object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
    JOIN sys.types t ON t.user_type_id = c.user_type_id
    JOIN sys.types b ON b.user_type_id = CASE WHEN t.is_assembly_type = 1 THEN t.user_type_id ELSE t.system_type_id END
    LEFT JOIN sys.default_constraints d ON d.object_id = c.default_object_id
  WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 ORDER BY 1, 2, 4`

const KEYS = `SELECT s.name, o.name, c.name FROM sys.indexes i
    JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id
    JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id
    JOIN sys.objects o ON o.object_id = i.object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
  WHERE i.is_primary_key = 1 ORDER BY s.name, o.name, k.key_ordinal`

const REFERENCES = `SELECT s.name, o.name, f.name, c.name, rs.name, ro.name, rc.name FROM sys.foreign_keys f
    JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id
    JOIN sys.objects o ON o.object_id = f.parent_object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
    JOIN sys.columns c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
    JOIN sys.objects ro ON ro.object_id = f.referenced_object_id JOIN sys.schemas rs ON rs.schema_id = ro.schema_id
    JOIN sys.columns rc ON rc.object_id = k.referenced_object_id AND rc.column_id = k.referenced_column_id
  ORDER BY s.name, o.name, f.name, k.constraint_column_id`

const ENCODINGS = inverted<Encoding>({
  boolean: 'bit',
  integer: 'tinyint smallint int',
  bigint: 'bigint',
  decimal: 'decimal numeric money smallmoney',
  float: 'real float',
  date: 'date',
  time: 'time',
  dateTime: 'datetime datetime2 smalldatetime',
  dateTimeOffset: 'datetimeoffset',
  uuid: 'uniqueidentifier',
  binary: 'binary varbinary image timestamp rowversion',
  wkt: 'geometry geography',
})

export const mssqlCatalogue = createCatalogueReader({
  schemas: (_, tables) => [...new Set(tables.map(([schema]) => schema))].sort(),
  tables: TABLES,
  isView: (type) => String(type).trim() === 'V',
  columns: COLUMNS,
  columnOf,
  keys: KEYS,
  references: REFERENCES,
})

function columnOf(row: unknown[]) {
  const [, , name, ordinal, dataType, isNullable, isIdentity, isComputed, length, precision, scale, standard] = row
  const type = String(dataType)
  const bytes = Number(length)
  // `max_length` is in bytes: wide characters take two. -1 means `max`.
  const size = /^n(var)?char$/.test(type) && bytes > 0 ? bytes / 2 : bytes
  const isSized = /char$|binary$/.test(type)
  const isExact = type === 'decimal' || type === 'numeric'
  const isFractional = /^(time|datetime2|datetimeoffset)$/.test(type)
  const suffix = isSized
    ? `(${size < 0 ? 'max' : size})`
    : isExact
      ? `(${precision},${scale})`
      : isFractional
        ? `(${scale})`
        : ''
  return {
    name: String(name),
    ordinal: Number(ordinal),
    dataType: type,
    fullType: `${type}${suffix}`,
    encoding: ENCODINGS[type] ?? ('text' as const),
    isNullable: isNullable === true,
    isIdentity: isIdentity === true,
    // The engine fills in `timestamp` columns like computed ones.
    isComputed: isComputed === true || type === 'timestamp',
    maxLength: isSized && size > 0 ? size : null,
    precision: isExact ? Number(precision) : null,
    scale: isExact ? Number(scale) : null,
    defaultExpression: standard === null ? null : String(standard),
  }
}
