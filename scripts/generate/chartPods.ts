import type { KubeObject } from '../../src/core/object.ts'

/** How the chart lets an administrator place and label the pods of each part. */

type Container = { resources?: object; volumeMounts?: unknown[] }
type Pod = { containers: Container[]; volumes?: unknown[]; topologySpreadConstraints?: object[] }
export type Part = KubeObject & { spec: { template: { spec: Pod } } }

/** Values for all parts, with their defaults; a part may override them. */
const PLACEMENT = {
  imagePullSecrets: [],
  nodeSelector: {},
  tolerations: [],
  affinity: {},
  priorityClassName: '',
} as const
const POD_METADATA = { podAnnotations: {}, podLabels: {} } as const
/** Files that settings name: those of a part are added to those of all and to the built-in ones. */
const FILES = { volumes: [], volumeMounts: [] } as const

/** Kubernetes drops misspelt fields without a word, so the chart refuses them. */
const exactly = (properties: object, ...required: string[]) => ({
  type: 'object',
  additionalProperties: false,
  ...(required.length > 0 && { required }),
  properties,
})
const listOf = (items: object) => ({ type: 'array', items })
/** Shown by editors and by catalogues of charts. */
export const described = (description: string, schema: object) => ({ description, ...schema })
const text = { type: 'string' } as const
const name = { type: 'string', minLength: 1 } as const
const object = { type: 'object' } as const
const quantities = { type: 'object', additionalProperties: { type: ['string', 'number'] } } as const
const stringMapSchema = { type: 'object', additionalProperties: { type: 'string' } } as const
const metadataSchema = (own: string) => ({ ...stringMapSchema, patternProperties: { [own]: false } })
/** Our labels win, because selectors, policies and rollouts depend on them. */
const podMetadataSchema = metadataSchema('^(app\\.kubernetes\\.io|freehold\\.dev)/')
const namespaceMetadataSchema = metadataSchema(
  '^(app\\.kubernetes\\.io/|freehold\\.dev/|pod-security\\.kubernetes\\.io/enforce$)',
)
/** Of the namespace of builds, which only the chart creates. */
export const NAMESPACE_SCHEMA = described(
  'Further metadata of the namespace freehold-builds',
  exactly({
    labels: described('Labels beside those of the platform', namespaceMetadataSchema),
    annotations: described('Annotations beside those of the platform', namespaceMetadataSchema),
  }),
)

/** The manifest of a namespace, with labels and annotations from these values. */
export function withNamespaceValues(values: string, text: string): string {
  const more = (key: string) => block(`with ${values}.${key}`, '{{- toYaml . | nindent 4 }}', '    ')
  const annotations = block(`with ${values}.annotations`, `annotations: {{- toYaml . | nindent 4 }}`, '  ')
  return text.replace(/^ {2}labels:\n/m, (line) => `${annotations}${line}${more('labels')}`)
}

export const COMMON_SCHEMA = {
  imagePullSecrets: described('Secrets to pull the image with', listOf(exactly({ name }, 'name'))),
  nodeSelector: described('Labels of the nodes that pods run on', stringMapSchema),
  tolerations: described(
    'Taints that pods tolerate',
    listOf(exactly({ key: text, operator: text, value: text, effect: text, tolerationSeconds: { type: 'integer' } })),
  ),
  affinity: described(
    'Affinity of pods',
    exactly({ nodeAffinity: object, podAffinity: object, podAntiAffinity: object }),
  ),
  priorityClassName: described('Priority class of pods; that of the cluster when empty', text),
  podAnnotations: described('Further annotations of pods', podMetadataSchema),
  podLabels: described('Further labels of pods', podMetadataSchema),
  volumes: described(
    'Further volumes of pods, for files that settings name',
    listOf({ ...object, required: ['name'] }),
  ),
  volumeMounts: described(
    'Where containers mount these volumes',
    listOf(
      exactly(
        {
          ...{ name, mountPath: name, subPath: text, subPathExpr: text, mountPropagation: text },
          ...{ readOnly: { type: 'boolean' }, recursiveReadOnly: text },
        },
        ...['name', 'mountPath'],
      ),
    ),
  ),
}

