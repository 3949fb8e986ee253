import { setTimeout as delay } from 'node:timers/promises'
import { RESOURCE_KINDS } from '../client/index.ts'
import { CommandFailure, EXIT } from './failure.ts'
import type { KubernetesAnswer, SendToKubernetes } from './kubernetes.ts'
import {
  explainUnknownKind,
  hasUnknownFields,
  refusalOf,
  type ServedKind,
  titleOf,
  violatesRule,
  violatesSchema,
  waitsForNamespace,
} from './kubernetesRefusal.ts'
import { type Schemas, schemaOfKind, unknownFields } from './kubernetesSchema.ts'
import type { Manifest } from './manifests.ts'

/** Field manager for server-side apply. */
const FIELD_MANAGER = 'freehold'
const SETTLE_TIMEOUT_MS = 60_000
const RETRY_INTERVAL_MS = 500

/**
 * Applies a manifest like `kubectl apply --server-side`, for what REST cannot write. Waits for the namespace of a
 * boundary or group that was just created.
 *
 * @returns the outcome for the user
 * @throws CommandFailure with what was refused, and where
 */
export async function applyToKubernetes(
  manifest: Manifest,
  send: SendToKubernetes,
  signal: AbortSignal,
): Promise<string> {
  const path = await pathOfObject(manifest, send)
  const before = await send(path)
  const until = performance.now() + SETTLE_TIMEOUT_MS
  for (;;) {
    const answer = await patch(manifest, path, send)
    if (answer.status < 400) return outcome(before, answer)
    if (!waitsForNamespace(answer) || performance.now() > until) throw await refused(manifest, answer, send)
    await delay(RETRY_INTERVAL_MS, undefined, { signal })
  }
}

/**
 * Compares an object with the result of a dry-run apply.
 *
 * @returns no `before` if the object does not exist
 * @throws CommandFailure with what was refused, and where
 */
export async function dryRunAtKubernetes(manifest: Manifest, send: SendToKubernetes) {
  const path = await pathOfObject(manifest, send)
  const before = await send(path)
  if (before.status >= 400 && before.status !== 404) throw await refused(manifest, before, send)
  const after = await patch(manifest, path, send, '&dryRun=All')
  // The same files may create its namespace, so a missing one is no error.
  const isOfLater = before.status === 404 && (after.status === 404 || waitsForNamespace(after))
  if (after.status >= 400 && !isOfLater) throw await refused(manifest, after, send)
  return { before: before.status === 404 ? undefined : before.body, after: after.body }
}

export type DryRunRefusal =
  | {
      readonly refusal: CommandFailure
      /** Whether the refusal only depends on the manifest, so that it can never be accepted. */
      readonly isFinal: boolean
      /** Whether its namespace does not exist yet: the same files may create it. */
      readonly isNamespaceMissing: boolean
    }
  | undefined

/**
 * Asks the API server about a manifest that REST will write, because it checks more and knows more fields than REST.
 * Field conflicts are ignored, since REST does not have them.
 *
 * @returns the refusal, and what it depends on
 */
export async function findDryRunRefusal(manifest: Manifest, send: SendToKubernetes): Promise<DryRunRefusal> {
  const path = await pathOfObject(manifest, send)
  const answer = await patch(manifest, path, send, '&dryRun=All&force=true')
  if (answer.status < 400) return undefined
  const isFinal = violatesSchema(answer) || violatesRule(answer)
  if (isFinal && !violatesSchema(answer) && (await isReplaceable(manifest, path, send))) return undefined
  return { refusal: await refused(manifest, answer, send), isFinal, isNamespaceMissing: waitsForNamespace(answer) }
}

/**
 * Whether a replacement with the wanted spec would be accepted. Server-side apply keeps old fields, which may break a
 * rule together with new ones; a replacement keeps none. REST is in between, so it refuses what both refuse.
 */
