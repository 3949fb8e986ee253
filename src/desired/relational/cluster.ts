import { SKIP_ARCHIVING_ANNOTATION } from '../../contracts/platformbackups/archives.ts'
import { relationalNames, serviceHost } from '../../contracts/relational.ts'
import { type Child, child } from '../workload/child.ts'
import { resourcesOf } from '../workload/pod.ts'
import { temporaryKiB } from '../workload/temporaryFiles.ts'
import { BARMAN_PLUGIN } from './backup.ts'
import { editorRoles } from './logins.ts'
import { ENGINE_API, type Origin, type RelationalInput } from './types.ts'

/** Annotations of CloudNativePG (its labels and annotations page). */
export const HIBERNATION_ANNOTATION = 'cnpg.io/hibernation'
/** The engine also sets it on each instance that it restarted for it. */
export const RESTARTED_AT_ANNOTATION = 'kubectl.kubernetes.io/restartedAt'

const SNAPSHOT_API_GROUP = 'snapshot.storage.k8s.io'

/** Name of the external cluster that a restored cluster reads from. */
const ORIGIN_NAME = 'origin'

/** Returns the image of the version, or a custom image unchanged. */
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
      // Minor updates and changed settings move the primary without waiting for a person.
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
      ...(input.origin === undefined ? {} : { externalClusters: [originCluster(input)] }),
      ...(input.backup === undefined ? {} : { plugins: [archiver(input)] }),
      ...(input.snapshotClass === undefined
        ? {}
        : { backup: { volumeSnapshot: volumeSnapshots(input.snapshotClass) } }),
      certificates: { serverAltDNSNames: publicNames(input) },
      // Clients use our own Services, which can point to another Cluster; the `rw` Service cannot be disabled.
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

/** Fraction of the volume for one session's temporary files: PostgreSQL has no limit for all sessions together. */
const TEMPORARY_DIVISOR = 10n

function settings({ cluster: { spec }, plan, maxConnections, instances }: RelationalInput): object {
  const temporary = temporaryKiB(plan.storageSize, TEMPORARY_DIVISOR)
  const synchronous = Math.min(spec.synchronousReplicas, instances - 1)
  return {
    parameters: {
      ...(maxConnections === undefined ? {} : { max_connections: String(maxConnections) }),
      // Changing it needs no restart.
      ...(temporary === undefined ? {} : { temp_file_limit: `${temporary}kB` }),
      ...spec.parameters,
    },
    ...(synchronous > 0 ? { synchronous: { method: 'any', number: synchronous } } : {}),
  }
}

/**
 * How the first instance gets its data. CloudNativePG reads this only once, so it may stay after the origin is gone.
 * Without a time, the restore ends where the snapshot does (`targetImmediate`).
 */
function bootstrap({ cluster, names, origin }: RelationalInput): object {
  const secret = { name: names.owner }
  if (origin === undefined) {
    const { databaseName, ownerName } = cluster.spec
    return { initdb: { database: databaseName, owner: ownerName, secret } }
  }
  const target = origin.targetTime === undefined ? { targetImmediate: true } : { targetTime: origin.targetTime }
  return {
    recovery: {
      source: ORIGIN_NAME,
      database: origin.databaseName,
      owner: origin.ownerName,
      secret,
      ...recoveryBase(origin, target),
    },
  }
}

/** The log is read from the archive in either case: a hot snapshot of volumes is consistent only with it. */
function recoveryBase({ volumeSnapshots: base, backupId }: Origin, target: object): object {
  if (base === undefined)
    return { recoveryTarget: { ...(backupId === undefined ? {} : { backupID: backupId }), ...target } }
  const source = (name: string) => ({ apiGroup: SNAPSHOT_API_GROUP, kind: 'VolumeSnapshot', name })
  return {
    volumeSnapshots: {
      storage: source(base.storage),
      ...(base.walStorage === undefined ? {} : { walStorage: source(base.walStorage) }),
    },
    // The engine refuses the id of a backup here.
    recoveryTarget: target,
  }
}

/** The VolumeSnapshots belong to their Backup, so that the garbage collector deletes them with it. */
function volumeSnapshots(className: string): object {
  return { className, online: true, snapshotOwnerReference: 'backup' }
}

function originCluster({ names, origin }: RelationalInput): object {
  const barmanObjectName = names.source
  return {
    name: ORIGIN_NAME,
    plugin: { name: BARMAN_PLUGIN, parameters: { barmanObjectName, serverName: origin?.serverName } },
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

/** Additional host names for the server certificate, so that clients of our Services can verify it. */
function publicNames({ cluster, names, namespace }: RelationalInput): string[] {
  // A cluster that takes over a name also answers under that name.
  const takenOver = cluster.spec.takesOver === undefined ? [] : [relationalNames(cluster.spec.takesOver)]
  return [names, ...takenOver].flatMap(({ primary, replicas }) =>
    [primary, replicas].flatMap((service) => [service, serviceHost(service, namespace)]),
  )
}
