import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dump, load, loadAll } from 'js-yaml'
import { z } from 'zod'
import { Configuration } from '../../src/config.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { VERSION } from '../../src/core/release.ts'

const deploy = join(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(deploy, path), 'utf8')
const CONFIGURATION = 'configuration.yaml'
const CHART = 'deploy/helm/freehold'

type Kustomization = {
  resources: string[]
  images: { name: string; newName: string; newTag: string }[]
  configMapGenerator: { name: string; namespace: string; options: { labels: Record<string, string> } }[]
}
type Workload = KubeObject & {
  spec: { replicas: number; template: { metadata: object; spec: { containers: { image: string; env: object[] }[] } } }
}

/** What is installed, in the order in which kubectl applies it: what kustomize builds from the same files. */
export type Installation = { definitions: readonly KubeObject[]; manifests: readonly KubeObject[]; settings: string }

/** @param generated the files of deploy that are being generated, by path: on the disk they may be old */
export function readInstallation(generated: ReadonlyMap<string, string>): Installation {
  const { resources, images, configMapGenerator } = load(read('manifests/kustomization.yaml')) as Kustomization
  const textOf = (path: string) => generated.get(`deploy/${path}`) ?? read(path)
  const files = resources.map((name) => textOf(`manifests/${name}`))
  const settings = read(`manifests/${CONFIGURATION}`)
  const [{ name, namespace, options } = required('configMapGenerator')] = configMapGenerator
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
      ...manifests.map((object) => withImage(object, images[0] ?? required('images'))),
      { ...configuration, data: { [CONFIGURATION]: settings } } as KubeObject,
    ],
    settings,
  }
}

const skipNote = (text: string) => text.slice(text.indexOf('\n') + 1)

function required(what: string): never {
  throw new Error(`deploy/manifests/kustomization.yaml has no ${what}.`)
}

const isWorkload = (object: KubeObject): object is Workload => object.kind === 'Deployment'

function withImage(object: KubeObject, { name, newName, newTag }: Kustomization['images'][number]): KubeObject {
  if (!isWorkload(object)) return object
  const changed = structuredClone(object)
  for (const container of changed.spec.template.spec.containers) {
    if (container.image === name) container.image = `${newName}:${newTag}`
  }
  return changed
}

/** What watches the platform, where the Prometheus operator is: optional in every way of installation. */
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

/** Text that a template puts in place of a value. Nothing that we install holds such words. */
const slot = (name: string) => `SLOT-${name}-END`
const SLOTS: Readonly<Record<string, string>> = {
  image: '{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}',
  facadeReplicas: '{{ .Values.facade.replicas }}',
  controllersReplicas: '{{ .Values.controllers.replicas }}',
  activatorReplicas: '{{ .Values.activator.replicas }}',
  checksum: '{{ .Values.configuration | toYaml | sha256sum }}',
}
const ENVIRONMENT = '          {{- with .Values.env }}\n          {{- toYaml . | nindent 12 }}\n          {{- end }}\n'

/** The files of the Helm chart, by path. */
export function chartFiles(installation: Installation, monitoring: readonly KubeObject[]): Map<string, string> {
  // Helm keeps its release in the namespace of the platform, which must be there before; it makes others itself.
  const isNamespace = ({ kind, metadata }: KubeObject) => kind === 'Namespace' && metadata.name === SYSTEM_NAMESPACE
  const isConfiguration = ({ kind }: KubeObject) => kind === 'ConfigMap'
  const plain = installation.manifests.filter((object) => !isNamespace(object) && !isConfiguration(object))
  const files: [string, string][] = [
    ['Chart.yaml', dump(CHART_FILE)],
    ['values.yaml', values(installation.settings)],
    ['values.schema.json', `${JSON.stringify(VALUES_SCHEMA, null, 2)}\n`],
    ['templates/definitions.yaml', installation.definitions.map(definitionTemplate).join('---\n')],
    ['templates/platform.yaml', plain.map(template).join('---\n')],
    [
      'templates/configuration.yaml',
      installation.manifests.filter(isConfiguration).map(configurationTemplate).join(''),
    ],
    ['templates/namespace.yaml', when('createNamespace', yaml(installation.manifests.filter(isNamespace)))],
    ['templates/monitoring.yaml', when('monitoring.enabled', yaml(monitoring))],
  ]
  return new Map(files.map(([name, text]) => [`${CHART}/${name}`, text]))
}

