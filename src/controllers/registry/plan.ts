import { isRegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { isPushToken } from '../../contracts/registry/audit.ts'
import {
  nextAnnouncement,
  parseRepository,
  type RepositoryName,
  repositoryObjectName,
} from '../../contracts/registry/names.ts'
import {
  DEFAULT_RETENTION_POLICY,
  decideRetention,
  type ImageUses,
  KEEP_NOTHING_POLICY,
  listRemovableDigests,
} from '../../contracts/registry/retention.ts'
import { DAY_MS } from '../../core/clock.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { isFull } from '../../core/objectCount.ts'
import { RegistryPin, RegistryRepository, shownManifests } from '../../crds/registry.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { namespace as namespaces } from '../../kube/builtin.ts'
import { absent, ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import type { Pass } from '../engine/controller.ts'
import { readContents, type UntimedManifest } from './contents.ts'

type PlanningPass = Pick<Pass, 'records' | 'clock' | 'now'>
export type Removal = { repository: string; digest: string; sizeBytes: number }

const MAX_ENTRIES = 1_000_000

/** Returns the repositories for which a push token was issued since then. */
export async function listRecentPushTargets({ audit }: RegistryPort, since: number): Promise<Set<string>> {
  const tokens = await audit.newest(MAX_ENTRIES, isPushToken, since, 'all')
  return new Set(tokens.flatMap(({ repository }) => repository ?? []))
}

/** Plans what may be removed from the whole registry, and records contents that were never announced. */
export async function planRemovals(pass: PlanningPass, port: RegistryPort): Promise<Removal[]> {
  const facts = await gatherFacts(pass, port)
  const found: Removal[] = []
  for (const repository of await port.registry.repositories()) {
    try {
      found.push(...(await planRepositoryRemovals(pass, port, repository, facts)))
    } catch (error) {
      // One tenant's unreadable repository must not block the others: nothing of it is removed.
      if (!isRegistryError(error, 'Unreadable')) throw error
    }
  }
  return found
}

/** What a decision needs to know of the whole registry. */
export type Facts = {
  usesOf: (repository: string) => ImageUses
  busy: ReadonlySet<string>
  /** Whether images of groups that do not exist stay. */
  keepsUnknown: boolean
}

/** Repositories with a recent push token are busy: a later push may rely on what it saw with that token. */
async function gatherFacts(pass: PlanningPass, port: RegistryPort): Promise<Facts> {
  const busy = await listRecentPushTargets(port, pass.clock.now() - port.grace)
  return { usesOf: await port.uses(), busy, keepsUnknown: await isNewlyInstalled(pass) }
}

/** Time for a restore from backup, which brings the groups of a registry that outlived their platform. */
const RESTORE_MS = 7 * DAY_MS

/** Whether the platform was installed so recently, or nobody knows when, that groups may still be restored. */
async function isNewlyInstalled({ records, clock }: PlanningPass): Promise<boolean> {
  const found = await records.client.get(namespaces, { name: SYSTEM_NAMESPACE }).catch(absent)
  const age = clock.now() - Date.parse(found?.metadata.creationTimestamp ?? '')
  return !(age >= RESTORE_MS)
}

/** As `planRemovals`, for one repository. @param facts read now if absent: right before a removal */
export async function planRepositoryRemovals(
  pass: PlanningPass,
  port: RegistryPort,
  repository: string,
  facts?: Facts,
): Promise<Removal[]> {
  const { usesOf, busy, keepsUnknown } = facts ?? (await gatherFacts(pass, port))
  const place = parseRepository(repository)
  // Only repositories of boundaries are ours to clean up.
  if (place === undefined || busy.has(repository)) return []
  const { boundaryId } = place
  const hasGroup = await groupExists(pass, place)
  if (!hasGroup && keepsUnknown) return []
  const namespace = boundaryNamespace(boundaryId)
  const name = repositoryObjectName(repository)
  const stored = pass.records.cache(RegistryRepository).get(namespace, name)
  const held = await readContents(port.registry, repository, stored)
  if (hasGroup) await recordContents(pass, repository, { namespace, name }, stored, held)
  const pins = pass.records.cache(RegistryPin).list({ namespace })
  const digests = held.map((one) => ({ ...one, pushedAt: pass.now, ...stored?.spec.digests[one.digest] }))
  const policy = hasGroup ? DEFAULT_RETENTION_POLICY : KEEP_NOTHING_POLICY
  const own = pins.map(({ spec }) => spec).filter((pin) => pin.repository === repository)
  const verdicts = decideRetention({ digests, pins: own, uses: usesOf(repository), policy, now: pass.clock.now() })
  return listRemovableDigests(verdicts).map(({ digest, sizeBytes }) => ({ repository, digest, sizeBytes }))
}

/**
 * Whether the group of a repository exists, and will stay: a later one of its name must not find its images. Asks the API
 * server before it takes a group for deleted: the cache may lack it.
 */
async function groupExists({ records }: PlanningPass, { boundaryId, resourceGroup }: RepositoryName): Promise<boolean> {
  const ref = { namespace: boundaryNamespace(boundaryId), name: resourceGroup }
  const known = records.cache(ResourceGroup).get(ref.namespace, ref.name)
  const found = known ?? (await records.client.get(ResourceGroup.resource, ref).catch(absent))
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}

type StoredRepository = (RegistryRepository & KubeObject) | undefined
const fingerprintOf = (held: readonly { digest: string; tags: readonly string[] }[]) =>
  JSON.stringify(held.map(({ digest, tags }) => [digest, tags]))

/** Records contents whose notifications were lost, such as during a restart of the registry. */
async function recordContents(
  { records, clock, now }: PlanningPass,
  repository: string,
  ref: { namespace: string; name: string },
  stored: StoredRepository,
  held: readonly UntimedManifest[],
): Promise<void> {
  const { apiVersion, kind, resource } = RegistryRepository
  if (stored === undefined) {
    if (held.length === 0 || isFull(records.cache(namespaces).get(undefined, ref.namespace))) return
    const spec = { repository, announcedAt: now, digests: {} }
    await records.client.create(resource, { apiVersion, kind, metadata: ref, spec }).catch(ignoreKubeAlreadyExists)
    return
  }
  if (fingerprintOf(shownManifests(held)) === fingerprintOf(stored.status?.digests ?? [])) return
  const announcedAt = nextAnnouncement(stored.spec.announcedAt, clock.now())
  await records.client.mergePatch(resource, ref, { spec: { announcedAt, changedTags: null } })
}
