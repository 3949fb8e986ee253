import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { OWNER_INCARNATION_ANNOTATION, PREFIX } from '../../core/labels.ts'
import { capRequestAtLimit, type DiskShare, EPHEMERAL_STORAGE } from '../../core/sizing/disk.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import { type Child, child, type WorkloadInput } from './child.ts'

/** On the pod template: a new value triggers a rolling restart. */
export const RESTARTED_AT_ANNOTATION = `${PREFIX}restarted-at`
/** On the pod template: a hash of the files that a pod reads at its start. */
export const CONFIG_ANNOTATION = `${PREFIX}config`

/** On a StatefulSet: the size in its claim template as written; the API server may store it in another form. */
export const STORAGE_SIZE_ANNOTATION = `${PREFIX}storage-size`

/** A pod that Pod Security level `restricted` admits, without a service account token or service links. */
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
      // Do not change the ownership of a large volume at every start.
      ...(fsGroup === undefined ? {} : { fsGroup, fsGroupChangePolicy: 'OnRootMismatch' }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...spec,
  }
}

/**
 * @param writesToRoot whether the image writes outside its volumes
 * @param disk local disk share, if it differs from the namespace's default
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

/** Requests and limits of a container. */
export function resourcesOf(
  plan: Pick<EffectivePlan, 'cpuRequest' | 'cpuLimit' | 'memoryRequest' | 'memoryLimit'>,
  disk?: DiskShare,
) {
  const { limit, request } = disk === undefined ? {} : capRequestAtLimit(disk)
  return {
    requests: {
      cpu: plan.cpuRequest,
      memory: plan.memoryRequest,
      ...(request !== undefined && { [EPHEMERAL_STORAGE]: request }),
    },
    limits: {
      cpu: plan.cpuLimit,
      memory: plan.memoryLimit,
      ...(limit !== undefined && { [EPHEMERAL_STORAGE]: limit }),
    },
  }
}

/** Probes of an engine that may take an hour to open its port, because it loads its data first. */
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

/**
 * Escapes text of a command, an argument or a variable, so that the process gets it as it was written: Kubernetes
 * replaces `$(NAME)` by a variable, `$$` by `$`, and breaks a character beyond ASCII after `$`. Other text stays as it
 * is, so that few pods change.
 */
export const literal = (text: string): string =>
  text.replace(/\$+(?=\()|\${2,}|\$(?=[^\0-\x7f])/g, (dollars) => dollars + dollars)

/** An environment variable from an entry of a Secret. */
export function secretVariable(name: string, secretName: string, key: string): object {
  return { name, valueFrom: { secretKeyRef: { name: secretName, key } } }
}

/** Seconds without progress after which a rollout is given up; the previous pods keep serving. */
const PROGRESS_DEADLINE_SECONDS = 600

/** A Deployment that removes no pod before its replacement is ready. */
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
    /** Pod labels in addition to those of the workload. */
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
        progressDeadlineSeconds: PROGRESS_DEADLINE_SECONDS,
        // Revisions to roll back to are kept as ControllerRevisions.
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
        // Parallel: a pod that cannot start must not block other pods, or a template that fixes it.
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        // Volumes are deleted only with the resource, or after their data was moved away.
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        revisionHistoryLimit: 5,
        template: { metadata: { labels, annotations }, spec: pod },
        volumeClaimTemplates: [claimTemplate(input)],
      },
    },
  )
}

/** One volume per pod, mounted by no other pod. */
function claimTemplate({ labels, incarnation, plan: { storageClass, storageSize } }: StatefulInput): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    // The incarnation tells our claims from those of a deleted resource of the same name.
    metadata: { name: STORAGE_VOLUME, labels, annotations: { [OWNER_INCARNATION_ANNOTATION]: incarnation } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass === '' ? {} : { storageClassName: storageClass }),
      resources: { requests: { storage: storageSize ?? '' } },
      volumeMode: 'Filesystem',
    },
  }
}
