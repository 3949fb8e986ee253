import { apiKeyEntry, readOnlyApiKeyEntry, VECTOR_PORTS, type VectorNames } from '../../contracts/vector.ts'
import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
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
import type { PodKeys, VectorInput } from './types.ts'

/** User of the unprivileged image, and the group that owns the volume. */
const POD_IDS = { user: 1000, fsGroup: 3000 }

/** On the pod template: a new key triggers a rolling restart. */
export const KEY_ANNOTATION = `${PREFIX}api-key-id`

/** The StatefulSet. All peers start in parallel: after a stop, peer 0 alone has no quorum and would block peer 1. */
export function vectorWorkload(input: VectorInput): Child<'StatefulSet'> {
  return statefulSet(input, { replicas: input.peers, annotations: templateAnnotations(input), pod: podSpec(input) })
}

function templateAnnotations(input: VectorInput): Record<string, string> {
  const annotations: Record<string, string> = { [CONFIG_ANNOTATION]: sha256(PRODUCTION_YAML).slice(0, 16) }
  if (input.cluster.spec.restartedAt !== undefined)
    annotations[RESTARTED_AT_ANNOTATION] = input.cluster.spec.restartedAt
  if (input.keys !== undefined) annotations[KEY_ANNOTATION] = keyIds(input.keys)
  return annotations
}

const keyIds = ({ main, alternative }: PodKeys) =>
  alternative === undefined ? main.id : `${main.id} ${alternative.id}`

type StoredStatefulSet = KubeObject & {
  spec: {
    template?: {
      metadata?: { annotations?: Record<string, string> }
      spec?: { containers?: readonly { image?: string; env?: readonly { name: string }[] }[] }
    }
  }
}

/** Returns the version that an existing workload runs; undefined for a custom image. */
export const existingVersion = ({ spec }: StoredStatefulSet): string | undefined =>
  versionOfVectorImage(spec.template?.spec?.containers?.[0]?.image)

/** Returns an existing workload with only its keys replaced; the same object if it already has them. */
export function withKeys<T extends StoredStatefulSet>(existing: T, names: Pick<VectorNames, 'keys'>, keys: PodKeys): T {
  const { template } = existing.spec
  const [container, ...others] = template?.spec?.containers ?? []
  if (container === undefined || template?.metadata?.annotations?.[KEY_ANNOTATION] === keyIds(keys)) return existing
  const { name, namespace = '', labels, annotations } = existing.metadata
  const env = [
    ...(container.env ?? []).filter((one) => !KEY_VARIABLES.includes(one.name)),
    ...keyVariables(names, keys),
  ]
  const { status: _status, ...rest } = existing
  return {
    ...rest,
    metadata: { name, namespace, labels, annotations },
    spec: {
      ...existing.spec,
      template: {
        ...template,
        metadata: {
          ...template?.metadata,
          annotations: { ...template?.metadata?.annotations, [KEY_ANNOTATION]: keyIds(keys) },
        },
        spec: { ...template?.spec, containers: [{ ...container, env }, ...others] },
      },
    },
  } as unknown as T
}

function podSpec(input: VectorInput): object {
  const spread = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: input.selector },
  })
  return restrictedPod(POD_IDS, {
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

/** Returns the rootless image of the version, or a custom image unchanged. */
export function vectorImage(spec: { imageName?: string | undefined; vectorVersion: string }): string {
  return spec.imageName ?? `${IMAGE}${spec.vectorVersion}-unprivileged`
}

/** Returns the version of such an image; undefined for a custom image, whose tag may be anything. */
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
    // The port opens only after all collections are loaded.
    ...probes({ httpGet: { path: '/livez', port: 'rest' } }, { httpGet: { path: '/readyz', port: 'rest' } }),
    volumeMounts: [
      { name: STORAGE_VOLUME, mountPath: STORAGE_PATH },
      { name: 'config', mountPath: '/qdrant/config/production.yaml', subPath: 'production.yaml', readOnly: true },
      { name: 'init', mountPath: '/qdrant/init' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  })
}

/** Peer 0 founds the cluster, all others join it. The pod's name ends with its ordinal. */
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
  const base = [
    { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
    // The engine writes a marker file at start, which must not be on the read-only root filesystem.
    { name: 'QDRANT_INIT_FILE_PATH', value: '/qdrant/init/.qdrant-initialized' },
  ]
  return input.keys === undefined ? base : [...base, ...keyVariables(input.names, input.keys)]
}

const [API_KEY, READ_ONLY_API_KEY, ALT_API_KEY] = [
  'QDRANT__SERVICE__API_KEY',
  'QDRANT__SERVICE__READ_ONLY_API_KEY',
  'QDRANT__SERVICE__ALT_API_KEY',
] as const
const KEY_VARIABLES: readonly string[] = [API_KEY, READ_ONLY_API_KEY, ALT_API_KEY]

/** Entries are named by version, so that a pod that restarts during a rotation keeps its keys. */
function keyVariables(names: Pick<VectorNames, 'keys'>, { main, alternative }: PodKeys) {
  const variable = (name: string, key: string) => secretVariable(name, names.keys, key)
  return [
    variable(API_KEY, apiKeyEntry(main.version)),
    variable(READ_ONLY_API_KEY, readOnlyApiKeyEntry(main.version)),
    ...(alternative === undefined ? [] : [variable(ALT_API_KEY, apiKeyEntry(alternative.version))]),
  ]
}
