import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dump, load, loadAll } from 'js-yaml'
import { z } from 'zod'
import { Configuration, PlatformConfiguration, variableName } from '../../src/config.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { OLDEST_KUBERNETES_MINOR, VERSION } from '../../src/core/release.ts'
import {
  COMMON_SCHEMA,
  commonValues,
  described,
  environmentSchema,
  NAMESPACE_SCHEMA,
  PARTS_SCHEMA,
  partOf,
  resourcesOf,
  withNamespaceValues,
  withPodSlots,
  withPodValues,
} from './chartPods.ts'

const deploy = join(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(deploy, path), 'utf8')
const CONFIGURATION = 'configuration.yaml'
const CHART = 'deploy/helm/freehold'

/** In manifests: the image of this release. */
const IMAGE = { name: 'freehold', newName: 'ghcr.io/freehold-dev/freehold', newTag: VERSION }
/** Changes with each release, so it must not be in selectors, which are immutable. */
const RELEASE_LABELS = { 'app.kubernetes.io/version': VERSION, 'app.kubernetes.io/instance': 'freehold' }

/** What a release changes, for the kustomizations of the platform and of agents. */
export const RELEASE_COMPONENT = {
  apiVersion: 'kustomize.config.k8s.io/v1alpha1',
  kind: 'Component',
  labels: [{ pairs: RELEASE_LABELS, includeTemplates: true }],
  images: [IMAGE],
}

type Kustomization = {
  resources: string[]
  configMapGenerator: { name: string; namespace: string; options: { labels: Record<string, string> } }[]
}
type Workload = KubeObject & {
  spec: {
    replicas: number
    template: {
      metadata: { labels?: Record<string, string>; annotations?: Record<string, string> }
      spec: { containers: { image: string; env: object[]; resources?: object }[] }
    }
  }
}

/** The installed objects in kubectl's order, as kustomize builds them from the same files. */
export type Installation = { definitions: readonly KubeObject[]; manifests: readonly KubeObject[]; settings: string }

/** @param generated the generated files of deploy, by path: those on disk may be outdated */
export function readInstallation(generated: ReadonlyMap<string, string>): Installation {
  const { resources, configMapGenerator } = load(read('manifests/kustomization.yaml')) as Kustomization
  const textOf = (path: string) => generated.get(`deploy/${path}`) ?? read(path)
  const files = resources.map((name) => textOf(`manifests/${name}`))
  const settings = read(`manifests/${CONFIGURATION}`)
  const [generator] = configMapGenerator
  if (generator === undefined) throw new Error('deploy/manifests/kustomization.yaml has no configMapGenerator.')
  const { name, namespace, options } = generator
  const { labels } = options
  const configuration = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels } }
  const manifests = files.flatMap((text) => loadAll(text) as KubeObject[])
  return {
    definitions: [...generated].flatMap(([path, text]) =>
      path.startsWith('deploy/crds/') && !path.endsWith('kustomization.yaml')
        ? [load(skipNote(text)) as KubeObject]
        : [],
    ),
    manifests: [
      ...manifests.map(withImage),
      { ...configuration, data: { [CONFIGURATION]: settings } } as KubeObject,
    ].map((object) => withLabels(object, RELEASE_LABELS)),
    settings,
  }
}

const skipNote = (text: string) => text.slice(text.indexOf('\n') + 1)

const isWorkload = (object: KubeObject): object is Workload => object.kind === 'Deployment'

function withImage(object: KubeObject): KubeObject {
  if (!isWorkload(object)) return object
  const changed = structuredClone(object)
  for (const container of changed.spec.template.spec.containers) {
    if (container.image === IMAGE.name) container.image = `${IMAGE.newName}:${IMAGE.newTag}`
  }
  return changed
}

/** Like `labels` of kustomize with `includeTemplates`, which leaves selectors unchanged. */
function withLabels(object: KubeObject, pairs: Readonly<Record<string, string>>): KubeObject {
  const changed = structuredClone(object)
  changed.metadata.labels = { ...changed.metadata.labels, ...pairs }
  if (isWorkload(changed)) {
    const { metadata } = changed.spec.template
    metadata.labels = { ...metadata.labels, ...pairs }
  }
  return changed
}

/** Monitoring of the platform for the Prometheus operator; optional in every way of installation. */
export function monitoringObjects(): KubeObject[] {
  const { resources } = load(read('monitoring/kustomization.yaml')) as Pick<Kustomization, 'resources'>
  return resources.flatMap((name) => loadAll(read(`monitoring/${name}`)) as KubeObject[])
}

const yaml = (objects: readonly object[]) =>
  objects.map((object) => dump(object, { lineWidth: 120, noRefs: true })).join('---\n')

/** Everything in one file, for `kubectl apply --server-side -f`. */
export function installFile({ definitions, manifests }: Installation): string {
  return yaml([...definitions, ...manifests])
}

