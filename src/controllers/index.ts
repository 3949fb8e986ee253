import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import type { BackupTargets } from '../adapters/backuptarget/port.ts'
import type { GitFiles } from '../adapters/gitfiles/port.ts'
import { noKeys } from '../adapters/platformkeys/file.ts'
import type { PlatformKeys } from '../adapters/platformkeys/port.ts'
import type { QdrantPort } from '../adapters/qdrant/port.ts'
import type { RegistryPort } from '../adapters/registry/port.ts'
import type { SourcePort } from '../adapters/sources/port.ts'
import type { SqlEngine } from '../adapters/sql/port.ts'
import type { TokenEndpoint } from '../contracts/managedIdentities.ts'
import type { Network } from '../contracts/networks.ts'
import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { NamespaceMetadata } from '../core/namespaces.ts'
import { isOurs, resourceId } from '../core/object.ts'
import type { DiskShare } from '../core/sizing/disk.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { COUNT_LIMITED_KINDS, KINDS } from '../crds/index.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import type { BackupTarget } from '../desired/relational/index.ts'
import { customResourceDefinition, event, namespace } from '../kube/builtin.ts'
import { CILIUM_POLICIES } from '../kube/cilium.ts'
import type { EventRecorder } from '../kube/events.ts'
import { appController } from './apps/index.ts'
import { bindingController } from './bindings.ts'
import { executionController } from './blueprints/executions.ts'
import { catalogueController, type TemplateReader } from './blueprints/sources.ts'
import { templateController } from './blueprints/templates.ts'
import { boundaryController } from './boundaries.ts'
import { clusterController, countClusters } from './clusters.ts'
import { containerController } from './containerinstances/index.ts'
import { type CrosslinkOptions, crosslinkController } from './crosslink.ts'
import { DEFAULTS_RIGHTS, installDefaults } from './defaults.ts'
import { deploymentController } from './deployments/index.ts'
import type { BuildPorts } from './deployments/types.ts'
import type { Controller, ControllerDeclaration, Rights } from './engine/controller.ts'
import type { Environment } from './engine/environment.ts'
import { EngineMetrics } from './engine/metrics.ts'
import { ConnectedClusters, type ConnectOtherCluster } from './engine/otherClusters.ts'
import { Runner, watchesOtherClusters } from './engine/runner.ts'
import { type ClusterConnection, cachedResources, openWorkspace, resourceOf } from './engine/workspace.ts'
import { countFullBoundaries, FullBoundaryMarker, OBJECT_COUNT_RIGHTS } from './fullBoundaries/index.ts'
import { functionController } from './functions/function.ts'
import { functionNamespaceController } from './functions/namespace.ts'
import { invitationController, passwordResetController } from './invitations.ts'
import { type JobOptions, jobController } from './jobs.ts'
import { LIFECYCLE_CONTROLLERS, type LifecycleOptions } from './lifecycle/index.ts'
import { managedIdentityController } from './managedidentities.ts'
import { alertController } from './monitoring.ts'
import { STORAGE_CONTROLLERS, type StorageOptions } from './objectstorage/index.ts'
import { platformBackupController } from './platformbackups/index.ts'
import { platformClientController } from './platformclients.ts'
import { claimPlatformHosts, PLATFORM_HOSTS_RIGHTS } from './platformHosts.ts'
import { groupController } from './principals.ts'
import { projectionController } from './projections.ts'
import { withProjection } from './projector.ts'
import { grantControllers } from './rbac.ts'
import { repositoryController } from './registry/repository.ts'
import { runController, scheduleRun } from './registry/run.ts'
import { RELATIONAL_CONTROLLERS } from './relational/index.ts'
import { type ResourceGroupOptions, resourceGroupController } from './resourcegroups.ts'
import { ROLLOUT_CONTROLLERS, type RolloutOptions, scheduleScan } from './rollouts/index.ts'
import { type SourceOptions, sourceController } from './sources.ts'
import { sqlController } from './sql/index.ts'
import { type SsoPorts, ssoController } from './sso.ts'
import { siteController } from './staticwebapps/index.ts'
import { countDataKeys, VAULT_CONTROLLERS } from './vaults/index.ts'
import { vectorController } from './vector/index.ts'

