import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { RESOURCE_KINDS } from '../client/index.ts'
import { invalidName, messageOf } from '../core/errors.ts'
import {
  boundaryNamespace,
  boundaryOfNamespace,
  groupNamespace,
  groupOfNamespace,
  isResourceName,
  isUuid,
  SYSTEM_NAMESPACE,
} from '../core/names.ts'
import type { Collection } from './collection.ts'
import { chooseRoute, type Target } from './collections.ts'
import type { Terminal } from './command.ts'
import { mapOrFailTogether, usage } from './failure.ts'
import { explainUnknownKind } from './kubernetesRefusal.ts'
import { readTextInput } from './text.ts'

/** Configuration of kustomize, which is not a manifest. */
const KUSTOMIZATION = /^kustomization\.ya?ml$/

/** Yields the manifests of files and folders; `-` is stdin. @throws CommandFailure */
export async function* manifestsIn(paths: readonly string[], terminal: Terminal): AsyncGenerator<Manifest> {
  for (const file of (await Promise.all(paths.map(filesIn))).flat())
    yield* parseManifests(await readTextInput(file, terminal), file === '-' ? 'stdin' : file)
}

/** Lists a folder's files like kubectl: sorted, and without subfolders. */
async function filesIn(path: string): Promise<string[]> {
  const isFolder = path !== '-' && (await stat(path).catch(() => undefined))?.isDirectory() === true
  if (!isFolder) return [path]
  const names = (await readdir(path)).filter((name) => /\.(ya?ml|json)$/.test(name) && !KUSTOMIZATION.test(name)).sort()
  return names.map((name) => join(path, name))
}

/** A manifest of a custom resource. */
export type Manifest = {
  /** For example `stdin, document 2`. */
  readonly location: string
  readonly apiVersion: string
  readonly kind: string
  readonly name: string | undefined
  readonly namespace: string | undefined
  /** The namespace from the options, for kinds of others: only the API server knows whether they are namespaced. */
  readonly optionNamespace?: string | undefined
  readonly spec: Readonly<Record<string, unknown>>
  /** The whole document, without fields that the API server sets. */
  readonly document: Readonly<Record<string, unknown>>
}

/** @throws CommandFailure (usage) with file and document number */
export function parseManifests(text: string, file: string): Manifest[] {
  let documents: unknown[]
  try {
    documents = loadAll(text)
  } catch (error) {
    const { reason, mark } = error as { reason?: string; mark?: { line: number } }
    throw usage(`${file} is not YAML: ${reason ?? 'it cannot be read'}${mark ? ` in line ${mark.line + 1}` : ''}.`)
  }
  const entries = documents.flatMap((document) => {
    const { kind, items } = (document ?? {}) as { kind?: unknown; items?: unknown }
    return kind === 'List' && Array.isArray(items) ? items : [document]
  })
  const nonEmpty = entries.filter((entry) => entry !== null && entry !== undefined)
  return mapOrFailTogether(nonEmpty, (entry, index) => manifest(entry, file, index))
}

function manifest(entry: unknown, file: string, index: number): Manifest {
  const { apiVersion, kind, metadata, spec = {} } = entry as Record<string, unknown>
  const { name, namespace } = (metadata ?? {}) as Record<string, unknown>
  const location = `${file}, document ${index + 1}`
  const isText = (value: unknown) => value === undefined || typeof value === 'string'
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isText(name) || !isText(namespace)) {
    throw usage(`${location} is not a manifest: it needs apiVersion, kind and metadata.`)
  }
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) {
    throw usage(`${location}: the spec is not an object.`)
  }
  return {
    location,
    apiVersion,
    kind,
    name: name as string | undefined,
    namespace: namespace as string | undefined,
    spec: spec as Record<string, unknown>,
    document: toNewManifest(entry as Record<string, unknown>),
  }
}

/** Metadata that users write; the rest of an exported object comes from the API server and the platform. */
const USER_METADATA = ['name', 'namespace', 'labels', 'annotations']
const SYSTEM_KEY = /^(freehold\.dev\/|kubectl\.kubernetes\.io\/last-applied-configuration$)/

