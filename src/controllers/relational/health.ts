import {
  ENGINE_CLUSTER_LABEL,
  ENGINE_POD_LABEL,
  earlierTime,
  laterTime,
  RELATIONAL_PORT,
  relationalNames,
} from '../../contracts/relational.ts'
import { hostInUrl } from '../../core/hostInUrl.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { describeReadyCount, pluralize } from '../../core/pluralize.ts'
import {
  archivingGaps,
  type EngineView,
  HIBERNATION_ANNOTATION,
  RESTARTED_AT_ANNOTATION,
  recoveryOf,
  relationalImage,
} from '../../desired/relational/index.ts'
import { pod } from '../../kube/builtin.ts'
import { barmanObjectStore } from '../../kube/postgresql.ts'
import { related } from '../engine/lookups.ts'
import { describeProgress, findPodProblem } from '../stateful/health.ts'
import type { Pod } from '../stateful/types.ts'
import { judgeAddress, publicAddresses } from '../workload/addresses.ts'
import { isStarting, judgeStop, wasComplete } from '../workload/judge.ts'
import { planOf, refOfPass } from '../workload/pass.ts'
import {
  backupsOf,
  backupsOfIncarnation,
  type EngineBackup,
  type EngineCluster,
  type EngineStore,
  isCompleted,
  observedEngine,
  type RelationalPass,
} from './types.ts'
import { growingClaims } from './volumes.ts'
import { takeOver } from './workload.ts'

/** The phase of a healthy Cluster (CloudNativePG, api/v1/cluster_types.go). */
const HEALTHY = 'Cluster in healthy state'
/** Phases that only a person can end. */
const TERMINAL_PHASES: readonly string[] = [
  'Cluster is unrecoverable and needs manual intervention',
  'Cluster cannot proceed to reconciliation due to an unknown plugin being required',
  'Cluster has incomplete or invalid image catalog',
  'Cluster cannot execute instance online upgrade due to missing architecture binary',
  'Unable to create required cluster objects',
  'Not enough disk space',
]
const UPGRADING_PHASE = /^(Upgrading|Online upgrade|Applying|Primary instance is being|Switchover|Waiting for user)/

function condition(engine: EngineCluster | undefined, type: string) {
  return engine?.status?.conditions?.find((one) => one.type === type)
}

function readyInstances(engine: EngineCluster | undefined): number {
  return engine?.status?.readyInstances ?? 0
}

/** Reports ready instances. Runs first, because a later step may stop the pass while the engine keeps running. */
export function observeEngine(pass: RelationalPass): Outcome {
  const ready = readyInstances(observedEngine(pass))
  pass.report({ readyReplicas: ready })
  pass.serving(ready > 0)
  return done()
}

/** Reports the engine's state, before a later step can stop the pass. */
export function reportEngine(pass: RelationalPass): Outcome {
  const engine = observedEngine(pass)
  if (engine === undefined) return done()
  pass.report({ currentPrimary: engine.status?.currentPrimary, ...recoveryFields(pass, engine) })
  return done()
}

/** Reports the observed state, whatever the outcome of the pass. */
export function reportStatus(pass: RelationalPass): Outcome {
  const { object, state } = pass
  const { engine } = state
  const ready = readyInstances(engine)
  const addresses = addressesOf(pass)
  const complete = isComplete(pass)
  pass.report({
    replicas: state.replicas,
    readyReplicas: ready,
    selector: `${ENGINE_CLUSTER_LABEL}=${relationalNames(object.metadata.name).cluster}`,
    currentPrimary: engine?.status?.currentPrimary,
    externalAddresses: addresses,
    publicEndpoint: addresses?.[0] === undefined ? undefined : endpoint(addresses[0]),
    ...(complete ? { engineVersion: object.spec.engineVersion, restartedAt: object.spec.restartedAt } : {}),
    ...recoveryFields(pass, engine),
  })
  pass.serving(ready > 0)
  return done()
}

