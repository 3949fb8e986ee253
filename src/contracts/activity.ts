import { isUuid } from '../core/names.ts'

export const OUTCOMES = ['Succeeded', 'Failed', 'Refused', 'Started'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** How the platform knows; `Reported` is what callers wrote, so that it cannot pass for the platform's own record. */
export const CHANNELS = ['Rest', 'Kubernetes', 'Platform', 'Reported'] as const
export type Channel = (typeof CHANNELS)[number]

/** A principal of the platform; the platform itself; or somebody only Kubernetes knows, by name. */
export type Actor = { readonly principalId: string } | { readonly platform: true } | { readonly kubernetes: string }

/** The admission policy that says in the audit log that a write changes nothing, and the annotation that it writes there. */
export const UNCHANGED_POLICY = 'freehold-unchanged'
export const UNCHANGED_KEY = 'unchanged'
export const UNCHANGED_ANNOTATION = `${UNCHANGED_POLICY}/${UNCHANGED_KEY}`

/** The one that says that a write is a dry run. Only the API server knows: a body overrules the address of a deletion. */
export const DRY_RUN_POLICY = 'freehold-dry-run'
export const DRY_RUN_KEY = 'dry-run'
export const DRY_RUN_ANNOTATION = `${DRY_RUN_POLICY}/${DRY_RUN_KEY}`

export const ENTRIES_MAX = 10_000
/** Of those, what callers reported: however much they write, it takes no place from what the platform saw. */
export const REPORTED_MAX = 1_000
export const RETENTION_DAYS = 90
/** Milliseconds that a reported time may be ahead: so may the clocks of callers. */
export const AHEAD_MAX = 300_000
/** Of the JSON of an entry; the longest lists of changes are cut. */
export const ENTRY_BYTES_MAX = 4_096
/** Compressed, of all entries of a resource: the oldest go first. */
export const RECORD_BYTES_MAX = 4 * 1024 * 1024
const REPORTED_BYTES_MAX = 512 * 1024

export type RecordBounds = { readonly entries: number; readonly bytes: number }
/** The two parts of a resource's record, each with its own bounds. */
export const OWN_BOUNDS: RecordBounds = {
  entries: ENTRIES_MAX - REPORTED_MAX,
  bytes: RECORD_BYTES_MAX - REPORTED_BYTES_MAX,
}
export const REPORTED_BOUNDS: RecordBounds = { entries: REPORTED_MAX, bytes: REPORTED_BYTES_MAX }

/** The audit id of a write of the facade: the entry's id and who asked for it, should the facade end before it tells. */
export function auditIdOf(entryId: string, principalId: string): string {
  return `${entryId}.${principalId}`
}

export function readAuditId(text: string): { entryId: string; principalId: string } | undefined {
  const [entryId = '', principalId = '', ...more] = text.split('.')
  return isUuid(entryId) && isUuid(principalId) && more.length === 0 ? { entryId, principalId } : undefined
}