/** What looks like a template in a manifest means itself. */
const literal = (text: string) => text.replaceAll('{{', '{{ "{{" }}')

const when = (value: string, text: string) => `{{- if .Values.${value} }}\n${literal(text)}{{- end }}\n`

/** Helm leaves what has this annotation when it uninstalls. With a definition every record of its kind would go. */
const KEEP = `{{- if .Values.keepDefinitions }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
`

function definitionTemplate(definition: KubeObject): string {
  return literal(yaml([definition])).replace(/^metadata:\n/m, (line) => `${line}  ${KEEP}`)
}

function template(object: KubeObject): string {
  if (!isWorkload(object)) return literal(yaml([object]))
  const changed = structuredClone(object) as Omit<Workload, 'spec'> & {
    spec: Omit<Workload['spec'], 'replicas'> & { replicas: unknown }
  }
  const part = object.metadata.name.replace('freehold-', '')
  changed.spec.replicas = slot(`${part}Replicas`)
  changed.spec.template.metadata = {
    ...changed.spec.template.metadata,
    annotations: { 'freehold.dev/configuration': slot('checksum') },
  }
  for (const container of changed.spec.template.spec.containers) container.image = slot('image')
  const text = literal(yaml([changed])).replace(/^ {10}ports:\n/m, `${ENVIRONMENT}          ports:\n`)
  return Object.entries(SLOTS).reduce((filled, [name, value]) => filled.replaceAll(slot(name), value), text)
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
  kubeVersion: '>=1.34.0-0',
}

function values(settings: string): string {
  const indented = settings.replace(/^(?=.)/gm, '  ')
  return `# Values of the chart. docs/install.md says how to install it.
image:
  repository: ghcr.io/freehold-dev/freehold
  # The version of the chart if empty.
  tag: ""
facade:
  replicas: 2
controllers:
  # The holder of the lease works, the other takes over.
  replicas: 2
activator:
  # One counts calls and holds them; another would wait for its lease.
  replicas: 1
# Whether the chart makes the namespace ${SYSTEM_NAMESPACE}; Helm needs it before, unless the release lives elsewhere.
createNamespace: false
# Whether the definitions, and with them every record, stay when the release is uninstalled.
keepDefinitions: true
# Further environment of both, in the form of a container: secrets, such as PLATFORM_SMTP_URL.
env: []
# PodMonitor, alerts and a dashboard; they need the kinds of the Prometheus operator.
monitoring:
  enabled: false
configuration:
${indented}`
}

const VALUES_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  additionalProperties: false,
  properties: {
    global: { type: 'object' },
    image: {
      type: 'object',
      additionalProperties: false,
      properties: { repository: { type: 'string', minLength: 1 }, tag: { type: 'string' } },
    },
    facade: replicasSchema(),
    controllers: replicasSchema(),
    activator: replicasSchema(),
    createNamespace: { type: 'boolean' },
    keepDefinitions: { type: 'boolean' },
    env: { type: 'array', items: { type: 'object', required: ['name'] } },
    monitoring: { type: 'object', additionalProperties: false, properties: { enabled: { type: 'boolean' } } },
    configuration: settingsSchema(),
  },
}

function replicasSchema() {
  return { type: 'object', additionalProperties: false, properties: { replicas: { type: 'integer', minimum: 1 } } }
}

/** Names, and what a value must be where the declaration can be said in JSON Schema: Helm refuses others. */
function settingsSchema(): object {
  const { $schema: _schema, ...schema } = z.toJSONSchema(Configuration, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
  })
  return schema
}
