import type { Column } from './catalogue.ts'
import type { Dialect } from './dialect.ts'
import { quoteIdentifier } from './names.ts'
import type { BoundValue } from './values.ts'

/** Returns the expression that selects a column in the text form that its encoding promises. */
export function shownExpression(dialect: Dialect, column: Column): string {
  const name = quoteIdentifier(dialect, column.name)
  if (dialect === 'postgresql') return postgresqlShown(name, column)
  if (dialect === 'mariadb') {
    return column.encoding === 'wkt' ? `CONCAT('SRID=', ST_SRID(${name}), ';', ST_AsText(${name})) AS ${name}` : name
  }
  return `${mssqlShown(name, column)} AS ${name}`
}

function postgresqlShown(name: string, { dataType, encoding }: Column): string {
  if (dataType === 'money') return `${name}::numeric AS ${name}`
  if (encoding === 'wkt') return `('SRID=' || ST_SRID(${name}::geometry) || ';' || ST_AsText(${name})) AS ${name}`
  return name
}

/** The driver loses precision of exact numbers and times, so the engine converts them to text. */
function mssqlShown(name: string, { dataType, encoding }: Column): string {
  if (encoding === 'wkt') return `CONCAT('SRID=', ${name}.STSrid, ';', ${name}.STAsText())`
  if (dataType === 'hierarchyid') return `${name}.ToString()`
  if (dataType === 'xml' || dataType === 'sql_variant') return `CONVERT(nvarchar(max), ${name})`
  if (/money$/.test(dataType)) return `CONVERT(varchar(40), ${name}, 2)`
  if (encoding === 'float') return `CONVERT(varchar(40), ${name}, 3)`
  if (['decimal', 'bigint', 'uuid'].includes(encoding)) return `CONVERT(varchar(60), ${name})`
  if (['date', 'time', 'dateTime', 'dateTimeOffset'].includes(encoding)) return `CONVERT(varchar(40), ${name}, 126)`
  return name
}

/** Returns the placeholder of the n-th parameter, starting at 1. */
export function parameterPlaceholder(dialect: Dialect, number: number): string {
  if (dialect === 'postgresql') return `$${number}`
  return dialect === 'mariadb' ? '?' : `@p${number}`
}

/** Returns the expression that stores a parameter into a column. */
export function storedExpression(dialect: Dialect, column: Column, value: BoundValue, number: number): string {
  const at = parameterPlaceholder(dialect, number)
  if (value === null) return at
  if (dialect === 'postgresql') return column.dataType === 'money' ? `${at}::numeric::money` : at
  if (dialect === 'mssql') return mssqlConverted(column, value, at)
  if (column.encoding === 'wkt') return `ST_GeomFromText(${at}, ${sridOf(value)})`
  return column.dataType === 'bit' ? `CAST(${at} AS UNSIGNED)` : at
}

/**
 * Returns the expression that compares a parameter with a column, cast to the column's type. MariaDB compares a number
 * with a string as floating-point numbers, which could match several rows.
 */
export function comparedExpression(dialect: Dialect, column: Column, value: BoundValue, number: number): string {
  if (dialect !== 'mariadb' || value === null) return storedExpression(dialect, column, value, number)
  const at = parameterPlaceholder(dialect, number)
  const type = mariadbType(column, value)
  return type === undefined ? storedExpression(dialect, column, value, number) : `CAST(${at} AS ${type})`
}

function mariadbType(column: Column, value: BoundValue): string | undefined {
  switch (column.encoding) {
    case 'boolean':
      return 'UNSIGNED'
    case 'integer':
    case 'bigint':
      return String(value).startsWith('-') ? 'SIGNED' : 'UNSIGNED'
    case 'decimal':
      return `DECIMAL(65, ${Math.min(30, Math.max(column.scale ?? 0, /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0))})`
    case 'float':
      return 'DOUBLE'
    case 'date':
      return 'DATE'
    case 'time':
      return 'TIME(6)'
    case 'dateTime':
      return 'DATETIME(6)'
    case 'uuid':
      return 'UUID'
    default:
      return undefined
  }
}

function mssqlConverted(column: Column, value: BoundValue, at: string): string {
  if (column.encoding === 'wkt') return `${column.dataType}::STGeomFromText(${at}, ${sridOf(value)})`
  if (column.encoding === 'text' && /char|text$/.test(column.dataType)) return at
  const isTime = ['date', 'time', 'dateTime', 'dateTimeOffset'].includes(column.encoding)
  return `CONVERT(${column.fullType}, ${at}${isTime ? ', 126' : ''})`
}

/** Returns digits only: the value has already been validated. */
function sridOf(value: BoundValue): number {
  return Number(/^SRID=(\d{1,6});/.exec(String(value))?.[1] ?? 0)
}

/** Returns the value to send: well-known text without its SRID, and booleans as numbers for MariaDB. */
export function sentValue(dialect: Dialect, column: Column, value: BoundValue): BoundValue {
  if (typeof value !== 'string') return value
  if (column.encoding === 'wkt' && dialect !== 'postgresql') return value.slice(value.indexOf(';') + 1)
  if (column.encoding === 'boolean' && dialect === 'mariadb') return value === 'true' ? '1' : '0'
  return value
}