/** Adapters and settings that controllers of single areas need. */
export type ControllerPorts = {
  vectorEngine: QdrantPort
  sqlEngines: Readonly<Record<'MsSql' | 'MariaDb' | 'PostgreSql', SqlEngine>>
  /** Whether a resource may use a custom image. */
  allowOwnImages: boolean
  /** Target for database backups; undefined without one. */
  backupTarget?: BackupTarget | undefined
  /** Addresses of the API server, if closedNetworks includes it; defaults to none. */
  apiServer?: readonly Network[]
  /** Where pods get tokens for managed identities; defaults to nothing. */
  signIn?: TokenEndpoint
  /** Velero's namespace; defaults to `velero`. */
  backupNamespace?: string
  /** Tests targets of platform backups. */
  backupTargets: BackupTargets
  objectStorage: StorageOptions
  jobs: Omit<JobOptions, 'keys'>
  /** Whether to write assignments as RoleBindings too; defaults to false. */
  projectRbac?: boolean
  /** CIDRs that tenants' pods must not reach; defaults to none. */
  closedNetworks?: readonly string[]
  /** What every namespace of a boundary or group carries besides the platform's own; defaults to nothing. */
  namespaceMetadata?: NamespaceMetadata
  /** Local disk share of a tenant's container; defaults to `DISK_SHARE`. */
  disk?: DiskShare
  /** Wraps the data keys of secret vaults; defaults to none. */
  vaultKeys?: PlatformKeys
  sso: SsoPorts
  sources: SourceOptions & { port: SourcePort }
  /** Reads repositories of blueprint templates. */
  gitFiles: GitFiles
  readTemplate: TemplateReader
  builds: BuildPorts
  crosslink: CrosslinkOptions
  /** Undefined without an image registry. */
  registry?: RegistryPort | undefined
  lifecycle: LifecycleOptions
  rollouts: RolloutOptions
}

/** What a controller declares, and how to create it from the ports. */
type ControllerEntry = readonly [ControllerDeclaration, (ports: ControllerPorts) => Controller]

const fixed = (controller: Controller): ControllerEntry => [controller, () => controller]
const projected = (make: (options: ResourceGroupOptions) => Controller): ControllerEntry => [
  withProjection(make({}), true),
  (ports) => withProjection(make(ports), ports.projectRbac ?? false),
]
const configured = <Options>(
  make: ControllerDeclaration & ((options: Options) => Controller),
  optionsOf: (ports: ControllerPorts) => Options,
): ControllerEntry => [make, (ports) => make(optionsOf(ports))]

const keysOf = ({ vaultKeys = noKeys() }: ControllerPorts) => vaultKeys

/** Every controller of the platform, in order of dependency. */
const ENTRIES: readonly ControllerEntry[] = [
  projected(boundaryController),
  projected(resourceGroupController),
  fixed(clusterController),
  configured(projectionController, (ports) => ports),
  configured(crosslinkController, ({ crosslink }) => crosslink),
  fixed(invitationController),
  fixed(passwordResetController),
  ...grantControllers.map(fixed),
  fixed(groupController),
  fixed(platformClientController),
  [managedIdentityController(), ({ signIn }) => managedIdentityController(KINDS, signIn)],
  configured(ssoController, ({ sso }) => sso),
  fixed(bindingController),
  configured(sourceController, ({ sources }) => sources),
  configured(vectorController, ({ vectorEngine: engine, allowOwnImages }) => ({ engine, allowOwnImages })),
  ...VAULT_CONTROLLERS.map((each) => configured(each, keysOf)),
  configured(sqlController, ({ sqlEngines: engines, backupNamespace = 'velero' }) => ({ engines, backupNamespace })),
  ...RELATIONAL_CONTROLLERS.map((each) =>
    configured(each, ({ sqlEngines: { PostgreSql: engine }, allowOwnImages, backupTarget, apiServer }) => ({
      engine,
      allowOwnImages,
      backupTarget,
      apiServer,
    })),
  ),
  ...STORAGE_CONTROLLERS.map((each) => configured(each, ({ objectStorage }) => objectStorage)),
  configured(containerController, (ports) => ({
    keys: keysOf(ports),
    backupNamespace: ports.backupNamespace ?? 'velero',
    registryHost: ports.registry?.host,
    disk: ports.disk,
  })),
  fixed(functionNamespaceController),
  configured(functionController, (ports) => ({ keys: keysOf(ports), registryHost: ports.registry?.host })),
  configured(appController, (ports) => ({
    keys: keysOf(ports),
    backupNamespace: ports.backupNamespace ?? 'velero',
    registryHost: ports.registry?.host,
    disk: ports.disk,
  })),
  configured(siteController, ({ registry, disk }) => ({ registryHost: registry?.host, disk })),
  configured(deploymentController, ({ builds, sources, registry }) => ({
    ...builds,
    sources: sources.port,
    registry,
  })),
  configured(jobController, (ports) => ({ keys: keysOf(ports), ...ports.jobs, registryHost: ports.registry?.host })),
  configured(repositoryController, ({ registry }) => ({ registry })),
  configured(catalogueController, ({ gitFiles, sources, readTemplate }) => ({
    files: gitFiles,
    sources: sources.port,
    read: readTemplate,
  })),
  fixed(templateController),
  fixed(executionController),
  configured(runController, ({ registry }) => ({ registry })),
  fixed(alertController),
  configured(platformBackupController, ({ backupTargets: targets, backupNamespace: velero = 'velero' }) => ({
    targets,
    velero,
  })),
  ...LIFECYCLE_CONTROLLERS.map((each) => configured(each, ({ lifecycle }) => lifecycle)),
  ...ROLLOUT_CONTROLLERS.map((each) => configured(each, ({ rollouts }) => rollouts)),
]

