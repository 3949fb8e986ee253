import {
  apiKeyEntry,
  readOnlyApiKeyEntry,
  VECTOR_PORTS,
  VECTOR_VOLUME,
  vectorNames,
  vectorSelector,
} from '../../contracts/vector.ts'
import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import { storageSizeAnnotation, volumeClaimTemplate } from '../volumeClaims.ts'
import { PRODUCTION_YAML, STORAGE_PATH } from './config.ts'
import { labelsOf, metadataOf } from './metadata.ts'
import type { Child, VectorInput } from './types.ts'

/** The unprivileged image runs as this user; the group owns the volume. */
const USER = 1000
const GROUP = 3000

/** On the pod template: a change of any of them is a rolling restart. */
export const RESTARTED_AT_ANNOTATION = `${PREFIX}restarted-at`
export const KEY_ANNOTATION = `${PREFIX}api-key-id`
export const CONFIG_ANNOTATION = `${PREFIX}config`

export function statefulSet(input: VectorInput): Child<'StatefulSet', { spec: Record<string, unknown> }> {
  const { name } = input.cluster.metadata
  const names = vectorNames(name)
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { ...metadataOf(input, names.workload), annotations: storageSizeAnnotation(input.plan) },
    spec: {
      replicas: input.peers,
      serviceName: names.peers,
      selector: { matchLabels: vectorSelector(name) },
      // All at once: after a stop, peer 0 alone has no majority and would never be ready for peer 1 to follow.
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      // Volumes go only by the deletion of the resource, or when their peer was emptied.
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      revisionHistoryLimit: 5,
      template: {
        metadata: { labels: labelsOf(input), annotations: templateAnnotations(input) },
        spec: podSpec(input),
      },
      volumeClaimTemplates: [volumeClaimTemplate({ name: VECTOR_VOLUME, labels: labelsOf(input), ...input })],
    },
  }
}

function templateAnnotations(input: VectorInput): Record<string, string> {
  const annotations: Record<string, string> = { [CONFIG_ANNOTATION]: sha256(PRODUCTION_YAML).slice(0, 16) }
  if (input.cluster.spec.restartedAt !== undefined)
    annotations[RESTARTED_AT_ANNOTATION] = input.cluster.spec.restartedAt
  if (input.keys !== undefined) {
    const { main, alternative } = input.keys
    annotations[KEY_ANNOTATION] = alternative === undefined ? main.id : `${main.id} ${alternative.id}`
  }
  return annotations
}

function podSpec(input: VectorInput): object {
  const selector = { matchLabels: vectorSelector(input.cluster.metadata.name) }
  const spread = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: selector,
  })
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 60,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: GROUP,
      // A large volume is not walked through at every start.
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    topologySpreadConstraints: [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')],
    containers: [container(input)],
    volumes: [
      { name: 'config', configMap: { name: vectorNames(input.cluster.metadata.name).config } },
      { name: 'init', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ],
  }
}

/** The image of the version, without root. An image of one's own is taken as it is. */
export function vectorImage(spec: { imageName?: string | undefined; vectorVersion: string }): string {
  return spec.imageName ?? `docker.io/qdrant/qdrant:v${spec.vectorVersion}-unprivileged`
}

function container(input: VectorInput): object {
  const { plan, cluster } = input
  const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
    httpGet: { path, port: 'rest' },
    periodSeconds,
    failureThreshold,
    timeoutSeconds: 3,
  })
  return {
    name: 'qdrant',
    image: vectorImage(cluster.spec),
    command: ['/bin/sh', '-c'],
    args: [startScript(vectorNames(cluster.metadata.name))],
    env: environment(input),
    ports: Object.entries(VECTOR_PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    // The port opens only when all collections are loaded, which takes an hour where they are large.
    startupProbe: probe('/livez', 5, 720),
    livenessProbe: probe('/livez', 10, 6),
    readinessProbe: probe('/readyz', 5, 3),
    resources: {
      requests: { cpu: plan.cpuRequest, memory: plan.memoryRequest },
      limits: { cpu: plan.cpuLimit, memory: plan.memoryLimit },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: VECTOR_VOLUME, mountPath: STORAGE_PATH },
      { name: 'config', mountPath: '/qdrant/config/production.yaml', subPath: 'production.yaml', readOnly: true },
      { name: 'init', mountPath: '/qdrant/init' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
}

/** Peer 0 founds the cluster; every other one joins it. The ordinal is the end of the pod's name. */
function startScript(names: { workload: string; peers: string }): string {
  const first = `http://${names.workload}-0.${names.peers}:${VECTOR_PORTS.peer}`
  return [
    `URI="http://$POD_NAME.${names.peers}:${VECTOR_PORTS.peer}"`,
    `if [ "\${POD_NAME##*-}" = 0 ]; then exec ./entrypoint.sh --uri "$URI"; fi`,
    `exec ./entrypoint.sh --bootstrap "${first}" --uri "$URI"`,
    '',
  ].join('\n')
}

function environment(input: VectorInput): object[] {
  const fixed = [
    { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
    // The engine marks that it started by a file, which may not lie on the read-only root.
    { name: 'QDRANT_INIT_FILE_PATH', value: '/qdrant/init/.qdrant-initialized' },
  ]
  if (input.keys === undefined) return fixed
  const secretName = vectorNames(input.cluster.metadata.name).keys
  const secret = (name: string, key: string) => ({ name, valueFrom: { secretKeyRef: { name: secretName, key } } })
  const { main, alternative } = input.keys
  // Entries are named by version: a pod that restarts for other reasons amid a rotation keeps the keys it had.
  return [
    ...fixed,
    secret('QDRANT__SERVICE__API_KEY', apiKeyEntry(main.version)),
    secret('QDRANT__SERVICE__READ_ONLY_API_KEY', readOnlyApiKeyEntry(main.version)),
    ...(alternative === undefined ? [] : [secret('QDRANT__SERVICE__ALT_API_KEY', apiKeyEntry(alternative.version))]),
  ]
}
