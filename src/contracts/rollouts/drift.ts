import { z } from 'zod'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { describedText, MAX_DRIFT_VALUE_CHARACTERS } from './states.ts'

/** A field of a component's object that somebody else wrote. */
export const DriftItem = z.object({
  component: describedText('Component that the object belongs to'),
  step: describedText('Batch of a rollout before which it was detected; empty in a scan'),
  kind: describedText('Kind of the object'),
  namespace: describedText('Namespace of the object; empty if it has none'),
  name: describedText('Name of the object'),
  /** Names with a dot are in brackets, as are the keys of list items. */
  field: describedText('Path of the field, with dots'),
  manager: describedText('Field manager that wrote it'),
  message: describedText('The same, as a sentence'),
  expected: describedText('Value that the component sets, as JSON; absent if unknown').optional(),
  live: describedText('Current value, as JSON; a digest for a Secret').optional(),
  adoption: z
    .object({
      configKey: describedText('Entry of the Secret install-configuration in which it would be stored'),
      liveValue: describedText('Value that would be adopted; a digest for a Secret'),
      isSecret: z.boolean().describe('Whether the value is hidden in answers'),
    })
    .optional()
    .describe('How it can be adopted into the configuration; absent if it cannot'),
  firstSeenAt: z.iso.datetime({ offset: true }).max(40).optional().describe('When a scan first detected it'),
})
export type DriftItem = z.output<typeof DriftItem>

/** An entry of metadata.managedFields (Kubernetes API, FieldsV1). */
export type ManagedFields = {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly fieldsV1?: object
}

/** Prefixes of the field managers of the platform and its tools. */
const OWN_MANAGERS = [
  'freehold',
  'helm',
  'flux',
  'kustomize-controller',
  'source-controller',
  'notification-controller',
]
/** Kubernetes itself, which writes what no chart renders: revisions of Deployments, node ports, webhook CAs. */
const KUBERNETES_MANAGERS = [
  'kube-',
  'kubelet',
  'k3s',
  'rke2',
  'cloud-controller-manager',
  'cluster-autoscaler',
  'kwok',
]
/** Controllers of fields that charts leave to them: CA bundles, replicas of scaled workloads. */
const FIELD_CONTROLLERS = ['cainjector', 'cert-manager', 'keda', 'horizontal-pod-autoscaler', 'vpa-', 'velero']

export function isOurManager(manager: string): boolean {
  return [...OWN_MANAGERS, ...KUBERNETES_MANAGERS, ...FIELD_CONTROLLERS].some((name) => manager.startsWith(name))
}

/** Fields that no chart renders, whoever writes them. */
const IGNORED_FIELDS = [
  'metadata.annotations.[kubectl.kubernetes.io/last-applied-configuration]',
  'metadata.finalizers',
  'metadata.ownerReferences',
  'status',
]

const isIgnoredField = (field: string) =>
  IGNORED_FIELDS.some((name) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))

/** Returns the fields that managers outside the platform wrote, once each, in the order of paths. */
export function listForeignFields(entries: readonly ManagedFields[] | undefined): { field: string; manager: string }[] {
  const found = new Map<string, string>()
  for (const { manager = '', subresource = '', fieldsV1 = {} } of entries ?? []) {
    if (isOurManager(manager) || subresource === 'status') continue
    for (const field of listFieldPaths(fieldsV1))
      if (!isIgnoredField(field) && !found.has(field)) found.set(field, manager)
  }
  return [...found]
    .map(([field, manager]) => ({ field, manager }))
    .sort((one, other) => compareTexts(one.field, other.field))
}

/** Returns the leaf paths of FieldsV1: `f:<name>` are fields; `k:<key>`, `v:<value>` and `i:<index>` are list items. */
export function listFieldPaths(fields: object, path = ''): string[] {
  const parts = Object.entries(fields).filter(([key]) => key !== '.')
  return parts.flatMap(([key, value]) => {
    const fieldPath = joinPath(path, key)
    const below = typeof value === 'object' && value !== null ? listFieldPaths(value, fieldPath) : []
    return below.length > 0 ? below : [fieldPath]
  })
}

function joinPath(path: string, key: string): string {
  const [form, name] = [key.slice(0, 2), key.slice(2)]
  if (form !== 'f:') return `${path}[${name}]`
  const part = /[.[\]]/.test(name) ? `[${name}]` : name
  return path === '' ? part : `${path}.${part}`
}

/** Returns the parts of a path that `joinPath` wrote; undefined for any other text. */
export function parseFieldPath(field: string): string[] | undefined {
  const parts = [...field.matchAll(/\.?\[((?:\{.*?\}|"(?:[^"\\]|\\.)*"|[^\]])*)\]|\.?([^.[\]]+)/g)]
  if (parts.map(([whole]) => whole).join('') !== field) return undefined
  return parts.map(([whole, item, name]) =>
    item === undefined ? (name ?? '') : whole.startsWith('.[') || !/^[{"\d-]/.test(item) ? item : `\0${item}`,
  )
}

/** Returns the value at a path of an object; undefined if there is none. */
export function valueAtFieldPath(object: KubeObject, field: string): unknown {
  let value: unknown = object
  for (const part of parseFieldPath(field) ?? ['\0']) {
    if (typeof value !== 'object' || value === null) return undefined
    value = part.startsWith('\0') ? itemOf(value, part.slice(1)) : (value as Record<string, unknown>)[part]
  }
  return value
}

function itemOf(list: object, key: string): unknown {
  if (!Array.isArray(list)) return undefined
  const wanted = parsed(key)
  if (typeof wanted === 'number' && list.every((item) => typeof item === 'object')) return list[wanted]
  if (typeof wanted !== 'object' || wanted === null) return list.find((item) => item === wanted)
  const pairs = Object.entries(wanted)
  return list.find((item) => pairs.every(([name, value]) => (item as Record<string, unknown> | null)?.[name] === value))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function driftValueDigest(value: string): string {
  return `sha256:${sha256(value)}`
}

/** Returns a value as a record shows it: shortened JSON; for a Secret only its digest. */
export function formatDriftValue(value: unknown, isSecret: boolean): string | undefined {
  if (value === undefined) return undefined
  const text = JSON.stringify(value)
  return isSecret ? driftValueDigest(text) : text.slice(0, MAX_DRIFT_VALUE_CHARACTERS)
}

type Named = Pick<DriftItem, 'component' | 'kind' | 'namespace' | 'name' | 'field'>

export function driftKey({ component, kind, namespace, name, field }: Named): string {
  return [component, kind, namespace, name, field].join(' ')
}

/** Whether two scans saw the same fields, in any order. */
export function isSameDrift(one: readonly Named[], other: readonly Named[]): boolean {
  const [first, second] = [new Set(one.map(driftKey)), new Set(other.map(driftKey))]
  return first.size === second.size && [...first].every((key) => second.has(key))
}

/** Annotation on a component's object: JSON of field path to key of a chart value, so that fields can be adopted. */
export const CONFIG_KEYS_ANNOTATION = 'lifecycle.freehold.dev/config-keys'

/** Returns the keys of chart values by field path; empty if the object does not state them. */
export function configKeysOf({ metadata }: Pick<KubeObject, 'metadata'>): Readonly<Record<string, string>> {
  const keys = parsed(metadata.annotations?.[CONFIG_KEYS_ANNOTATION] ?? '{}')
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys)) return {}
  return Object.fromEntries(Object.entries(keys).filter(([, key]) => typeof key === 'string'))
}
