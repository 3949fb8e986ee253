import { isDeepStrictEqual } from 'node:util'
import { escapedPart } from '../core/jsonPointer.ts'
import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { ObjectMeta } from '../core/object.ts'

/** What a revision of a resource is and when one is made. Stored as `data` of a ControllerRevision. */

export const REVISIONS_KEPT = 50
/** Bytes of the revisions of a resource: each is an object with a former spec, which counts in no other limit. */
const ALL_REVISIONS_MAX_BYTES = 1024 * 1024
/** How many are kept however large they are. */
const LARGE_REVISIONS_KEPT = 5
export const REVISION_REASONS = ['Created', 'Updated', 'RolledBack', 'Redeployed'] as const

export type Revision<Content = Record<string, unknown>> = {
  number: number
  createdAt: string
  createdBy?: string | undefined
  reason: (typeof REVISION_REASONS)[number]
  message?: string | undefined
  /** The part of the spec that the revision records, and that a rollback restores. */
  content: Content
  /** Time of the last redeployment without a change, by part. */
  redeployedAt: Readonly<Record<string, string>>
  /** For each part, the revision since which it is unchanged. */
  since: Readonly<Record<string, number>>
}

export type WantedRevision<Content> = {
  content: Content
  redeployedAt: Readonly<Record<string, string>>
  /** For each part, the content that recreates it on a change. */
  parts: (content: Content) => Readonly<Record<string, unknown>>
  /** The content without what a rollback does not restore. */
  restorable: (content: Content) => unknown
}

/**
 * Returns the revision that a spec calls for; undefined if the newest one already matches.
 *
 * @param known in any order
 */
export function nextRevision<Content>(
  known: readonly Revision<Content>[],
  wanted: WantedRevision<Content>,
  change: { at: string; by: string | undefined },
): Revision<Content> | undefined {
  const { content, redeployedAt, parts } = wanted
  const newest = newestRevision(known)
  const isSame = newest !== undefined && isDeepStrictEqual(newest.content, content)
  if (isSame && isDeepStrictEqual(newest.redeployedAt, redeployedAt)) return undefined
  const number = (newest?.number ?? 0) + 1
  const before = newest === undefined ? {} : parts(newest.content)
  const since = Object.entries(parts(content)).map(([name, part]) => {
    const isAsBefore = isDeepStrictEqual(before[name], part) && newest?.redeployedAt[name] === redeployedAt[name]
    return [name, isAsBefore ? (newest?.since[name] ?? number) : number] as const
  })
  return {
    number,
    createdAt: change.at,
    createdBy: change.by,
    ...reasonOf(known, newest, isSame, wanted),
    content,
    redeployedAt,
    since: Object.fromEntries(since),
  }
}

function reasonOf<Content>(
  known: readonly Revision<Content>[],
  newest: Revision<Content> | undefined,
  isSame: boolean,
  { content, restorable }: WantedRevision<Content>,
): Pick<Revision, 'reason' | 'message'> {
  if (newest === undefined) return { reason: 'Created' }
  if (isSame) return { reason: 'Redeployed' }
  const wanted = restorable(content)
  const isLike = (one: Revision<Content>) => isDeepStrictEqual(restorable(one.content), wanted)
  if (isLike(newest)) return { reason: 'Updated' }
  const former = newestRevision(known.filter(isLike))
  if (former === undefined) return { reason: 'Updated' }
  return { reason: 'RolledBack', message: `Rolled back to revision ${former.number}.` }
}

/** Returns the numbers of the revisions that are too old, or for which there is no room. */
export function revisionsToDelete(stored: readonly { number: number; bytes: number }[]): number[] {
  const newestFirst = stored.toSorted((one, other) => other.number - one.number)
  let sum = 0
  return newestFirst.flatMap(({ number, bytes }, at) => {
    sum += bytes
    const hasRoom = sum <= ALL_REVISIONS_MAX_BYTES || at < LARGE_REVISIONS_KEPT
    return hasRoom && at < REVISIONS_KEPT ? [] : [number]
  })
}

export function newestRevision<Content>(known: readonly Revision<Content>[]): Revision<Content> | undefined {
  return known.reduce<Revision<Content> | undefined>(
    (newest, one) => (newest === undefined || one.number > newest.number ? one : newest),
    undefined,
  )
}

/** Whether a ControllerRevision is of this incarnation of a resource. A restore from backup changes every uid. */
export function isRevisionOf({ ownerReferences, annotations }: ObjectMeta, owner: ObjectMeta): boolean {
  if (ownerReferences?.some(({ uid }) => uid === owner.uid) === true) return true
  const incarnation = owner.annotations?.[INCARNATION_ANNOTATION] ?? ''
  return incarnation !== '' && annotations?.[OWNER_INCARNATION_ANNOTATION] === incarnation
}

type Stored = { metadata: { name: string }; revision?: number; data?: unknown }

/** Returns the revision in a ControllerRevision of ours; undefined if somebody else wrote it. */
export function revisionOf<Content>({ revision, data }: Stored): Revision<Content> | undefined {
  const held = data as Partial<Revision<Content>> | undefined
  if (revision === undefined || held?.content === undefined || held.reason === undefined) return undefined
  const { content, reason, createdAt = '', redeployedAt = {}, since = {}, ...rest } = held
  return { ...rest, number: revision, content, reason, createdAt, redeployedAt, since }
}

export type RevisionChange = { path: string; kind: 'Added' | 'Removed' | 'Changed'; from: unknown; to: unknown }

/** Returns the differences of two contents, each place as a JSON Pointer (RFC 6901), in the order of places. */
export function changesBetween(from: unknown, to: unknown, path = ''): RevisionChange[] {
  if (isDeepStrictEqual(from, to)) return []
  if (!isTree(from) || !isTree(to) || Array.isArray(from) !== Array.isArray(to)) {
    const kind = from === undefined ? 'Added' : to === undefined ? 'Removed' : 'Changed'
    return [{ path, kind, from: from ?? null, to: to ?? null }]
  }
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((name) =>
    changesBetween(from[name], to[name], `${path}/${escapedPart(name)}`),
  )
}

const isTree = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