/** Turns an exported object, recognised by its uid, into a manifest for a new one. */
function toNewManifest(document: Record<string, unknown>): Record<string, unknown> {
  const metadata = (document.metadata ?? {}) as Record<string, unknown>
  if (metadata.uid === undefined) return document
  const { status: _, ...written } = document
  const userMetadata = Object.entries(metadata).filter(([key]) => USER_METADATA.includes(key))
  return { ...written, metadata: Object.fromEntries(userMetadata.map(([key, value]) => [key, unstamped(value)])) }
}

function unstamped(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !SYSTEM_KEY.test(key)))
}

export type ManifestPlan = {
  /** For messages: `VectorCluster "products"`. */
  readonly title: string
  readonly name: string | undefined
  readonly collection: Collection
  /** Tried first; undefined without a name, or if REST cannot update the kind. */
  readonly change: Target | undefined
  /** Tried if there is nothing to change. */
  readonly create: Target | undefined
  readonly body: Readonly<Record<string, unknown>>
}

type Defaults = { boundary: string | undefined; group: string | undefined }

/** @throws CommandFailure (usage) for an unknown kind of ours, or a wrong apiVersion */
export function requireKnownKind({ location, apiVersion, kind }: Manifest): void {
  const group = apiVersion.split('/')[0] ?? ''
  const isOfPlatform = RESOURCE_KINDS.some((each) => group === each.apiVersion.split('/')[0])
  const isKnown = RESOURCE_KINDS.some((each) => each.kind === kind && each.apiVersion === apiVersion)
  if (isOfPlatform && !isKnown) throw usage(`${location}: ${explainUnknownKind({ apiVersion, kind }, RESOURCE_KINDS)}`)
}

/** Adds the namespace from the options to a manifest without one. */
export function withDefaultNamespace(found: Manifest, { boundary, group }: Defaults): Manifest {
  if (found.namespace !== undefined || boundary === undefined || !isUuid(boundary)) return found
  const kind = RESOURCE_KINDS.find((each) => each.kind === found.kind && each.apiVersion === found.apiVersion)
  const inGroup = group === undefined ? undefined : groupNamespace(boundary, group)
  if (kind === undefined) return { ...found, optionNamespace: inGroup ?? boundaryNamespace(boundary) }
  const namespace = {
    ...{ cluster: undefined, platform: undefined },
    ...{ boundary: boundaryNamespace(boundary), boundaryOrPlatform: boundaryNamespace(boundary), group: inGroup },
  }[kind.placement]
  if (namespace === undefined) return found
  const metadata = { ...(found.document.metadata as object | undefined), namespace }
  return { ...found, namespace, document: { ...found.document, metadata } }
}

/** Whether REST can write this kind at all. */
export const isWrittenByRest = (found: Manifest, collections: readonly Collection[]): boolean =>
  collectionOf(found, collections) !== undefined

/** Finds the collection that writes this kind; undefined if REST does not. */
function collectionOf(
  found: Pick<Manifest, 'kind' | 'apiVersion'>,
  collections: readonly Collection[],
): Collection | undefined {
  const isOfKind = ({ kind }: Collection) => kind?.kind === found.kind && kind.apiVersion === found.apiVersion
  const isWritten = ({ routes }: Collection) => routes.some(({ verb }) => verb === 'create' || verb === 'update')
  return collections.find((collection) => isOfKind(collection) && isWritten(collection))
}

/**
 * Plans how REST writes a manifest. The place comes from its namespace, as with kubectl, otherwise from the options.
 *
 * @throws CommandFailure (usage) for a kind that REST does not write, and for a namespace that belongs neither to a
 *   boundary nor to the named group
 */