function endpoint(address: string): string {
  return `${hostInUrl(address)}:${RELATIONAL_PORT}`
}

function recoveryFields(pass: RelationalPass, observed: EngineCluster | undefined) {
  const { object, state, now } = pass
  const { namespace, name } = refOfPass(pass)
  const names = relationalNames(name)
  const completed = backupsOfIncarnation(pass, backupsOf(pass.workloads, namespace, names.cluster)).filter(isCompleted)
  const stopsOf = (backups: readonly EngineBackup[]) => backups.flatMap(({ status }) => status?.stoppedAt ?? []).sort()
  const window = recoveryWindowOf(pass, names.backup)
  const isSuspended = object.spec.archivingSuspended
  const recovery = recoveryOf({
    isBackedUp: state.backup !== undefined,
    isSuspended,
    engine: viewOf(observed),
    previous: object.status ?? {},
    now,
  })
  // The store does not know of snapshots of volumes.
  const [firstVolumes] = stopsOf(completed.filter(({ spec }) => spec.method === 'volumeSnapshot'))
  const firstRecoverableAt =
    state.backup === undefined
      ? undefined
      : earlierTime(window?.firstRecoverabilityPoint ?? stopsOf(completed)[0], firstVolumes)
  const lastBackup = condition(observed, 'LastBackupSucceeded')
  return {
    archiving: recovery.archiving,
    archivingMessage: recovery.archivingMessage,
    archivingStoppedAt: recovery.stoppedAt,
    archivingGaps: archivingGaps({
      previous: object.status ?? {},
      isSuspended,
      now,
      basesStartedAt: completed.flatMap(({ status }) => status?.startedAt ?? []),
      firstRecoverableAt,
    }),
    lastBackupAt: laterTime(window?.lastSuccessfulBackupTime, stopsOf(completed).at(-1)),
    backupMessage: lastBackup?.status === 'False' ? lastBackup.message : undefined,
    firstRecoverableAt,
  }
}

function recoveryWindowOf(pass: RelationalPass, store: string) {
  const { namespace } = refOfPass(pass)
  const found = pass.workloads.cache<EngineStore>(barmanObjectStore).get(namespace, store)
  return found?.status?.serverRecoveryWindow?.[pass.state.backup?.serverName ?? '']
}

function viewOf(engine: EngineCluster | undefined): EngineView | undefined {
  if (engine === undefined) return undefined
  const { phase, currentPrimary, conditions = [] } = engine.status ?? {}
  return { phase, readyInstances: readyInstances(engine), currentPrimary, conditions }
}

/** Whether a primary is available. */
export function isHealthy(engine: EngineCluster | undefined): boolean {
  return engine?.status?.phase === HEALTHY && readyInstances(engine) > 0
}

/** Whether all instances were restarted as requested: until the engine begins, it reports itself healthy. */
function isRestarted(pass: RelationalPass): boolean {
  const { spec, status } = pass.object
  if (spec.restartedAt === undefined || spec.restartedAt === status?.restartedAt) return true
  const instances = podsOfEngine(pass).filter(({ metadata }) => metadata.labels?.[ENGINE_POD_LABEL] === 'instance')
  return instances.every(({ metadata }) => metadata.annotations?.[RESTARTED_AT_ANNOTATION] === spec.restartedAt)
}

/** Whether all wanted instances are ready, with the wanted image. */
function isComplete(pass: RelationalPass): boolean {
  const { object, state } = pass
  const { status = {} } = state.engine ?? {}
  return (
    object.spec.running &&
    status.phase === HEALTHY &&
    status.readyInstances === state.replicas &&
    status.instances === state.replicas &&
    status.image === relationalImage(object.spec) &&
    isRestarted(pass)
  )
}

