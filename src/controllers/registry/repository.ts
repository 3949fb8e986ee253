import { isRegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { refOf } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled } from '../../core/outcome.ts'
import { DIGESTS_MAX, RegistryRepository, shownManifests } from '../../crds/registry.ts'
import { controllerWith, type Pass, steps } from '../engine/controller.ts'
import { awaitsTag, readContents, type UntimedManifest } from './contents.ts'

export type RegistryOptions = { registry?: RegistryPort | undefined }
export const NO_REGISTRY = stalled('EngineMissing', 'The platform has no registry: an administrator sets registryUrl.')
type RepositoryPass = Pass<typeof RegistryRepository>
type DigestTimes = RegistryRepository['spec']['digests']

/** Milliseconds until a failed read is retried: registries cannot be watched. */
const RETRY_INTERVAL_MS = 60_000
/** Milliseconds between two checks for a tag that is being written. */
const TAG_POLL_INTERVAL_MS = 1_000

/**
 * Keeps a repository's status in line with the registry. It is read again after an announcement, which the facade makes
 * for each push, and a retention run if announcements were lost. A repository at rest causes no requests.
 */
export const repositoryController = controllerWith(
  RegistryRepository,
  { observes: [], writes: [{ resource: RegistryRepository.resource, verbs: ['create', 'patch', 'delete'] }] },
  ({ registry }: RegistryOptions) => ({
    reconcile: steps(function readRepository(pass: RepositoryPass) {
      return registry === undefined ? NO_REGISTRY : syncContents(pass, registry)
    }),
  }),
)

async function syncContents(pass: RepositoryPass, { registry }: RegistryPort): Promise<Outcome> {
  const { spec, status } = pass.object
  const { repository, announcedAt } = spec
  if (status?.readAt === announcedAt && status.digests !== undefined) {
    report(pass, status.digests, spec.digests)
    return done({ reason: 'Available' })
  }
  try {
    const held = await readContents(registry, repository, pass.object, spec.changedTags)
    // For manifests that exist; one that was never announced counts as pushed when first read.
    const times: DigestTimes = Object.fromEntries(
      held.slice(0, DIGESTS_MAX).map(({ digest }) => [digest, spec.digests[digest] ?? { pushedAt: pass.now }]),
    )
    // Before the status that marks it as read: after a crash in between it is read again.
    await patchDigests(pass, times)
    report(pass, shownManifests(held), times)
    const isComplete = !awaitsTag(held, (digest) => times[digest]?.pushedAt, pass.clock.now())
    if (isComplete) pass.report({ readAt: announcedAt })
    return done({ reason: 'Available', ...(!isComplete && { after: TAG_POLL_INTERVAL_MS }) })
  } catch (error) {
    if (!isRegistryError(error, 'Unreachable', 'Refused')) throw error
    return degraded('PartiallyAvailable', error.message, RETRY_INTERVAL_MS)
  }
}

async function patchDigests(pass: RepositoryPass, wanted: DigestTimes): Promise<void> {
  const { digests } = pass.object.spec
  const removed = Object.keys(digests).filter((digest) => !(digest in wanted))
  const added = Object.entries(wanted).filter(([digest]) => !(digest in digests))
  if (removed.length === 0 && added.length === 0) return
  const changed = Object.fromEntries([...removed.map((digest) => [digest, null]), ...added])
  const patch = { spec: { digests: changed } }
  const { uid, resourceVersion } = pass.object.metadata
  // With the version, so that an announcement made meanwhile is not overwritten.
  await pass.records.client.mergePatch(pass.kind.resource, refOf(pass.object), patch, { uid, resourceVersion })
}

function report(
  pass: RepositoryPass,
  shown: readonly (UntimedManifest & Partial<DigestTimes[string]>)[],
  times: DigestTimes,
): void {
  const digests = shown.map((one) => ({ pushedAt: pass.now, ...one, ...times[one.digest] }))
  const latest = (list: readonly string[]) => list.toSorted().at(-1)
  const pushed = latest(digests.map(({ pushedAt }) => pushedAt))
  const pulled = latest(digests.flatMap(({ lastPulledAt }) => lastPulledAt ?? []))
  pass.report({
    digests,
    tagCount: digests.reduce((sum, { tags }) => sum + tags.length, 0),
    ...(pushed !== undefined && { lastPushAt: pushed }),
    ...(pulled !== undefined && { lastPullAt: pulled }),
  })
}
