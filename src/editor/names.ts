import type { Table } from './catalogue.ts'
import type { Dialect } from './dialect.ts'

/** Quotes an identifier for the engine. Only names from the catalogue are ever quoted. */
export function quoteIdentifier(dialect: Dialect, name: string): string {
  if (dialect === 'postgresql') return `"${name.replaceAll('"', '""')}"`
  if (dialect === 'mariadb') return `\`${name.replaceAll('`', '``')}\``
  return `[${name.replaceAll(']', ']]')}]`
}

export function quoteTable(dialect: Dialect, { schema, name }: Pick<Table, 'schema' | 'name'>): string {
  return `${quoteIdentifier(dialect, schema)}.${quoteIdentifier(dialect, name)}`
}