/** Text that a template puts in place of a value. No installed object contains such words. */
const slot = (name: string) => `SLOT-${name}-END`
const SLOTS: Readonly<Record<string, string>> = {
  image: '{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}',
  instance: '{{ .Release.Name | quote }}',
  facadeReplicas: '{{ .Values.facade.replicas }}',
  controllersReplicas: '{{ .Values.controllers.replicas }}',
  activatorReplicas: '{{ .Values.activator.replicas }}',
  checksum: '{{ .Values.configuration | toYaml | sha256sum }}',
}
const ENVIRONMENT = '          {{- with .Values.env }}\n          {{- toYaml . | nindent 12 }}\n          {{- end }}\n'

/** The files of the Helm chart, by path. */
export function chartFiles(installation: Installation, monitoring: readonly KubeObject[]): Map<string, string> {
  // Helm stores its release in the platform's namespace, which must already exist; it creates others itself.
  const isNamespace = ({ kind, metadata }: KubeObject) => kind === 'Namespace' && metadata.name === SYSTEM_NAMESPACE
  const isConfiguration = ({ kind }: KubeObject) => kind === 'ConfigMap'
  const manifests = installation.manifests.map(ofRelease)
  const plain = manifests.filter((object) => !isNamespace(object) && !isConfiguration(object))
  const files: [string, string][] = [
    ['Chart.yaml', dump(CHART_FILE)],
    ['values.yaml', values(installation.settings, plain.filter(isWorkload))],
    ['values.schema.json', `${JSON.stringify(VALUES_SCHEMA, null, 2)}\n`],
    ['templates/definitions.yaml', installation.definitions.map(definitionTemplate).join('---\n')],
    ['templates/platform.yaml', plain.map(template).join('---\n')],
    ['templates/configuration.yaml', manifests.filter(isConfiguration).map(configurationTemplate).join('')],
    ['templates/namespace.yaml', REFUSAL + when('createNamespace', yaml(manifests.filter(isNamespace)))],
    ['templates/NOTES.txt', NOTES],
    ['templates/monitoring.yaml', when('monitoring.enabled', yaml(monitoring))],
  ]
  return new Map(files.map(([name, text]) => [`${CHART}/${name}`, filled(text)]))
}

const INSTANCE = 'app.kubernetes.io/instance'
const ofRelease = (object: KubeObject) => withLabels(object, { [INSTANCE]: slot('instance') })
const filled = (text: string) =>
  Object.entries(SLOTS).reduce((done, [name, value]) => done.replaceAll(slot(name), value), text)

/** Policies, roles and the code know the platform by the name of its namespace, so a release elsewhere is a mistake. */
const REFUSAL = `{{- if and (ne .Release.Namespace "${SYSTEM_NAMESPACE}") (not .Values.createNamespace) }}
{{- fail (printf "Freehold runs in the namespace ${SYSTEM_NAMESPACE} only, not in %s: use -n ${SYSTEM_NAMESPACE}. With createNamespace=true the record of the release alone may be elsewhere." .Release.Namespace) }}
{{- end }}
`

/** Helm's closing notes: the remaining steps of the installation page. */
const NOTES = `Freehold {{ .Chart.AppVersion }} runs in ${SYSTEM_NAMESPACE} as soon as its pods are ready:

  kubectl -n ${SYSTEM_NAMESPACE} wait deployment --all --for=condition=Available --timeout=5m

Still to do:

1. Put TLS and {{ .Values.configuration.publicUrl }} before the Service freehold-facade.
2. Make somebody Owner of the platform: "The first Owner" in docs/install.md.

{{ .Values.configuration.publicUrl }} shows the documentation and what can be called.
`

/** Escapes text in manifests that looks like a template. */
const literal = (text: string) => text.replaceAll('{{', '{{ "{{" }}')

const when = (value: string, text: string) => `{{- if .Values.${value} }}\n${literal(text)}{{- end }}\n`

/**
 * Helm keeps objects with this annotation when it uninstalls. Without it, deleting a CRD would delete every record of
 * its kind.
 */
const KEEP = `{{- if .Values.keepDefinitions }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
`

function definitionTemplate(definition: KubeObject): string {
  return literal(yaml([definition])).replace(/^metadata:\n/m, (line) => `${line}  ${KEEP}`)
}

function template(object: KubeObject): string {
  if (object.kind === 'Namespace') return withNamespaceValues('.Values.buildNamespace', literal(yaml([object])))
  if (!isWorkload(object)) return literal(yaml([object]))
  const changed = withPodSlots(object) as Omit<Workload, 'spec'> & {
    spec: Omit<Workload['spec'], 'replicas'> & { replicas: unknown }
  }
  const part = partOf(object)
  changed.spec.replicas = slot(`${part}Replicas`)
  changed.spec.template.metadata = {
    ...changed.spec.template.metadata,
    annotations: { 'freehold.dev/configuration': slot('checksum'), ...changed.spec.template.metadata.annotations },
  }
  for (const container of changed.spec.template.spec.containers) container.image = slot('image')
  const text = literal(yaml([changed])).replace(/^ {10}ports:\n/m, `${ENVIRONMENT}          ports:\n`)
  return withPodValues(part, text)
}

