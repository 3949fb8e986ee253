import { apiKeyEntry, readOnlyApiKeyEntry, VECTOR_PORTS, type VectorNames } from '../../contracts/vector.ts'
import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { Child } from '../workload/child.ts'
import {
  CONFIG_ANNOTATION,
  probes,
  RESTARTED_AT_ANNOTATION,
  restrictedContainer,
  restrictedPod,
  secretVariable,
  statefulSet,
} from '../workload/pod.ts'
import { PRODUCTION_YAML, STORAGE_PATH } from './config.ts'
import type { VectorInput } from './types.ts'

/** The unprivileged image runs as this user; the group owns the volume. */
const IDENTITY = { user: 1000, fsGroup: 3000 }

/** On the pod template: a new key is a rolling restart. */
export const KEY_ANNOTATION = `${PREFIX}api-key-id`

/** All peers start at once: after a stop, peer 0 alone has no majority and would never be ready for peer 1 to follow. */
export function vectorWorkload(input: VectorInput): Child<'StatefulSet'> {
  return statefulSet(input, { replicas: input.peers, annotations: templateAnnotations(input), pod: podSpec(input) })
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
  const spread = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: input.selector },
  })
  return restrictedPod(IDENTITY, {
    terminationGracePeriodSeconds: 60,
    topologySpreadConstraints: [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')],
    containers: [container(input)],
    volumes: [
      { name: 'config', configMap: { name: input.names.config } },
      { name: 'init', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ],
  })
}

const IMAGE = 'docker.io/qdrant/qdrant:v'

/** The image of the version, without root. An image of one's own is taken as it is. */
export function vectorImage(spec: { imageName?: string | undefined; vectorVersion: string }): string {
  return spec.imageName ?? `${IMAGE}${spec.vectorVersion}-unprivileged`
}

/** The version of such an image; undefined for one of one's own, which may be tagged with anything. */
export function versionOfVectorImage(image = ''): string | undefined {
  return image.startsWith(IMAGE) ? image.slice(IMAGE.length).split('-')[0] : undefined
}

function container(input: VectorInput): object {
  return restrictedContainer(input.plan, {
    name: 'qdrant',
    image: vectorImage(input.cluster.spec),
    command: ['/bin/sh', '-c'],
    args: [startScript(input.names)],
    env: environment(input),
    ports: Object.entries(VECTOR_PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    // The port opens only when all collections are loaded.
    ...probes({ httpGet: { path: '/livez', port: 'rest' } }, { httpGet: { path: '/readyz', port: 'rest' } }),
    volumeMounts: [
      { name: STORAGE_VOLUME, mountPath: STORAGE_PATH },
      { name: 'config', mountPath: '/qdrant/config/production.yaml', subPath: 'production.yaml', readOnly: true },
      { name: 'init', mountPath: '/qdrant/init' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  })
}

/** Peer 0 founds the cluster; every other one joins it. The ordinal is the end of the pod's name. */
function startScript(names: Pick<VectorNames, 'workload' | 'peers'>): string {
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
  const secret = (name: string, key: string) => secretVariable(name, input.names.keys, key)
  const { main, alternative } = input.keys
  // Entries are named by version: a pod that restarts for other reasons amid a rotation keeps the keys it had.
  return [
    ...fixed,
    secret('QDRANT__SERVICE__API_KEY', apiKeyEntry(main.version)),
    secret('QDRANT__SERVICE__READ_ONLY_API_KEY', readOnlyApiKeyEntry(main.version)),
    ...(alternative === undefined ? [] : [secret('QDRANT__SERVICE__ALT_API_KEY', apiKeyEntry(alternative.version))]),
  ]
}
