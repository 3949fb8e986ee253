import { isUuid } from '../core/names.ts'

export const OUTCOMES = ['Succeeded', 'Failed', 'Refused', 'Started'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** How the platform learned of it. What callers wrote is `Reported`, and cannot pass for the platform's record. */
export const CHANNELS = ['Rest', 'Kubernetes', 'Platform', 'Reported'] as const
export type Channel = (typeof CHANNELS)[number]

/** A principal of the platform; the platform itself; or a user that only Kubernetes knows, by name. */
export type Actor = { readonly principalId: string } | { readonly platform: true } | { readonly kubernetes: string }

/** The admission policy whose audit annotation marks a write that changes nothing, and the key of the annotation. */
export const UNCHANGED_POLICY = 'freehold-unchanged'
export const UNCHANGED_KEY = 'unchanged'
export const UNCHANGED_ANNOTATION = `${UNCHANGED_POLICY}/${UNCHANGED_KEY}`

/** The policy that marks a dry run. Only the API server knows: the body of a DELETE overrides its query. */
export const DRY_RUN_POLICY = 'freehold-dry-run'
export const DRY_RUN_KEY = 'dry-run'
export const DRY_RUN_ANNOTATION = `${DRY_RUN_POLICY}/${DRY_RUN_KEY}`

export const ENTRIES_MAX = 10_000
/** Maximum of these that callers reported: however much they write, it displaces nothing that the platform saw. */
export const REPORTED_ENTRIES_MAX = 1_000
export const RETENTION_DAYS = 90
/**
 * Records of a boundary beyond which those of deleted resources go, the oldest first: creating and deleting under ever
 * new names would fill etcd.
 */
export const BOUNDARY_RECORDS_MAX = 20_000
/**
 * Maximum compressed bytes of all records of a boundary: the largest are thinned beyond it. About as much as the objects
 * of a boundary may take; etcd holds 8 GiB of everybody.
 */
export const BOUNDARY_BYTES_MAX = 256 * 1024 * 1024
/** Milliseconds that a reported time may be in the future, because the clocks of callers differ. */
export const MAX_CLOCK_SKEW_MS = 300_000
/** Maximum bytes of an entry as JSON; the longest lists of changes are cut. */
export const MAX_ENTRY_BYTES = 4_096
/** Maximum compressed bytes of all entries of a resource. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024
const REPORTED_BYTES_MAX = 512 * 1024

export type RecordBounds = { readonly entries: number; readonly bytes: number }
/** The two parts of a resource's record, each with its own bounds. */
export const OWN_BOUNDS: RecordBounds = {
  entries: ENTRIES_MAX - REPORTED_ENTRIES_MAX,
  bytes: MAX_RECORD_BYTES - REPORTED_BYTES_MAX,
}
export const REPORTED_BOUNDS: RecordBounds = { entries: REPORTED_ENTRIES_MAX, bytes: REPORTED_BYTES_MAX }

/** Returns the audit id of a write by the facade: entry and caller, should the facade die before it reports. */
export function auditIdOf(entryId: string, principalId: string): string {
  return `${entryId}.${principalId}`
}

export function parseAuditId(text: string): { entryId: string; principalId: string } | undefined {
  const [entryId = '', principalId = '', ...more] = text.split('.')
  return isUuid(entryId) && isUuid(principalId) && more.length === 0 ? { entryId, principalId } : undefined
}