function configurationTemplate({ data: _data, ...object }: KubeObject): string {
  return `${yaml([object])}data:\n  ${CONFIGURATION}: |\n    {{- .Values.configuration | toYaml | nindent 4 }}\n`
}

const CHART_FILE = {
  apiVersion: 'v2',
  name: 'freehold',
  description: 'A multi-tenant cloud platform: every resource a custom resource',
  type: 'application',
  version: VERSION,
  appVersion: VERSION,
  kubeVersion: `>=1.${OLDEST_KUBERNETES_MINOR}.0-0`,
}

/** Why a part has its number of replicas. */
const REPLICAS: Readonly<Record<string, string>> = {
  controllers: '  # The holder of the lease works, the other takes over.\n',
  activator: '  # The holder of the lease counts calls and holds them, the other forwards to it and takes over.\n',
}

function partValues(part: Workload): string {
  const partYaml = dump({ replicas: part.spec.replicas, resources: resourcesOf(part) }).replace(/^(?=.)/gm, '  ')
  return `${partOf(part)}:\n${REPLICAS[partOf(part)] ?? ''}${partYaml}`
}

function values(settings: string, parts: readonly Workload[]): string {
  const indented = settings.replace(/^(?=.)/gm, '  ')
  return `# Values of the chart. docs/install.md says how to install it.
image:
  repository: ${IMAGE.newName}
  # The version of the chart if empty.
  tag: ""
# Of the pods of all parts. A part may have each under its own name (facade.tolerations), which counts instead of this one;
# annotations, labels, volumes and mounts are added to these. A part also takes topologySpreadConstraints; as installed, it
# spreads over nodes and zones. Volumes are for files that settings name, such as keycloakClientSecretFile.
${commonValues()}${parts.map(partValues).join('')}# Whether the chart makes the namespace ${SYSTEM_NAMESPACE}. Helm needs it before, unless the record of the release is elsewhere,
# which is refused without this.
createNamespace: false
# Further metadata of the namespace freehold-builds. That of tenants' namespaces is in the settings namespaceLabels and
# namespaceAnnotations.
buildNamespace:
  labels: {}
  annotations: {}
# Whether the definitions, and with them every record, stay when the release is uninstalled.
keepDefinitions: true
# Further environment of all parts, in the form of a container: secrets, such as PLATFORM_SMTP_URL.
env: []
# PodMonitor, alerts and a dashboard; they need the kinds of the Prometheus operator.
monitoring:
  enabled: false
configuration:
${indented}`
}

/**
 * Helm removes a value that is set to null, as an empty key of a values file does. Without these, templates would fail
 * with a nil pointer, which names neither the value nor the mistake.
 */
const REQUIRED_VALUES = ['image', ...Object.keys(PARTS_SCHEMA), 'buildNamespace', 'monitoring', 'configuration']

const VALUES_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  additionalProperties: false,
  required: REQUIRED_VALUES,
  properties: {
    global: described('Values of a parent chart, which this one does not read', { type: 'object' }),
    image: {
      description: 'Image of all parts',
      type: 'object',
      additionalProperties: false,
      required: ['repository'],
      properties: {
        repository: described('Registry and name, without a tag', { type: 'string', minLength: 1 }),
        tag: described('Tag; the version of the chart when empty', { type: 'string' }),
      },
    },
    ...COMMON_SCHEMA,
    ...PARTS_SCHEMA,
    createNamespace: described(`Whether the chart makes the namespace ${SYSTEM_NAMESPACE}`, { type: 'boolean' }),
    buildNamespace: NAMESPACE_SCHEMA,
    keepDefinitions: described('Whether the definitions, and every record, outlive the release', { type: 'boolean' }),
    env: described(
      'Further environment of all parts, as of a container',
      environmentSchema(Object.keys(Configuration.shape).map(variableName)),
    ),
    monitoring: {
      description: 'PodMonitor, alerts and a dashboard for the Prometheus operator',
      type: 'object',
      additionalProperties: false,
      properties: { enabled: described('Whether they are installed', { type: 'boolean' }) },
    },
    configuration: described('The settings of the platform, each by its name', settingsSchema()),
  },
}

/** Names, and what a value must be where the declaration can be said in JSON Schema: Helm refuses others. */
function settingsSchema(): object {
  const { $schema: _schema, ...schema } = z.toJSONSchema(PlatformConfiguration, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
  })
  return schema
}
