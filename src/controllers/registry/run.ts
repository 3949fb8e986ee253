import { AuditError } from '../../adapters/audit/port.ts'
import { isRegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { DAY_MS } from '../../core/clock.ts'
import { ageOf, type KubeObject, keyOf } from '../../core/object.ts'
import { done, ended, type Outcome, REQUEUE_NOW, waiting } from '../../core/outcome.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { isRunActing, isRunOver, RegistryPin, RegistryRepository, RetentionRun } from '../../crds/registry.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { namespace, pod } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { controllerWith, type Pass, steps, type Workspace } from '../engine/controller.ts'
import { createIfAbsent, newestFinishedObserver, platformObjects, pruneFinished } from '../platformObjects.ts'
import { listRecentPushTargets, planRemovals, planRepositoryRemovals, type Removal } from './plan.ts'
import { removeManifest } from './removal.ts'
import { NO_REGISTRY, type RegistryOptions } from './repository.ts'

type RunPass = Pass<typeof RetentionRun>
type RunObject = RetentionRun & KubeObject

/** Milliseconds until every facade has stopped issuing push tokens. */
const TOKEN_SETTLE_MS = 5_000
/** Manifests removed before everything is planned again. */
const CHUNK_SIZE = 500
const RUNS_KEPT = 50
/** Milliseconds after midnight UTC. */
const RUN_TIME_OF_DAY_MS = 3 * 3_600_000
/**
 * Removes what retention does not keep, in steps that are each stored first: what will be removed, that it was removed,
 * and then the sweep of unreferenced data. While a run acts, the token endpoint issues no push tokens, and repositories
 * with an outstanding one are left to the next run.
 */
export const runController = controllerWith(
  RetentionRun,
  {
    observes: [
      { resource: RetentionRun.resource, keysOf: waitingRuns },
      newestFinishedObserver(RetentionRun, endedRuns),
    ],
    reads: [RegistryRepository.resource, RegistryPin.resource, ResourceGroup.resource],
    writes: [
      { resource: RetentionRun.resource, verbs: ['create', 'delete'], in: 'system' },
      { resource: RegistryRepository.resource, verbs: ['create', 'patch'] },
      { resource: namespace, verbs: ['get'] },
      { resource: pod, verbs: ['list'] },
    ],
  },
  ({ registry }: RegistryOptions) => ({
    reconcile: steps(function removeUnkept(pass: RunPass) {
      return registry === undefined ? NO_REGISTRY : advance(pass, registry)
    }),
  }),
)

async function advance(pass: RunPass, port: RegistryPort): Promise<Outcome> {
  const { spec, status = {} } = pass.object
  if (isRunOver(status.state)) return pruneRuns(pass)
  const now = pass.clock.now()
  const early = Date.parse(spec.notBefore ?? pass.now) - now
  if (early > 0) return waiting('Accepted', `It begins at ${spec.notBefore}.`, early)
  if (runsBefore(pass)) return waiting('WaitingForDependency', 'Another run is under way: runs take turns.')
  if (!spec.dryRun && !port.seesPushes) return failed(pass, UNSEEN_PUSHES)
  const isNew = !isRunActing(status.state)
  if (isNew)
    pass.report({ state: 'Running', startedAt: pass.now, removedManifests: 0, failedManifests: 0, freedBytes: 0 })
  const settling = spec.dryRun ? 0 : Date.parse(status.startedAt ?? pass.now) + TOKEN_SETTLE_MS - now
  if (isNew || settling > 0) return waiting('Starting', 'Tokens to push with are held back.', Math.max(settling, 1))
  try {
    return await runPhase(pass, port)
  } catch (error) {
    // A run that waited for the audit would hold back all pushes meanwhile.
    if (!isRegistryError(error) && !(error instanceof AuditError)) throw error
    return failed(pass, error.message)
  }
}

const UNSEEN_PUSHES =
  'Nothing is removed as long as nobody can tell who is pushing: an administrator sets registryAuditFolder to a folder that facades and controllers share.'

function failed(pass: RunPass, error: string): Outcome {
  const { startedAt = pass.now } = pass.object.status ?? {}
  pass.report({ state: 'Failed', startedAt, finishedAt: pass.now, error: error.slice(0, 1024) })
  return ended(error)
}

async function runPhase(pass: RunPass, port: RegistryPort): Promise<Outcome> {
  const { spec, status = {} } = pass.object
  if (status.state === 'CollectingGarbage') return collectGarbage(pass, port)
  if ((status.removing ?? []).length > 0) return removeChunk(pass, port, status.removing ?? [])
  const stuck = new Set(status.stuck)
  const planned = (await planRemovals(pass, port)).filter(({ digest }) => !stuck.has(digest))
  if (spec.dryRun) {
    const freedBytes = planned.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    pass.report({ state: 'Succeeded', finishedAt: pass.now, removedManifests: planned.length, freedBytes })
    return done({ reason: 'Completed' })
  }
  if (planned.length === 0) pass.report({ state: 'CollectingGarbage' })
  else pass.report({ removing: planned.slice(0, CHUNK_SIZE) })
  return continueRemoval(planned.length, `${pluralizeVerb(planned.length, 'is', 'are')} to be removed`)
}

const continueRemoval = (count: number, action: string) =>
  waiting('ApplyingWorkload', `${pluralize(count, 'manifest')} ${action}.`, REQUEUE_NOW)

async function removeChunk(pass: RunPass, port: RegistryPort, removing: readonly Removal[]): Promise<Outcome> {
  const { status = {} } = pass.object
  const removed: Removal[] = []
  const stuck: string[] = []
  for (const [repository, wanted] of Map.groupBy(removing, (one) => one.repository)) {
    // A manifest may have come into use since the plan.
    const still = new Set((await planRepositoryRemovals(pass, port, repository)).map(({ digest }) => digest))
    for (const one of wanted) {
      const isRemoved = still.has(one.digest)
        ? await removeManifest(port, one, causeOf(pass))
        : (await port.registry.manifest(repository, one.digest)) === undefined
      if (isRemoved) removed.push(one)
      else if (still.has(one.digest)) stuck.push(one.digest)
    }
  }
  pass.report({
    removing: [],
    stuck: [...(status.stuck ?? []), ...stuck].slice(0, CHUNK_SIZE),
    removedManifests: (status.removedManifests ?? 0) + removed.length,
    failedManifests: (status.failedManifests ?? 0) + stuck.length,
    freedBytes: (status.freedBytes ?? 0) + removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  })
  // A chunk that is entirely stuck ends the removals: it would be planned again for ever.
  if (stuck.length === removing.length) pass.report({ state: 'CollectingGarbage' })
  return continueRemoval(removed.length, `${pluralizeVerb(removed.length, 'was', 'were')} removed`)
}

const causeOf = ({ object: { metadata, spec }, clock }: RunPass) => ({
  id: `retention/${metadata.uid}`,
  actor: spec.startedBy,
  detail: `run ${metadata.name}`,
  now: clock.now(),
})

async function collectGarbage(pass: RunPass, port: RegistryPort): Promise<Outcome> {
  const now = pass.clock.now()
  await port.registry.sweep({ busy: await listRecentPushTargets(port, now - port.grace), before: now - DAY_MS })
  const hasFailed = (pass.object.status?.failedManifests ?? 0) > 0
  pass.report({ state: hasFailed ? 'PartiallyFailed' : 'Succeeded', finishedAt: pass.now })
  return ended(failureOf(pass.object))
}

function failureOf({ status = {} }: Pick<RunObject, 'status'>): string | undefined {
  const { failedManifests = 0, error, state } = status
  if (state === 'Failed') return error ?? 'It has failed.'
  return failedManifests === 0 ? undefined : `${pluralize(failedManifests, 'manifest')} could not be deleted.`
}

const runsOf = (records: Workspace) => platformObjects<RunObject>(records, RetentionRun)

/** Whether a run must wait: for one that is acting, or an older one that is due. */
function runsBefore({ object, records, clock }: RunPass): boolean {
  if (isRunActing(object.status?.state)) return false
  const isDue = ({ spec }: RunObject) => Date.parse(spec.notBefore ?? '1970-01-01') <= clock.now()
  const isBefore = (other: RunObject) => isDue(other) && !isRunOver(other.status?.state) && ageOf(other) < ageOf(object)
  const others = runsOf(records).filter(({ metadata }) => metadata.name !== object.metadata.name)
  return others.some((other) => isRunActing(other.status?.state) || isBefore(other))
}

function waitingRuns(_changed: KubeObject, records: Workspace): string[] {
  return runsOf(records)
    .filter(({ status }) => status?.phase === 'WaitingForDependency')
    .map(keyOf)
}

function endedRuns(records: Workspace): RunObject[] {
  return runsOf(records).filter(({ status }) => isRunOver(status?.state))
}

/** Deletes all finished runs but the newest, and schedules the next morning's run after the last one. */
async function pruneRuns(pass: RunPass): Promise<Outcome> {
  const finished = endedRuns(pass.records)
  if (await pruneFinished(pass, finished, RUNS_KEPT)) return done({ reason: 'Completed' })
  const isWaiting = runsOf(pass.records).some(
    ({ spec, status }) => spec.trigger === 'Scheduled' && !isRunOver(status?.state),
  )
  if (!isWaiting) await scheduleRun(pass.records.client, pass.clock.now())
  return ended(failureOf(pass.object))
}

/** Creates the run of the next morning, which waits for its time. */
export async function scheduleRun(client: KubeClient, now: number): Promise<void> {
  const days = Math.floor((now - RUN_TIME_OF_DAY_MS) / DAY_MS) + 1
  const notBefore = new Date(days * DAY_MS + RUN_TIME_OF_DAY_MS).toISOString()
  await createIfAbsent(client, RetentionRun, `scheduled-${notBefore.slice(0, 10)}`, { trigger: 'Scheduled', notBefore })
}
