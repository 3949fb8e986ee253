import {
  type Backup,
  backupLocationObstacle,
  backupStartOf,
  findLastEndedBackup,
  phaseOf,
  selectBackupLocation,
} from '../../contracts/backups.ts'
import { SKIP_ARCHIVING_ANNOTATION } from '../../contracts/platformbackups/archives.ts'
import { isPlatformBackup, platformFailureOf, type VeleroSchedule } from '../../contracts/platformbackups/backups.ts'
import { type BackupLocationWithStatus, INSTALL_VELERO_ADVICE } from '../../contracts/platformbackups/conditions.ts'
import {
  PLATFORM_SCHEDULE,
  RESUMED_ANNOTATION,
  SETTINGS_NAME,
  SUSPENDED_ANNOTATION,
  TARGET_SECRETS,
  VELERO_SECRET,
} from '../../contracts/platformbackups/names.ts'
import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled } from '../../core/outcome.ts'
import { plainLine } from '../../core/plainLine.ts'
import { KINDS } from '../../crds/index.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import { platformSchedule } from '../../desired/platformbackups.ts'
import { secret } from '../../kube/builtin.ts'
import { postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import { veleroBackup, veleroBackupStorageLocation, veleroSchedule } from '../../kube/velero.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { childRights } from '../workload/observers.ts'
import {
  backUpDatabases,
  concernsArchives,
  hasSuspendedArchives,
  resumeArchives,
  syncSuspendedArchives,
} from './archives.ts'
import { applyTarget } from './target.ts'
import { type PlatformBackupOptions, platformBackupsOf, type SettingsPass, type SettingsState } from './types.ts'

const SETTINGS_KEY = objectKey(SYSTEM_NAMESPACE, SETTINGS_NAME)

const settingsKeys = () => [SETTINGS_KEY]

const keysOfArchives = (object: KubeObject, records: Workspace) => {
  const settings = records.cache(PlatformBackupSettings)
  const { suspendedArchives = [] } = settings.get(SYSTEM_NAMESPACE, SETTINGS_NAME)?.spec ?? {}
  // For a tenant's database the resource carries the marks, but the engine reports on its Cluster.
  const databases = records.cache(RelationalCluster).list({ namespace: object.metadata.namespace })
  return [object, ...databases].some((one) => concernsArchives(one, suspendedArchives)) ? [SETTINGS_KEY] : []
}
const marksOf = ({ metadata: { annotations = {} } }: KubeObject) =>
  [SUSPENDED_ANNOTATION, RESUMED_ANNOTATION, SKIP_ARCHIVING_ANNOTATION].map((name) => annotations[name])

type Stated = KubeObject & { status?: Record<string, unknown> }
const phaseIn = (object: KubeObject) => (object as Stated).status?.phase

/** Velero updates a location every minute; only its verdict matters. */
const OBSERVES: readonly Observed[] = [
  {
    resource: veleroBackupStorageLocation,
    keysOf: settingsKeys,
    relevant: (object) => [object.spec, phaseIn(object), (object as Stated).status?.message],
  },
  {
    resource: veleroSchedule,
    keysOf: ({ metadata }) => (metadata.name === PLATFORM_SCHEDULE ? [SETTINGS_KEY] : []),
    relevant: (object) => [object.spec, phaseIn(object)],
  },
  { resource: veleroBackup, keysOf: (object) => (isPlatformBackup(object) ? [SETTINGS_KEY] : []), relevant: phaseIn },
  {
    resource: postgresqlCluster,
    keysOf: keysOfArchives,
    relevant: (object) => [marksOf(object), (object as Stated).status?.conditions],
  },
  { resource: RelationalCluster.resource, keysOf: keysOfArchives, relevant: marksOf },
  { resource: postgresqlBackup, keysOf: () => [] },
  {
    resource: RolloutExecution.resource,
    keysOf: settingsKeys,
    relevant: (object) => isRolloutActive((object as Stated).status?.state as string | undefined),
  },
]

const WRITES: readonly Rights[] = [
  ...childRights([veleroSchedule]),
  { resource: veleroBackupStorageLocation, verbs: ['get', 'create', 'patch'] },
  { resource: postgresqlBackup, verbs: ['create', 'patch'] },
  { resource: postgresqlCluster, verbs: ['patch'] },
  { resource: RelationalCluster.resource, verbs: ['patch'] },
  { resource: secret, verbs: ['get'], resourceNames: TARGET_SECRETS, in: 'system' },
  // The one Secret of ours in Velero's namespace, which the role cannot know.
  { resource: secret, verbs: ['get', 'create', 'patch'], resourceNames: [VELERO_SECRET] },
]

/** Keeps the platform's own backups as the settings say: docs/areas/platformbackups.md. */
export const platformBackupController = controllerWith<
  typeof PlatformBackupSettings,
  PlatformBackupOptions,
  SettingsState
>(PlatformBackupSettings, { observes: OBSERVES, writes: WRITES }, (options) => ({
  state: () => ({ problem: undefined }),
  reconcile: steps(syncSuspendedArchives, keepTarget(options), keepSchedule(options), backUpDatabases, judge(options)),
  // Every platform has settings. Without Velero objects or suspended archives they need no finalizer, so that the
  // platform's namespace can be deleted with everything in it.
  needsFinalizer: ({ spec }, records) =>
    records.isServed(veleroSchedule) || hasSuspendedArchives(records, spec.suspendedArchives),
  // The location and its key stay, because restores need them.
  finalize: steps(resumeArchives, removeSchedule),
}))

function keepTarget(options: PlatformBackupOptions) {
  return async function keepTarget(pass: SettingsPass): Promise<Outcome> {
    if (!pass.workloads.isServed(veleroBackupStorageLocation)) {
      pass.state.problem = stalled('EngineMissing', INSTALL_VELERO_ADVICE)
      return done()
    }
    const outcome = await applyTarget(pass, options)
    if (outcome.kind !== 'done') pass.state.problem = outcome
    return done()
  }
}

const locationOf = ({ workloads }: SettingsPass, { velero }: PlatformBackupOptions) =>
  selectBackupLocation(
    workloads.cache<BackupLocationWithStatus>(veleroBackupStorageLocation).list({ namespace: velero }),
  ) as BackupLocationWithStatus | undefined

/** Requires a location first: without one, every scheduled backup would fail. */
function keepSchedule(options: PlatformBackupOptions) {
  return async function keepSchedule(pass: SettingsPass): Promise<Outcome> {
    if (!pass.workloads.isServed(veleroSchedule)) return done()
    const location = locationOf(pass, options)
    pass.report({ location: location?.metadata.name })
    if (location === undefined) {
      pass.state.problem ??= stalled('ConfigurationInvalid', 'There is no target: set spec.target, or give Velero one.')
      return done()
    }
    const { velero } = options
    const schedule = platformSchedule(pass.object.spec.schedule, {
      kinds: KINDS,
      velero,
      location: location.metadata.name,
    })
    await pass.children.ensure(schedule, { resource: veleroSchedule, adopts: () => true })
    return done()
  }
}

function judge(options: PlatformBackupOptions) {
  return function judge(pass: SettingsPass): Outcome {
    const { workloads, state } = pass
    const last = findLastEndedBackup(platformBackupsOf(pass))
    pass.report({ lastBackup: last && backupStatusOf(last) })
    const location = locationOf(pass, options)
    pass.serving(backupLocationObstacle(location) === undefined)
    if (state.problem !== undefined) return state.problem
    const schedule = workloads.cache<VeleroSchedule>(veleroSchedule).get(options.velero, PLATFORM_SCHEDULE)
    if (schedule?.status?.phase === 'FailedValidation')
      return stalled('EngineRefused', 'Velero refused the schedule of the platform.')
    if (location?.status?.phase === 'Unavailable') {
      const detail = plainLine(location.status.message ?? '', 512)
      return degraded('BackupFailing', `Velero cannot reach the target. ${detail}`.trim())
    }
    const failure = last && platformFailureOf(last)
    return failure === undefined ? done() : degraded('BackupFailing', `The last backup failed. ${failure}`)
  }
}

function backupStatusOf(backup: Backup) {
  return {
    name: backup.metadata.name,
    phase: phaseOf(backup),
    startedAt: backupStartOf(backup),
    completedAt: backup.status?.completionTimestamp,
  }
}

async function removeSchedule(pass: SettingsPass): Promise<Outcome> {
  if (pass.workloads.isServed(veleroSchedule)) await pass.children.prune(veleroSchedule, [])
  return done()
}