const PART_SCHEMA = exactly(
  {
    replicas: described('Number of pods', { type: 'integer', minimum: 1 }),
    resources: described(
      'Requests and limits of the container',
      exactly({ limits: quantities, requests: quantities, claims: listOf(object) }),
    ),
    topologySpreadConstraints: described(
      'How pods spread; over nodes and zones when absent',
      listOf(
        exactly(
          {
            ...{ maxSkew: { type: 'integer' }, minDomains: { type: 'integer' }, topologyKey: name },
            ...{ whenUnsatisfiable: text, nodeAffinityPolicy: text, nodeTaintsPolicy: text },
            ...{ labelSelector: object, matchLabelKeys: listOf(text) },
          },
          ...['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
        ),
      ),
    ),
    ...COMMON_SCHEMA,
  },
  'replicas',
)
export const PARTS_SCHEMA = {
  facade: described('The pods that serve REST and the webhooks', PART_SCHEMA),
  controllers: described('The pods of the controllers', PART_SCHEMA),
  activator: described('The pods that take calls of functions', PART_SCHEMA),
}

/** @param variables the names of all settings as variables: a process refuses to start with another one */
export const environmentSchema = (variables: readonly string[]) =>
  listOf(
    exactly(
      {
        name: { anyOf: [{ enum: variables }, { ...name, not: { pattern: '^PLATFORM_' } }] },
        value: text,
        valueFrom: object,
      },
      'name',
    ),
  )

/** The values for all parts. */
export const commonValues = () =>
  Object.entries({ ...PLACEMENT, ...POD_METADATA, ...FILES })
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')

export const partOf = ({ metadata }: KubeObject) => metadata.name.replace('freehold-', '')

export const resourcesOf = (part: Part): object => part.spec.template.spec.containers[0]?.resources ?? {}

/** Lines of a pod template that replace its properties of these names. */
const LINES = {
  placement: 'SLOT-placement',
  spread: 'SLOT-spread',
  annotations: 'SLOT-annotations',
  labels: 'SLOT-labels',
}
const RESOURCES = 'SLOT-resources'
const ITEMS = { volumes: 'SLOT-volumes', volumeMounts: 'SLOT-mounts' } as const

/** The part with placeholders that `withPodValues` replaces with the values. */
export function withPodSlots<T extends Part>(part: T): T {
  const changed = structuredClone(part) as T & { spec: { template: { metadata: { labels: object } } } }
  const { template } = changed.spec
  const { topologySpreadConstraints, ...pod } = template.spec
  for (const container of pod.containers) {
    const volumeMounts = [...(container.volumeMounts ?? []), ITEMS.volumeMounts]
    Object.assign(container, { resources: RESOURCES, volumeMounts })
  }
  const volumes = [...(pod.volumes ?? []), ITEMS.volumes]
  Object.assign(template, {
    metadata: {
      ...template.metadata,
      labels: { ...template.metadata.labels, [LINES.labels]: 0 },
      annotations: { [LINES.annotations]: 0 },
    },
    spec: { [LINES.placement]: 0, [LINES.spread]: 0, topologySpreadConstraints, ...pod, volumes },
  })
  return changed
}

/** @param text the manifest of a part with placeholders */
export function withPodValues(name: string, text: string): string {
  const values = `.Values.${name}`
  const own = (key: string) => `hasKey ${values} "${key}" | ternary ${values}.${key} .Values.${key}`
  const placement = Object.keys(PLACEMENT).map((key) => block(`with ${own(key)}`, `${key}: ${nested('.', key)}`))
  const marked = (key: string) =>
    block(
      `with merge dict (${values}.${key} | default dict) (.Values.${key} | default dict)`,
      '{{- toYaml . | nindent 8 }}',
    )
  const more = (key: keyof typeof ITEMS, indent: number) =>
    block(
      `with concat (${values}.${key} | default list) (.Values.${key} | default list)`,
      `{{- toYaml . | nindent ${indent} }}`,
      ' '.repeat(indent - 2),
    )
  const spread = /^ {6}SLOT-spread: 0\n( {6}topologySpreadConstraints:\n(?: {8}.*\n)+)/m
  return text
    .replace(`      ${LINES.placement}: 0\n`, () => placement.join(''))
    .replace(`            - ${ITEMS.volumeMounts}\n`, () => more('volumeMounts', 12))
    .replace(`        - ${ITEMS.volumes}\n`, () => more('volumes', 8))
    .replace(`        ${LINES.annotations}: 0\n`, () => marked('podAnnotations'))
    .replace(`        ${LINES.labels}: 0\n`, () => marked('podLabels'))
    .replace(spread, (_all, lines: string) => {
      const key = 'topologySpreadConstraints'
      return `      {{- if hasKey ${values} "${key}" }}\n      ${key}: {{- toYaml ${values}.${key} | nindent 8 }}\n      {{- else }}\n${lines}      {{- end }}\n`
    })
    .replaceAll(`resources: ${RESOURCES}`, () => `resources: {{- toYaml ${values}.resources | nindent 12 }}`)
}

const nested = (value: string, key: string) =>
  key === 'priorityClassName' ? `{{ ${value} | quote }}` : `{{- toYaml ${value} | nindent 8 }}`

function block(condition: string, line: string, indent = '      '): string {
  return [`{{- ${condition} }}`, line, '{{- end }}'].map((each) => `${indent}${each}\n`).join('')
}