export function controllers(ports: ControllerPorts): readonly Controller[] {
  return ENTRIES.map(([, make]) => make(ports))
}

export type ControllersOptions = {
  /** Where our kinds are. */
  records: ClusterConnection
  /** Where children go; the same connection in one cluster. */
  workloads: ClusterConnection
  /** Opens a connection to a cluster through its agent's tunnel; undefined without agents. */
  connectOther?: ConnectOtherCluster | undefined
  events: EventRecorder
  registry: Registry
  log: Log
  ports: ControllerPorts
  /** Maximum number of objects per boundary (`FullBoundaryMarker`). */
  objectsPerBoundary: number
  /** Content of the platform cluster's record when it is created. `hosts` are the platform's own host names. */
  platform: { domain: string; region: string; hosts: readonly string[] }
  clock?: Clock
  random?: () => number
  /** Maximum number of keys per controller in progress; defaults to 8. */
  workers?: number
}

export type RunningControllers = {
  /** Accepts no more keys and resolves when running passes have ended. The caller owns caches and clients. */
  stop(): Promise<void>
  /** Resolves when no key waits or is worked on; timers may be set. */
  whenIdle(): Promise<void>
}

/**
 * Declares and fills the caches, installs the defaults, and runs every controller. Call it while holding the lease,
 * with clients that have its `fence`. When the lease is lost, call `stop` and start a new process to lead again.
 *
 * @throws Error if a cache is stopped before it is full; KubeError if the defaults cannot be installed
 */
export async function startControllers(options: ControllersOptions): Promise<RunningControllers> {
  const { log, registry, events, clock = systemClock } = options
  const list = controllers(options.ports)
  const { records, workloads } = openWorkspaces(options, list)
  await waitForCaches(options, clock)
  await installDefaults(options.records.client, options.platform, log)
  await claimPlatformHosts(options.records.client, options.platform.hosts, log)
  if (options.ports.registry !== undefined) await scheduleRun(options.records.client, clock.now())
  await scheduleScan(options.records.client, clock.now())
  const others = connectOtherClusters(options, list, clock)
  const environment: Environment = {
    records,
    workloads,
    ...(others !== undefined && { others }),
    clock,
    log,
    events: { emit: (regarding, event) => events.record({ regarding, ...event }) },
    metrics: new EngineMetrics(registry),
    newId: randomUUID,
    random: options.random ?? Math.random,
    workers: options.workers ?? 8,
  }
  countDataKeys(registry, records)
  countClusters(registry, records, clock)
  const fullBoundaries = new FullBoundaryMarker({
    records: options.records,
    maxObjects: options.objectsPerBoundary,
    clock,
    log,
  })
  countFullBoundaries(registry, fullBoundaries)
  fullBoundaries.start()
  const runners = list.map((controller) => new Runner(controller, environment))
  for (const runner of runners) runner.start()
  others?.start(records.cache(PlatformCluster))
  log.info({ controllers: list.map(({ name }) => name) }, 'The controllers run.')
  return {
    stop: async () => {
      await Promise.all([...runners, fullBoundaries].map((one) => one.stop()))
      await others?.stop()
    },
    whenIdle: async () => void (await Promise.all([...runners, fullBoundaries].map((one) => one.whenIdle()))),
  }
}

