import { type Backup, type BackupLocation, selectBackupLocation } from '../../contracts/backups.ts'
import { isPlatformBackup } from '../../contracts/platformbackups/backups.ts'
import type {
  BackupFacts,
  CertificateFacts,
  DatabaseFacts,
  NodeFacts,
  QuotaFacts,
  RequestedResources,
  WorkloadFacts,
} from '../../contracts/rollouts/facts.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { isQuantity, parseQuantity } from '../../core/quantity.ts'

/** Derives the facts for the checks from Kubernetes objects; pure. */

type Condition = { type?: string; status?: string }
type Quantities = Readonly<Record<string, unknown>>
type WithStatus<Status> = KubeObject & { status?: Status }

const isTrue = (conditions: readonly Condition[] | undefined, type: string) =>
  conditions?.some((one) => one.type === type && one.status === 'True') === true
const keyOfObject = ({ metadata }: KubeObject) => objectKey(metadata.namespace, metadata.name)

function quantityOf(values: Quantities | undefined, name: string): number {
  const text = values?.[name]
  return typeof text === 'string' && isQuantity(text) ? Number(parseQuantity(text)) / 1000 : 0
}

export function nodeFacts(node: KubeObject): NodeFacts {
  const { status } = node as WithStatus<{ conditions?: Condition[]; allocatable?: Quantities }>
  return {
    name: node.metadata.name,
    isReady: isTrue(status?.conditions, 'Ready'),
    isShortOfDisk: isTrue(status?.conditions, 'DiskPressure'),
    cpu: quantityOf(status?.allocatable, 'cpu'),
    memory: quantityOf(status?.allocatable, 'memory'),
  }
}

type Container = { resources?: { requests?: Quantities } }

export function sumPodRequests(pods: readonly KubeObject[]): RequestedResources {
  let [cpu, memory] = [0, 0]
  for (const pod of pods) {
    const { spec, status } = pod as WithStatus<{ phase?: string }> & { spec?: { containers?: Container[] } }
    if (status?.phase === 'Succeeded' || status?.phase === 'Failed') continue
    for (const { resources } of spec?.containers ?? []) {
      cpu += quantityOf(resources?.requests, 'cpu')
      memory += quantityOf(resources?.requests, 'memory')
    }
  }
  return { cpu, memory }
}

type DatabaseStatus = { currentPrimary?: string; targetPrimary?: string; conditions?: Condition[] }

export function databaseFacts(cluster: KubeObject): DatabaseFacts {
  const { status } = cluster as WithStatus<DatabaseStatus>
  const archiving = status?.conditions?.find(({ type }) => type === 'ContinuousArchiving')
  return {
    name: keyOfObject(cluster),
    hasPrimary: status?.currentPrimary !== undefined && status.currentPrimary === status.targetPrimary,
    isArchiving: archiving === undefined ? undefined : archiving.status === 'True',
  }
}

export function certificateFacts(certificate: KubeObject): CertificateFacts {
  const { status } = certificate as WithStatus<{ conditions?: Condition[]; notAfter?: string }>
  return { name: keyOfObject(certificate), isReady: isTrue(status?.conditions, 'Ready'), endsAt: status?.notAfter }
}

/** Returns the used share of the scarcest resource. */
export function quotaFacts(quota: KubeObject): QuotaFacts {
  const { status } = quota as WithStatus<{ hard?: Quantities; used?: Quantities }>
  const shares = Object.keys(status?.hard ?? {}).map((name) => {
    const hard = quantityOf(status?.hard, name)
    return hard === 0 ? 0 : quantityOf(status?.used, name) / hard
  })
  return { name: keyOfObject(quota), share: Math.max(0, ...shares) }
}

type RolloutStatus = {
  observedGeneration?: number
  replicas?: number
  updatedReplicas?: number
  desiredNumberScheduled?: number
  updatedNumberScheduled?: number
}

export function workloadFacts(workload: KubeObject): WorkloadFacts {
  const { status = {} } = workload as WithStatus<RolloutStatus>
  const isBehind = (workload.metadata.generation ?? 0) > (status.observedGeneration ?? 0)
  const [wanted = 0, updated = 0] =
    status.desiredNumberScheduled === undefined
      ? [status.replicas, status.updatedReplicas]
      : [status.desiredNumberScheduled, status.updatedNumberScheduled]
  return { name: keyOfObject(workload), isPending: isBehind || updated < wanted }
}

export function backupFacts(locations: readonly KubeObject[], backups: readonly KubeObject[]): BackupFacts {
  const target = selectBackupLocation(locations as BackupLocation[])
  const completed = (backups as Backup[])
    .filter((backup) => isPlatformBackup(backup) && backup.status?.phase === 'Completed')
    .flatMap(({ status }) => status?.completionTimestamp ?? [])
  return {
    target: target === undefined ? 'Missing' : target.status?.phase === 'Available' ? 'Available' : 'Unavailable',
    lastAt: completed.sort().at(-1),
  }
}

/** Returns which of the components' CRDs are missing or not served. */
export function missingDefinitions(wanted: readonly string[], found: readonly KubeObject[]): string[] {
  const served = new Set(
    (found as WithStatus<{ conditions?: Condition[] }>[])
      .filter(({ status }) => isTrue(status?.conditions, 'Established'))
      .map(({ metadata }) => metadata.name),
  )
  return [...new Set(wanted)].filter((name) => !served.has(name)).sort()
}
