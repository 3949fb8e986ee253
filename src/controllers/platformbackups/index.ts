import type { TargetAccess } from '../../adapters/backuptarget/port.ts'
import {
  type Backup,
  type BackupLocation,
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
  TARGET_SECRET_KEYS,
  TARGET_SECRETS,
  VELERO_SECRET,
} from '../../contracts/platformbackups/names.ts'
import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import { OWNER_KIND_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { plainLine } from '../../core/plainLine.ts'
import { type SecretData, type SecretObject, secretText } from '../../core/secretData.ts'
import { KINDS } from '../../crds/index.ts'
import { type BackupTarget, PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import { platformSchedule, type TargetKey, targetLocation, targetSecret } from '../../desired/platformbackups.ts'
import { secret } from '../../kube/builtin.ts'
import { firstDifference } from '../../kube/compare.ts'
import { postgresqlBackup, postgresqlCluster } from '../../kube/postgresql.ts'
import { veleroBackup, veleroBackupStorageLocation, veleroSchedule } from '../../kube/velero.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { StalledError } from '../engine/interruptions.ts'
import { childRights } from '../workload/observers.ts'
import { readSecret } from '../workload/secrets.ts'
import {
  backUpDatabases,
  concernsArchives,
  hasSuspendedArchives,
  resumeArchives,
  syncSuspendedArchives,
} from './archives.ts'
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
  state: () => ({}),
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

/** Milliseconds until a missing Secret is looked for again: the operator may read it but not watch it. */
const SECRET_RETRY_MS = 30_000
/** Milliseconds until a refused target is tested again: a bucket or permission may have been added. */
const TARGET_RETRY_MS = 300_000

/**
 * Makes Velero write to the configured target. A target is tested before Velero's objects change, so that a typing
 * error does not replace a working target.
 */
async function applyTarget(pass: SettingsPass, options: PlatformBackupOptions): Promise<Outcome> {
  const { target } = pass.object.spec
  if (target === undefined) return done()
  const { velero, targets } = options
  const key = await keyOf(pass, target)
  if (key === undefined) {
    const message = `Secret "${target.secretName}" with ${TARGET_SECRET_KEYS.id} and ${TARGET_SECRET_KEYS.secret} is not in ${SYSTEM_NAMESPACE}.`
    return waiting('WaitingForDependency', message, SECRET_RETRY_MS)
  }
  const location = targetLocation(target, { velero, name: locationName(pass, velero) })
  const copy = targetSecret(key, target, velero)
  const [held, stored] = [
    pass.workloads.cache<BackupLocation>(veleroBackupStorageLocation).get(velero, location.metadata.name),
    await readSecret(pass, velero, copy.metadata.name),
  ]
  const isCopied = sameData(stored, copy)
  if (isCopied && held !== undefined && firstDifference(location.spec, held.spec) === undefined) {
    await pass.children.ensure(location, { resource: veleroBackupStorageLocation, adopts: () => true })
    return done()
  }
  if (isInRollout(pass))
    return waiting('WaitingForDependency', 'A rollout is running; the target is applied when it has ended.')
  const result = await targets.test(accessOf(target, key))
  if (result.code !== 'Ok')
    return stalled(
      'ConfigurationInvalid',
      `The target was refused (${result.code}). ${result.message}`,
      TARGET_RETRY_MS,
    )
  // Write the key first, because the location refers to it.
  if (!isCopied) await writeCopy(pass, copy, stored)
  await pass.children.ensure(location, { resource: veleroBackupStorageLocation, adopts: () => true })
  return done()
}

/** Whether a rollout is in progress, whose snapshot must stay on its target. */
function isInRollout({ records }: SettingsPass): boolean {
  const rollouts = records.cache(RolloutExecution).list()
  return rollouts.some(({ status }) => isRolloutActive(status?.state))
}

function accessOf(target: BackupTarget, key: TargetKey): TargetAccess {
  const { provider: _provider, secretName: _secretName, ...rest } = target
  return { ...rest, ...key }
}

/** Returns the name of our location, otherwise of Velero's current default, which stays the default. */
function locationName(pass: SettingsPass, velero: string): string {
  const [own] = pass.children.owned(veleroBackupStorageLocation)
  const locations = pass.workloads.cache<BackupLocation>(veleroBackupStorageLocation).list({ namespace: velero })
  return (own ?? selectBackupLocation(locations))?.metadata.name ?? 'default'
}

async function keyOf({ records }: SettingsPass, { secretName }: BackupTarget): Promise<TargetKey | undefined> {
  const data = (await readSecret({ workloads: records }, SYSTEM_NAMESPACE, secretName))?.data
  const text = (entry: string) => secretText(data, entry) ?? ''
  const [accessKeyId, secretAccessKey] = [text(TARGET_SECRET_KEYS.id), text(TARGET_SECRET_KEYS.secret)]
  // The values become lines of a file, so a line break would inject settings.
  const isKey = (value: string) => /^[!-~]{1,1024}$/.test(value)
  return isKey(accessKeyId) && isKey(secretAccessKey) ? { accessKeyId, secretAccessKey } : undefined
}

function sameData(stored: SecretObject | undefined, { data }: { data: SecretData }): boolean {
  const entries = Object.entries(stored?.data ?? {})
  return entries.length === Object.keys(data).length && entries.every(([name, value]) => data[name] === value)
}

/** Writes without a cache: the operator may write this one Secret there, but not watch it. */
async function writeCopy(pass: SettingsPass, copy: ReturnType<typeof targetSecret>, stored: SecretObject | undefined) {
  if (stored !== undefined && stored.metadata.labels?.[OWNER_KIND_LABEL] !== PlatformBackupSettings.kind) {
    const { namespace, name } = copy.metadata
    throw new StalledError('NameOccupied', `Secret "${namespace}/${name}" exists and does not belong to the platform.`)
  }
  await pass.workloads.client.apply(secret, copy, { force: true })
}
