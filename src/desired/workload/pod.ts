import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { OWNER_INCARNATION_ANNOTATION, PREFIX } from '../../core/labels.ts'
import { DISK, type DiskShare, withinLimit } from '../../core/sizing/disk.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import { type Child, child, type WorkloadInput } from './child.ts'

/** On the pod template: a new value is a rolling restart. */
export const RESTARTED_AT_ANNOTATION = `${PREFIX}restarted-at`
/** On the pod template: a hash of the files that a pod reads at its start. */
export const CONFIG_ANNOTATION = `${PREFIX}config`

/** On a StatefulSet: the size that its claim template was written with, which the API server may store as another one. */
export const STORAGE_SIZE_ANNOTATION = `${PREFIX}storage-size`

/** A pod that the level `restricted` of Pod Security admits, without a token and without the addresses of its namespace. */
export function restrictedPod(
  identity: {
    user?: number | undefined /** the image's if absent */
    group?: number /** owns the volumes */
    fsGroup?: number
  },
  spec: { containers: readonly object[] } & Record<string, unknown>,
): Record<string, unknown> {
  const { user, group = user, fsGroup } = identity
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      ...(user === undefined ? {} : { runAsUser: user, runAsGroup: group }),
      // A large volume is not walked through at every start.
      ...(fsGroup === undefined ? {} : { fsGroup, fsGroupChangePolicy: 'OnRootMismatch' }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...spec,
  }
}

/**
 * @param writesToRoot the image writes beside its volumes
 * @param disk what it may write to its node, if not as much as any other container
 */
export function restrictedContainer(
  plan: EffectivePlan,
  spec: { name: string; image: string } & Record<string, unknown>,
  { writesToRoot = false, disk }: { writesToRoot?: boolean; disk?: DiskShare | undefined } = {},
): Record<string, unknown> {
  return {
    ...spec,
    resources: resourcesOf(plan, disk),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: !writesToRoot,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
  }
}

/** What a container is guaranteed, and the most that it gets. */
export function resourcesOf(
  plan: Pick<EffectivePlan, 'cpuRequest' | 'cpuLimit' | 'memoryRequest' | 'memoryLimit'>,
  disk?: DiskShare,
) {
  const { limit, request } = disk === undefined ? {} : withinLimit(disk)
  return {
    requests: { cpu: plan.cpuRequest, memory: plan.memoryRequest, ...(request !== undefined && { [DISK]: request }) },
    limits: { cpu: plan.cpuLimit, memory: plan.memoryLimit, ...(limit !== undefined && { [DISK]: limit }) },
  }
}

/** The three probes of an engine that may take an hour to open its port: it loads what it holds first. */
export function probes(live: object, ready: object = live): Record<string, object> {
  const probe = (action: object, periodSeconds: number, failureThreshold: number) => ({
    ...action,
    periodSeconds,
    failureThreshold,
    timeoutSeconds: 3,
  })
  return {
    startupProbe: probe(live, 5, 720),
    livenessProbe: probe(live, 10, 6),
    readinessProbe: probe(ready, 5, 3),
  }
}

/** An environment variable from an entry of a Secret. */
export function secretVariable(name: string, secretName: string, key: string): object {
  return { name, valueFrom: { secretKeyRef: { name: secretName, key } } }
}

/** Seconds after which a rollout that has not come further is given up waiting for; what served before goes on. */
const ROLLOUT_SECONDS = 600

/** A Deployment that takes nothing away before what replaces it is ready. */
export function deployment(
  input: WorkloadInput,
  {
    name,
    replicas,
    annotations,
    labels,
    pod,
  }: {
    name: string
    replicas: number
    /** Of the pods, beyond those of the workload. */
    labels: Record<string, string>
    annotations: Record<string, string>
    pod: object
  },
): Child<'Deployment'> {
  return child(
    input,
    { apiVersion: 'apps/v1', kind: 'Deployment', name, labels },
    {
      spec: {
        replicas,
        selector: { matchLabels: input.selector },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        progressDeadlineSeconds: ROLLOUT_SECONDS,
        // What may be gone back to is kept as ControllerRevisions.
        revisionHistoryLimit: 1,
        template: { metadata: { labels: { ...input.labels, ...labels }, annotations }, spec: pod },
      },
    },
  )
}

type StatefulInput = WorkloadInput<{ workload: string; peers: string }> & { plan: EffectivePlan; incarnation: string }

/** A StatefulSet whose pods each have a volume named `storage`. */
export function statefulSet(
  input: StatefulInput,
  { replicas, annotations, pod }: { replicas: number; annotations: Record<string, string>; pod: object },
): Child<'StatefulSet'> {
  const { names, labels, selector, plan } = input
  return child(
    input,
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: names.workload,
      annotations: { [STORAGE_SIZE_ANNOTATION]: plan.storageSize ?? '' },
    },
    {
      spec: {
        replicas,
        serviceName: names.peers,
        selector: { matchLabels: selector },
        // All at once: a pod that cannot start must not keep others from starting, nor from a template that mends it.
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        // Volumes go only with the resource, or when what they hold was moved away.
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        revisionHistoryLimit: 5,
        template: { metadata: { labels, annotations }, spec: pod },
        volumeClaimTemplates: [claimTemplate(input)],
      },
    },
  )
}

/** One volume for each pod, which no other pod mounts. */
function claimTemplate({ labels, incarnation, plan: { storageClass, storageSize } }: StatefulInput): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    // The incarnation tells our claims from those that a namesake left behind.
    metadata: { name: STORAGE_VOLUME, labels, annotations: { [OWNER_INCARNATION_ANNOTATION]: incarnation } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass === '' ? {} : { storageClassName: storageClass }),
      resources: { requests: { storage: storageSize ?? '' } },
      volumeMode: 'Filesystem',
    },
  }
}
