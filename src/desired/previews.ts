import { HEADS_KEPT } from '../contracts/sources/journal.ts'
import { BRANCH_RULE, isValidGitName } from '../contracts/sources/refs.ts'
import { DAY_MS } from '../core/clock.ts'
import { PREVIEW_LABEL } from '../core/labels.ts'
import { RESOURCE_NAME_MAX_LENGTH, sha256 } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { matchesWildcard } from '../core/wildcard.ts'

/** Milliseconds from the last push to a branch until its preview ends, so that abandoned branches cost nothing. */
export const PREVIEW_TTL_MS = 7 * DAY_MS
/** Maximum previews per app or site; the most recently pushed branches win. */
export const MAX_PREVIEWS = 10
const HASH_LENGTH = 8
const HEADS = 'refs/heads/'

type Head = { kind: string; ref: string; receivedAt: string }
export type PreviewOwner = KubeObject & {
  spec: { branch?: string; previewBranches?: readonly string[]; repositoryUrl?: string; tags?: Record<string, string> }
}
export type PreviewedBranch = { branch: string; endsAt: number }

/** Returns the branches that have a preview now, with the end of each. */
export function previewedBranches({ spec }: PreviewOwner, heads: readonly Head[], now: number): PreviewedBranch[] {
  const { branch: own = 'main', previewBranches = [] } = spec
  return heads
    .filter(({ kind, ref }) => kind === 'Push' && ref.startsWith(HEADS))
    .map(({ ref, receivedAt }) => ({
      branch: ref.slice(HEADS.length),
      endsAt: Date.parse(receivedAt) + PREVIEW_TTL_MS,
    }))
    .filter(({ branch, endsAt }) => branch !== own && endsAt > now && isValidGitName(BRANCH_RULE, branch))
    .filter(({ branch }) => previewBranches.some((pattern) => matchesWildcard(pattern, branch)))
    .sort((one, other) => other.endsAt - one.endsAt)
    .slice(0, MAX_PREVIEWS)
}

/** An existing preview: its branch, and the time of the last known push in milliseconds. */
type FollowedBranch = { branch: string; toldAt: number }

/**
 * Restores heads of preview branches that newer pushes have evicted from a source's memory: eviction does not mean
 * deletion. A head newer than the oldest remembered one was not evicted.
 */
export function restoreEvictedHeads(
  remembered: readonly Head[],
  own: readonly Head[],
  previews: readonly FollowedBranch[],
): Head[] {
  if (remembered.length < HEADS_KEPT) return []
  const oldest = Math.min(...remembered.map(({ receivedAt }) => Date.parse(receivedAt)))
  return previews
    .filter(({ toldAt }) => toldAt <= oldest)
    .map(({ branch, toldAt }) => ({
      ...{ kind: 'Push', ref: `${HEADS}${branch}` },
      receivedAt: new Date(toldAt).toISOString(),
    }))
    .filter(({ ref }) => !own.some((head) => head.ref === ref))
}

/**
 * Returns a preview: a resource of the same kind that follows another branch and is owned by the original. It takes
 * over neither hosts nor backups, nor the release command, which would change data that the original serves.
 */
export function previewOf(owner: PreviewOwner, branch: string): KubeObject {
  const { apiVersion, kind, metadata, spec } = owner
  const { name, namespace, uid } = metadata
  const prefix = name.slice(0, RESOURCE_NAME_MAX_LENGTH - HASH_LENGTH - 1)
  // Other owners may share the same stem.
  const hash = sha256(prefix === name ? branch : `${name}/${branch}`).slice(0, HASH_LENGTH)
  const kept = Object.fromEntries(Object.entries(spec).filter(([field]) => !EXCLUDED_FIELDS.has(field)))
  const tags = { ...Object.fromEntries(Object.entries(spec.tags ?? {}).slice(0, MAX_COPIED_TAGS)), preview: name }
  return {
    apiVersion,
    kind,
    metadata: {
      name: `${prefix}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [PREVIEW_LABEL]: name },
      ownerReferences: [{ apiVersion, kind, name, uid: uid ?? '', controller: true, blockOwnerDeletion: false }],
    },
    spec: { ...kept, branch, replicas: 1, running: true, tags },
  } as KubeObject
}

const EXCLUDED_FIELDS: ReadonlySet<string> = new Set([
  ...['previewBranches', 'customDomains', 'ingressHost', 'releaseCommand', 'backupPolicy', 'onDelete'],
  ...['minReplicas', 'maxReplicas', 'deploy', 'rollback', 'cancelledDeployment', 'restartedAt'],
])
/** One below the maximum, because the preview adds a tag. */
const MAX_COPIED_TAGS = 49

/** Whether the object is a preview of this incarnation of the owner. */
export function isPreviewOf({ metadata }: KubeObject, owner: KubeObject): boolean {
  const isOwned = metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true
  return isOwned && metadata.labels?.[PREVIEW_LABEL] === owner.metadata.name
}