/** Returns the outcome to show: the most specific pending reason, or Available. */
export async function judgeHealth(pass: RelationalPass): Promise<Outcome> {
  if (!pass.object.spec.running) return judgeStopped(pass)
  const unfinished = judgeInstances(pass)
  if (unfinished !== undefined) return unfinished
  const takeover = await takeOver(pass)
  if (takeover.kind !== 'done') return takeover
  return pass.state.volumes ?? judgeVolumes(pass) ?? judgeBackup(pass) ?? judgePublic(pass)
}

export function judgeStopped({ state }: RelationalPass): Outcome {
  const remaining = readyInstances(state.engine)
  const progress = `Waiting for ${pluralize(remaining, 'instance')} to stop.`
  const isDown = state.engine === undefined || condition(state.engine, HIBERNATION_ANNOTATION)?.status === 'True'
  return isDown ? judgeStop(remaining, progress, 'No instance runs; the data is kept.') : waiting('Stopping', progress)
}

/** Returns the engine's pods, in any state. */
function podsOfEngine(pass: RelationalPass): Pod[] {
  const { namespace, name } = refOfPass(pass)
  const { cluster } = relationalNames(name)
  return [...related(pass.workloads.cache<Pod>(pod), 'engine', namespace, cluster)]
}

/** Returns undefined if every instance is as it should be. */
function judgeInstances(pass: RelationalPass): Outcome | undefined {
  if (isComplete(pass)) return undefined
  const { object, state } = pass
  const { status = {} } = state.engine ?? {}
  const { phase = '', phaseReason = '' } = status
  const detail = phase === '' ? '' : ` ${[phase, phaseReason].filter((part) => part !== '').join(': ')}.`
  const counts = `${describeReadyCount(readyInstances(state.engine), state.replicas, 'instance')}.${phase === HEALTHY ? '' : detail}`
  const pods = podsOfEngine(pass)
  // The engine reports that it waits for an instance, but not why the pod does not start.
  const progress = [describeProgress(pass, counts, pods, planOf(pass)), findPodProblem(pods)?.message]
    .filter(Boolean)
    .join(' ')
  if (TERMINAL_PHASES.includes(phase)) return stalled('EngineRefused', progress)
  const before = object.status
  if (isStarting(pass)) return waiting('Starting', progress)
  if (before?.firstReadyAt === undefined) {
    return waiting(state.origin === undefined ? 'WaitingForWorkload' : 'Restoring', progress)
  }
  if (object.spec.restartedAt !== undefined && object.spec.restartedAt !== before.restartedAt) {
    return waiting('Restarting', progress)
  }
  if (status.image !== relationalImage(object.spec) || UPGRADING_PHASE.test(phase))
    return waiting('RollingOut', progress)
  return wasComplete(pass, 'ArchivingFailing', 'BackupFailing')
    ? degraded('PartiallyAvailable', progress)
    : waiting('Scaling', progress)
}

function judgeVolumes(pass: RelationalPass): Outcome | undefined {
  const growing = growingClaims(pass)
  return growing.length === 0 ? undefined : waiting('WaitingForVolume', `Growing: ${growing.sort().join(', ')}.`)
}

/** Shows the engine's own message, which names the store, the file and the cause. */
function judgeBackup({ object, state }: RelationalPass): Outcome | undefined {
  if (state.backup === undefined || object.spec.archivingSuspended) return undefined
  const archiving = condition(state.engine, 'ContinuousArchiving')
  if (archiving?.status === 'False') {
    return degraded('ArchivingFailing', archiving.message ?? 'The log cannot be archived.')
  }
  const backup = condition(state.engine, 'LastBackupSucceeded')
  return backup?.status === 'False' ? degraded('BackupFailing', backup.message ?? 'The last backup failed.') : undefined
}

function judgePublic(pass: RelationalPass): Outcome {
  const { replicas } = pass.state
  const ready = replicas === 1 ? 'The instance is ready.' : `All ${replicas} instances are ready.`
  return judgeAddress(pass, addressesOf(pass), ready)
}

function addressesOf(pass: RelationalPass): string[] | undefined {
  return publicAddresses(pass, relationalNames(pass.object.metadata.name).publicService)
}
