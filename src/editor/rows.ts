import { createHash } from 'node:crypto'
import { digestOf, type SqlValue } from './values.ts'

/** Returns a version of a stored row. It changes with every value, including those that are too long to be shown. */
export function versionOf(row: readonly SqlValue[]): string {
  const parts = row.map((value) => (typeof value === 'object' && value !== null ? [value, digestOf(value)] : value))
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
}