async function isReplaceable({ spec }: Manifest, path: string, send: SendToKubernetes): Promise<boolean> {
  const before = await send(path)
  if (before.status >= 400) return false
  const { managedFields: _, ...metadata } = (before.body.metadata ?? {}) as Record<string, unknown>
  const body = JSON.stringify({ ...before.body, metadata, spec })
  const query = `fieldManager=${FIELD_MANAGER}&dryRun=All`
  const answer = await send(`${path}?${query}`, { method: 'PUT', body, contentType: 'application/json' })
  return !violatesRule(answer)
}

function patch(manifest: Manifest, path: string, send: SendToKubernetes, queryEnd = ''): Promise<KubernetesAnswer> {
  const query = `fieldManager=${FIELD_MANAGER}&fieldValidation=Strict${queryEnd}`
  return send(`${path}?${query}`, { method: 'PATCH', body: JSON.stringify(manifest.document) })
}

function outcome(before: KubernetesAnswer, after: KubernetesAnswer): string {
  if (before.status === 404) return 'created'
  const versionOf = ({ body }: KubernetesAnswer) => (body.metadata as { resourceVersion?: string })?.resourceVersion
  return versionOf(before) === versionOf(after) ? 'unchanged' : 'configured'
}

/** Lists all unknown fields with suggestions: the API server names at most one, without a suggestion. */
async function refused(manifest: Manifest, answer: KubernetesAnswer, send: SendToKubernetes): Promise<CommandFailure> {
  if (!hasUnknownFields(answer)) return refusalOf(manifest, answer)
  const { apiVersion, kind, document } = manifest
  const { status, body } = await send(`/openapi/v3${baseOf(apiVersion)}`)
  const schemas = status >= 400 ? {} : ((body.components as { schemas?: Schemas } | undefined)?.schemas ?? {})
  const schema = schemaOfKind(schemas, apiVersion, kind)
  return refusalOf(manifest, answer, schema === undefined ? [] : unknownFields(document, schema, schemas))
}

const baseOf = (apiVersion: string) => (apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`)

/** Asks the API server for the plural, and whether the kind is namespaced. */
async function pathOfObject(manifest: Manifest, send: SendToKubernetes): Promise<string> {
  const { apiVersion, kind, name = '', namespace = manifest.optionNamespace } = manifest
  const base = baseOf(apiVersion)
  const answer = await send(base)
  if (answer.status >= 400 && answer.status !== 404) throw refusalOf(manifest, answer)
  const resources = (answer.body.resources ?? []) as { name: string; kind: string; namespaced: boolean }[]
  const found = resources.find((each) => each.kind === kind && !each.name.includes('/'))
  if (found === undefined) throw await unknownKindFailure(manifest, send)
  if (!found.namespaced) return `${base}/${found.name}/${encodeURIComponent(name)}`
  if (namespace === undefined) {
    const hint = 'neither the manifest nor the options name it.'
    throw new CommandFailure(EXIT.usage, `${titleOf(manifest)} needs a metadata.namespace: ${hint}`)
  }
  return `${base}/namespaces/${encodeURIComponent(namespace)}/${found.name}/${encodeURIComponent(name)}`
}

/** Discovers all API groups in one request, like kubectl. */
const ALL_GROUPS = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

type Discovery = {
  metadata?: { name?: string }
  versions?: { version: string; resources?: { responseKind?: { kind?: string } }[] }[]
}

async function unknownKindFailure(manifest: Manifest, send: SendToKubernetes): Promise<CommandFailure> {
  const answers = await Promise.all(['/api', '/apis'].map((path) => send(path, { accept: ALL_GROUPS })))
  const items = answers.flatMap(({ body }) => (Array.isArray(body.items) ? (body.items as Discovery[]) : []))
  const served = items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(({ responseKind }): ServedKind[] => {
        const apiVersion = metadata?.name ? `${metadata.name}/${version}` : version
        return responseKind?.kind === undefined ? [] : [{ apiVersion, kind: responseKind.kind }]
      }),
    ),
  )
  const sentence = explainUnknownKind(manifest, [...RESOURCE_KINDS, ...served])
  return new CommandFailure(EXIT.usage, `${manifest.location}: ${sentence}`)
}
