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
  if (input.keys !== undefined) annotations[KEY_ANNOTATION] = keyIds(input.keys)
  return annotations
}

const keyIds = ({ main, alternative }: PodKeys) =>
  alternative === undefined ? main.id : `${main.id} ${alternative.id}`

type Standing = KubeObject & {
  spec: {
    template?: {
      metadata?: { annotations?: Record<string, string> }
      spec?: { containers?: readonly { image?: string; env?: readonly { name: string }[] }[] }
    }
  }
}

/** The version that a standing workload starts peers with; undefined for an image of one's own. */
export const standingVersion = ({ spec }: Standing): string | undefined =>
  versionOfVectorImage(spec.template?.spec?.containers?.[0]?.image)

/** A workload that stands, as it is but for the keys that its peers are given; the same object where it gives them already. */
export function withKeys<T extends Standing>(standing: T, names: Pick<VectorNames, 'keys'>, keys: PodKeys): T {
  const { template } = standing.spec
  const [container, ...others] = template?.spec?.containers ?? []
  if (container === undefined || template?.metadata?.annotations?.[KEY_ANNOTATION] === keyIds(keys)) return standing
  const { name, namespace = '', labels, annotations } = standing.metadata
  const env = [
    ...(container.env ?? []).filter((one) => !KEY_VARIABLES.includes(one.name)),
    ...keyVariables(names, keys),
  ]
  const { status: _status, ...rest } = standing
  return {
    ...rest,
    metadata: { name, namespace, labels, annotations },
    spec: {
      ...standing.spec,
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
  return input.keys === undefined ? fixed : [...fixed, ...keyVariables(input.names, input.keys)]
}

const [API_KEY, READ_ONLY_API_KEY, ALT_API_KEY] = [
  'QDRANT__SERVICE__API_KEY',
  'QDRANT__SERVICE__READ_ONLY_API_KEY',
  'QDRANT__SERVICE__ALT_API_KEY',
] as const
const KEY_VARIABLES: readonly string[] = [API_KEY, READ_ONLY_API_KEY, ALT_API_KEY]

/** Entries are named by version: a pod that restarts for other reasons amid a rotation keeps the keys it had. */
function keyVariables(names: Pick<VectorNames, 'keys'>, { main, alternative }: PodKeys) {
  const variable = (name: string, key: string) => secretVariable(name, names.keys, key)
  return [
    variable(API_KEY, apiKeyEntry(main.version)),
    variable(READ_ONLY_API_KEY, readOnlyApiKeyEntry(main.version)),
    ...(alternative === undefined ? [] : [variable(ALT_API_KEY, apiKeyEntry(alternative.version))]),
  ]
}
