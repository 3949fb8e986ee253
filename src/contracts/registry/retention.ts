import { DAY_MS } from '../../core/clock.ts'
import { compareTexts } from '../../core/textOrder.ts'

/** What retention keeps of a repository. Pure: the preview and the runs decide by the same function. */

export type StoredDigest = {
  readonly digest: string
  readonly tags: readonly string[]
  readonly sizeBytes: number
  readonly pushedAt: string
  readonly lastPulledAt?: string | undefined
  /** Manifests that it needs: those of an index, and its subject. */
  readonly references?: readonly string[] | undefined
  /** The manifest that it describes, such as the image of a signature: it is kept as long as that one. */
  readonly subject?: string | undefined
}

export type RetentionPolicy = { keepLast: number; keepForDays: number; deleteUntaggedAfterDays: number }
export const DEFAULT_RETENTION_POLICY: RetentionPolicy = { keepLast: 10, keepForDays: 30, deleteUntaggedAfterDays: 7 }
/** For a repository whose group is gone. */
export const KEEP_NOTHING_POLICY: RetentionPolicy = { keepLast: 0, keepForDays: 0, deleteUntaggedAfterDays: 0 }

export type Pin = {
  readonly digests: readonly string[]
  readonly keepLast?: number | undefined
  readonly keepForDays?: number | undefined
  readonly expiresAt: string
}

/** References to a repository: digests, and tags, which mean whatever they point to. */
export type ImageReferences = { readonly digests: ReadonlySet<string>; readonly tags: ReadonlySet<string> }
export type ImageUses = {
  /** Named by something that runs, or would run. */
  readonly running: ImageReferences
  /** Named by revisions that can be brought back. */
  readonly revisions: ImageReferences
}
const NO_REFERENCES: ImageReferences = { digests: new Set(), tags: new Set() }
export const NO_IMAGE_USES: ImageUses = { running: NO_REFERENCES, revisions: NO_REFERENCES }

export const KEEP_REASONS = ['Latest', 'Recent', 'Pinned', 'Running', 'Revision'] as const
export const REMOVE_REASONS = ['Untagged', 'Expired'] as const
export type RetentionDecision = {
  readonly stored: StoredDigest
} & (
  | { readonly action: 'Keep'; readonly reason: (typeof KEEP_REASONS)[number] }
  | { readonly action: 'Remove'; readonly reason: (typeof REMOVE_REASONS)[number] }
)

export type RetentionInput = {
  readonly digests: readonly StoredDigest[]
  readonly pins: readonly Pin[]
  readonly uses: ImageUses
  readonly policy: RetentionPolicy
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Returns a verdict on each digest, newest first. */
export function decideRetention({ digests, pins, uses, policy, now }: RetentionInput): RetentionDecision[] {
  const active = pins.filter(({ expiresAt }) => Date.parse(expiresAt) > now)
  const isPinned = createPinMatcher(active)
  const keepLast = Math.max(policy.keepLast, ...active.map((pin) => pin.keepLast ?? 0))
  const keepFor = Math.max(policy.keepForDays, ...active.map((pin) => pin.keepForDays ?? 0)) * DAY_MS
  const newest = newestFirst(digests)
  const latest = new Set(newest.filter(({ tags }) => tags.length > 0).slice(0, keepLast))
  const age = ({ pushedAt, lastPulledAt }: StoredDigest) =>
    now - Math.max(Date.parse(pushedAt), lastPulledAt === undefined ? 0 : Date.parse(lastPulledAt))
  const isNamed = ({ digest, tags }: StoredDigest, by: ImageReferences) =>
    by.digests.has(digest) || tags.some((tag) => by.tags.has(tag))
  const own = (stored: StoredDigest): RetentionDecision => {
    const keep = (reason: (typeof KEEP_REASONS)[number]): RetentionDecision => ({ stored, action: 'Keep', reason })
    if (isPinned(stored.digest)) return keep('Pinned')
    if (isNamed(stored, uses.running)) return keep('Running')
    if (isNamed(stored, uses.revisions)) return keep('Revision')
    if (latest.has(stored)) return keep('Latest')
    const isTagged = stored.tags.length > 0
    if (age(stored) < (isTagged ? keepFor : policy.deleteUntaggedAfterDays * DAY_MS)) return keep('Recent')
    return { stored, action: 'Remove', reason: isTagged ? 'Expired' : 'Untagged' }
  }
  return keepRequired(newest.map(own))
}

/** Returns whether pins keep a digest by name. @param active those that have not expired */
export function createPinMatcher(active: readonly Pin[]): (digest: string) => boolean {
  const isBounded = ({ keepLast, keepForDays }: Pin) => keepLast !== undefined || keepForDays !== undefined
  // A pin that names neither digests nor bounds keeps everything.
  const keepsAll = active.some((pin) => pin.digests.length === 0 && !isBounded(pin))
  const named = new Set(active.flatMap(({ digests }) => digests))
  return (digest) => keepsAll || named.has(digest)
}

/** Sorts by time, then by digest, so that equal times have one order. */
function newestFirst(digests: readonly StoredDigest[]): StoredDigest[] {
  const keyed = digests.map((stored) => ({ stored, at: Date.parse(stored.pushedAt) }))
  keyed.sort((one, other) => other.at - one.at || compareTexts(other.stored.digest, one.stored.digest))
  return keyed.map(({ stored }) => stored)
}

/** Also keeps what a kept manifest needs and what describes it, for the same reason. */
function keepRequired(verdicts: readonly RetentionDecision[]): RetentionDecision[] {
  const byDigest = new Map(verdicts.map((verdict) => [verdict.stored.digest, verdict]))
  const about = Map.groupBy(verdicts, ({ stored }) => stored.subject)
  const waiting = verdicts.filter((verdict) => verdict.action === 'Keep')
  for (const kept of waiting) {
    const needed = (kept.stored.references ?? []).flatMap((digest) => byDigest.get(digest) ?? [])
    for (const { stored } of [...needed, ...(about.get(kept.stored.digest) ?? [])]) {
      if (byDigest.get(stored.digest)?.action === 'Keep') continue
      const next = { ...kept, stored }
      byDigest.set(stored.digest, next)
      waiting.push(next)
    }
  }
  return verdicts.map(({ stored }) => byDigest.get(stored.digest) as RetentionDecision)
}

export const listRemovableDigests = (verdicts: readonly RetentionDecision[]) =>
  verdicts.filter(({ action }) => action === 'Remove').map(({ stored }) => stored)
