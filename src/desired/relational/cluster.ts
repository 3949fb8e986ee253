import { relationalNames, serviceHost } from '../../contracts/relational.ts'
import { type Child, child } from '../workload/child.ts'
import { resourcesOf } from '../workload/pod.ts'
import { temporaryKiB } from '../workload/temporaryFiles.ts'
import { BARMAN_PLUGIN } from './backup.ts'
import { editorRoles } from './logins.ts'
import { ENGINE_API, type RelationalInput } from './types.ts'

/** Annotations of CloudNativePG (its labels and annotations page). */
export const HIBERNATION_ANNOTATION = 'cnpg.io/hibernation'
const SKIP_ARCHIVING_ANNOTATION = 'cnpg.io/skipWalArchiving'
/** The engine gives it to each instance that it has restarted for it, too. */
export const RESTARTED_AT_ANNOTATION = 'kubectl.kubernetes.io/restartedAt'

/** The name of the external cluster that a restored one is read from. */
const ORIGIN = 'origin'

/** The image of the version. An image of one's own is taken as it is. */
export function relationalImage(spec: { imageName?: string | undefined; engineVersion: string }): string {
  return spec.imageName ?? `ghcr.io/cloudnative-pg/postgresql:${spec.engineVersion}`
}

/** The Cluster of CloudNativePG: instances, volumes, archive, and what it is made from. */
export function postgresqlClusterObject(input: RelationalInput): Child<'Cluster'> {
  const { cluster, plan, instances, names } = input
  const { spec } = cluster
  const { walStorageSize } = spec
  const identity = {
    apiVersion: ENGINE_API,
    kind: 'Cluster',
    name: names.cluster,
    annotations: annotations(input),
  } as const
  return child(input, identity, {
    spec: {
      instances,
      imageName: relationalImage(spec),
      // A minor update or a changed setting moves the primary by itself: nobody is there to do it.
      primaryUpdateStrategy: 'unsupervised',
      primaryUpdateMethod: 'switchover',
      enableSuperuserAccess: false,
      storage: volume(plan.storageSize ?? '', plan.storageClass),
      ...(walStorageSize === undefined ? {} : { walStorage: volume(walStorageSize, plan.storageClass) }),
      resources: resourcesOf(plan),
      affinity: {
        enablePodAntiAffinity: true,
        topologyKey: 'kubernetes.io/hostname',
        podAntiAffinityType: 'preferred',
      },
      postgresql: settings(input),
      bootstrap: bootstrap(input),
      ...(input.origin === undefined ? {} : { externalClusters: [origin(input)] }),
      ...(input.backup === undefined ? {} : { plugins: [archiver(input)] }),
      certificates: { serverAltDNSNames: publicNames(input) },
      // Clients use our own Services, which can be led to another Cluster; the one for writing cannot be left out.
      managed: { roles: editorRoles(input), services: { disabledDefaultServices: ['ro', 'r'] } },
    },
  })
}

function annotations({ cluster: { spec } }: RelationalInput): Record<string, string> {
  return {
    [HIBERNATION_ANNOTATION]: spec.running ? 'off' : 'on',
    ...(spec.restartedAt === undefined ? {} : { [RESTARTED_AT_ANNOTATION]: spec.restartedAt }),
    ...(spec.archivingSuspended ? { [SKIP_ARCHIVING_ANNOTATION]: 'enabled' } : {}),
  }
}

function volume(size: string, storageClass: string): object {
  return { size, ...(storageClass === '' ? {} : { storageClass }), resizeInUseVolumes: true }
}

/** Of the volume, for temporary files of one session: the engine knows no limit of all together. */
const TEMPORARY_PART = 10n

function settings({ cluster: { spec }, plan, maxConnections, instances }: RelationalInput): object {
  const temporary = temporaryKiB(plan.storageSize, TEMPORARY_PART)
  const synchronous = Math.min(spec.synchronousReplicas, instances - 1)
  return {
    parameters: {
      ...(maxConnections === undefined ? {} : { max_connections: String(maxConnections) }),
      // It takes effect without a restart.
      ...(temporary === undefined ? {} : { temp_file_limit: `${temporary}kB` }),
      ...spec.parameters,
    },
    ...(synchronous > 0 ? { synchronous: { method: 'any', number: synchronous } } : {}),
  }
}

/**
 * How the first instance gets its data. CloudNativePG reads this once, so it may stay as it was when the origin is gone.
 * Without a time the restore ends where the snapshot does (`targetImmediate`).
 */
function bootstrap({ cluster, names, origin: from }: RelationalInput): object {
  const secret = { name: names.owner }
  if (from === undefined) {
    const { databaseName, ownerName } = cluster.spec
    return { initdb: { database: databaseName, owner: ownerName, secret } }
  }
  const end = from.targetTime === undefined ? { targetImmediate: true } : { targetTime: from.targetTime }
  return {
    recovery: {
      source: ORIGIN,
      database: from.databaseName,
      owner: from.ownerName,
      secret,
      recoveryTarget: { ...(from.backupId === undefined ? {} : { backupID: from.backupId }), ...end },
    },
  }
}

function origin({ names, origin: from }: RelationalInput): object {
  const barmanObjectName = names.source
  return {
    name: ORIGIN,
    plugin: { name: BARMAN_PLUGIN, parameters: { barmanObjectName, serverName: from?.serverName } },
  }
}

function archiver({ names, backup }: RelationalInput): object {
  const barmanObjectName = names.backup
  return {
    name: BARMAN_PLUGIN,
    isWALArchiver: true,
    parameters: { barmanObjectName, serverName: backup?.serverName },
  }
}

/** Names beyond the engine's own under which clients connect, so that their certificate check succeeds. */
function publicNames({ cluster, names, namespace }: RelationalInput): string[] {
  // One that takes a name over answers under it too.
  const taken = cluster.spec.takesOver === undefined ? [] : [relationalNames(cluster.spec.takesOver)]
  return [names, ...taken].flatMap(({ primary, replicas }) =>
    [primary, replicas].flatMap((service) => [service, serviceHost(service, namespace)]),
  )
}