export function planManifest(found: Manifest, collections: readonly Collection[], defaults: Defaults): ManifestPlan {
  const collection = collectionOf(found, collections)
  const title = `${found.kind}${found.name === undefined ? '' : ` "${found.name}"`}`
  if (collection === undefined) {
    throw usage(
      `${title} (${found.apiVersion}) cannot be written by REST${madeBy(found, collections)}: name a kubeconfig with that right with --kubeconfig, or use kubectl.`,
    )
  }
  const isNamedByCaller = collection.routes.every(({ verb, nameParameter }) => verb !== 'create' || nameParameter)
  if (found.name === undefined && isNamedByCaller) throw usage(`${title} needs a metadata.name.`)
  const place = collection.kind?.placement === 'cluster' ? defaults : scopeOfManifest(found, defaults)
  const given = { ...place, name: found.name }
  const routeOf = (verb: 'update' | 'patch' | 'create', of: Collection = collection) => {
    if (of.routes.every((route) => route.verb !== verb)) return undefined
    try {
      return chooseRoute(of, verb, given, null)
    } catch (error) {
      throw usage(`${title} cannot be placed: ${messageOf(error)}`)
    }
  }
  const onItem = { ...collection, routes: collection.routes.filter((route) => route.nameParameter !== undefined) }
  const change = found.name === undefined ? undefined : (routeOf('update', onItem) ?? routeOf('patch', onItem))
  // If the platform assigns the name (boundaries), a manifest with a name can only update.
  const create = found.name === undefined ? routeOf('create') : routeOf('create', onItem)
  if (change === undefined && create === undefined)
    throw usage(
      `${title} cannot be written by REST${madeBy(found, collections)}: callers cannot choose its name there. Name a kubeconfig with that right with --kubeconfig, or use kubectl.`,
    )
  if (found.name !== undefined && isNamedAsResource(create) && !isResourceName(found.name))
    throw usage(`${title}: ${invalidName(found.name).message}`)
  return { title, name: found.name, collection, change, create, body: found.spec }
}

/** Whether the name is that of a group, or of a resource directly in one. */
const isNamedAsResource = (create: Target | undefined) =>
  create !== undefined && /\/(resourcegroups|resources\/[a-z]+)\/\{\w+\}$/.test(create.route.path)

/** Resources below another need its name, so a command creates them instead of a manifest. */
function madeBy({ kind, apiVersion }: Manifest, collections: readonly Collection[]): string {
  const found = RESOURCE_KINDS.find((each) => each.kind === kind && each.apiVersion === apiVersion)
  if (found === undefined || !('collection' in found)) return ''
  const noun = found.collection.split('/').at(-1)
  const routes = collections.find((each) => each.noun === noun)?.routes ?? []
  const isMade = routes.some(({ verb }) => verb === 'create' || verb === 'update')
  return isMade ? ` from a manifest (\`freehold create ${found.collection}\` makes one)` : ''
}

/** Finds boundary and group of a namespace. @throws CommandFailure (usage) if it is not a namespace of the platform */
export function scopeOfManifest(found: Pick<Manifest, 'kind' | 'name' | 'namespace'>, defaults: Defaults): Defaults {
  const { namespace } = found
  if (namespace === undefined) return defaults
  const boundary = boundaryOfNamespace(namespace)
  if (boundary !== undefined) return { ...defaults, boundary }
  const group = groupOfNamespace(namespace)
  const isOfBoundary = defaults.boundary !== undefined && groupNamespace(defaults.boundary, group) === namespace
  if (isOfBoundary) return { boundary: defaults.boundary, group }
  if (namespace === SYSTEM_NAMESPACE)
    throw usage(
      `${found.kind} "${found.name ?? ''}" is in the namespace of the platform: name the kubeconfig of an administrator with --kubeconfig, or use kubectl.`,
    )
  const reason =
    defaults.boundary === undefined || !isUuid(defaults.boundary)
      ? 'name its boundary with --boundary ID'
      : `it is not that of a group in boundary ${defaults.boundary}`
  throw usage(`The namespace "${namespace}" of ${found.kind} "${found.name ?? ''}" cannot be placed: ${reason}.`)
}