function connectOtherClusters({ connectOther, log }: ControllersOptions, list: readonly Controller[], clock: Clock) {
  if (connectOther === undefined) return undefined
  return new ConnectedClusters(connectOther, cachedResources(list.filter(watchesOtherClusters), 'workloads'), {
    clock,
    log,
  })
}

function openWorkspaces({ records, workloads }: ControllersOptions, list: readonly Controller[]) {
  const ofRecords = [...cachedResources(list, 'records'), ...COUNT_LIMITED_KINDS.map(({ resource }) => resource)]
  const ofWorkloads = cachedResources(list, 'workloads')
  const same = records === workloads
  const first = openWorkspace(records, same ? [...ofRecords, ...ofWorkloads] : ofRecords)
  const second = same ? first : openWorkspace(workloads, ofWorkloads)
  records.caches.start()
  if (!same) workloads.caches.start()
  return { records: first, workloads: second }
}

/** Milliseconds between log lines about caches that a start is waiting for. */
const SYNC_WARNING_INTERVAL_MS = 15_000

async function waitForCaches({ records, workloads, log }: ControllersOptions, clock: Clock): Promise<void> {
  let timer: Timer | undefined
  const complain = () => {
    const waitingFor = [...new Set([...records.caches.unsynced(), ...workloads.caches.unsynced()])]
    log.warn({ waitingFor }, 'The controllers wait for their first look at these resources. Are the rights applied?')
    timer = clock.setTimeout(complain, SYNC_WARNING_INTERVAL_MS)
  }
  timer = clock.setTimeout(complain, SYNC_WARNING_INTERVAL_MS)
  try {
    await Promise.all([records.caches.whenAllSynced(), workloads.caches.whenAllSynced()])
  } finally {
    timer.cancel()
  }
}

const isSecret = ({ group, plural }: Rights['resource']) => group === '' && plural === 'secrets'

const READ_VERBS = ['get', 'list', 'watch'] as const

/**
 * Returns the operator's rights in the cluster, from what each controller declares. Secrets are left out: they are
 * granted per namespace.
 */
export function operatorRights(): Rights[] {
  const rights: Rights[] = [
    ...DEFAULTS_RIGHTS,
    ...PLATFORM_HOSTS_RIGHTS,
    ...OBJECT_COUNT_RIGHTS,
    { resource: event, verbs: ['create', 'patch'] },
    { resource: namespace, verbs: READ_VERBS },
    ...declaredRights(),
  ]
  // Named Secrets may be in any namespace: no role can know an engine's namespace.
  return rights.filter(
    (right) => right.in !== 'system' && (!isSecret(right.resource) || right.resourceNames !== undefined),
  )
}

/** Returns the rights of the agents in other clusters, and so all that the operator can do there. */
export function agentRights(): Rights[] {
  const rights = ENTRIES.map(([declared]) => declared)
    .filter(({ kind }) => kind.runsAnywhere === true || kind === PlatformCluster || kind === BoundaryProjection)
    .flatMap(rightsOf)
  // The facade reads these policies for its network verdicts.
  const policies = CILIUM_POLICIES.map((resource): Rights => ({ resource, verbs: ['list'] }))
  return [{ resource: namespace, verbs: READ_VERBS }, ...policies, ...rights].filter(
    (right) => right.in === undefined && !isOurs(right.resource) && !isSecret(right.resource),
  )
}

/** Returns the rights in the platform's own namespace only. */
export function operatorSystemRights(): Rights[] {
  return declaredRights().filter((right) => right.in === 'system')
}

function declaredRights(): Rights[] {
  return ENTRIES.flatMap(([declared]) => rightsOf(declared))
}

function rightsOf({ kind, observes, reads, writes }: ControllerDeclaration): Rights[] {
  const { group, plural } = kind.resource
  const read = [...reads, ...observes].map(resourceOf)
  return [
    { resource: kind.resource, verbs: [...READ_VERBS, 'patch'] },
    { resource: { group, plural: `${plural}/status` }, verbs: ['patch'] },
    // Needed where the cluster enforces OwnerReferencesPermissionEnforcement for blockOwnerDeletion.
    { resource: { group, plural: `${plural}/finalizers` }, verbs: ['update'] },
    ...read.map((resource) => ({ resource, verbs: READ_VERBS })),
    // The definition of an optional type tells whether it is served.
    ...read.flatMap((resource) =>
      resource.optional === true
        ? [{ resource: customResourceDefinition, verbs: READ_VERBS, resourceNames: [resourceId(resource)] }]
        : [],
    ),
    ...writes,
  ]
}
