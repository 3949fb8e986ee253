import { createHash } from 'node:crypto'
import type { SqlValue } from './values.ts'

/** Of a row as it is shown: another value anywhere is another version. */
export function versionOf(row: readonly SqlValue[]): string {
  return createHash('sha256').update(JSON.stringify(row)).digest('base64url').slice(0, 22)
}
