import { setTimeout as sleep } from 'node:timers/promises'
import { PREFIX } from '../core/labels.ts'
import { type KubeObject, type Resource, refOf } from '../core/object.ts'
import { applyIfChanged } from './apply.ts'
import { builtinResource, customResourceDefinition } from './builtin.ts'
import type { KubeClient } from './client.ts'
import { absent } from './errors.ts'

type Definition = KubeObject & {
  spec?: {
    group?: string
    names?: { plural?: string; kind?: string }
    scope?: string
    versions?: { name?: string; served?: boolean; storage?: boolean }[]
  }
  status?: { conditions?: { type?: string; status?: string; message?: string }[] }
}

export type InstallOptions = {
  /** Types beyond the built-in ones and those that the manifests themselves define. */
  resources?: readonly Resource[]
  signal?: AbortSignal
  /** Milliseconds until the definitions must be served; default 180 s. */
  timeout?: number
  /** Milliseconds until a definition that is not established is touched; default 10 s. */
  touchAfter?: number
}

export type InstallResult = { applied: number; unchanged: number }

const CONCURRENCY = 8
/** Milliseconds. An API server that just started on a busy machine takes long for many definitions. */
const ESTABLISH_TIMEOUT_MS = 180_000
const TOUCH_AFTER_MS = 10_000
/** Annotation that only serves to change a definition. */
const TOUCHED_ANNOTATION = `${PREFIX}touched`

/**
 * Installs manifests by server-side apply: definitions first, then, when these are served, everything else in order.
 * Unchanged objects are not written.
 *
 * For two seconds after a definition is established, the API server holds back the first create of its type; the only
 * remedy is to install once.
 *
 * @throws Error for a manifest of an unknown type, or a definition that is not served in time
 */
export async function installManifests(
  client: KubeClient,
  manifests: readonly KubeObject[],
  options: InstallOptions = {},
): Promise<InstallResult> {
  const isDefinition = (manifest: KubeObject) => manifest.kind === 'CustomResourceDefinition'
  const definitions = manifests.filter(isDefinition) as Definition[]
  const known = [...(options.resources ?? []), ...definitions.flatMap(resourcesOf)]
  const result: InstallResult = { applied: 0, unchanged: 0 }
  const install = async (manifest: KubeObject) => {
    const resource = resourceOf(manifest, known)
    const observed = await client.get(resource, refOf(manifest), { signal: options.signal }).catch(absent)
    const { changed } = await applyIfChanged(client, resource, manifest, observed, { signal: options.signal })
    result[changed ? 'applied' : 'unchanged'] += 1
  }
  await inParallel(definitions, install)
  await waitUntilServed(client, definitions, options)
  for (const manifest of manifests) if (!isDefinition(manifest)) await install(manifest)
  return result
}

/**
 * Waits until every definition is established and discovery lists its served versions. An API server that stopped
 * before it established a definition does not resume until the definition changes, so this touches it.
 */
export async function waitUntilServed(
  client: KubeClient,
  definitions: readonly KubeObject[],
  options: Pick<InstallOptions, 'signal' | 'timeout' | 'touchAfter'> = {},
): Promise<void> {
  const deadline = performance.now() + (options.timeout ?? ESTABLISH_TIMEOUT_MS)
  const { touchAfter = TOUCH_AFTER_MS } = options
  await inParallel(definitions as readonly Definition[], async (definition) => {
    let touchAt = performance.now() + touchAfter
    for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
      const missing = await describeMissing(client, definition, options.signal)
      if (missing === undefined) return
      if (performance.now() > deadline) {
        throw new Error(`The definition "${definition.metadata.name}" is not served in time: ${missing}.`)
      }
      if (missing === NOT_ESTABLISHED && performance.now() > touchAt) {
        touchAt = performance.now() + touchAfter
        const annotations = { [TOUCHED_ANNOTATION]: new Date().toISOString() }
        await client.mergePatch(customResourceDefinition, refOf(definition), { metadata: { annotations } })
      }
      await sleep(pause, undefined, options.signal === undefined ? {} : { signal: options.signal })
    }
  })
}

/** Returns the resources of a definition, one per served version. */
export function resourcesOf(definition: KubeObject): Resource[] {
  const { spec } = definition as Definition
  return (spec?.versions ?? [])
    .filter((version) => version.served !== false)
    .map((version) => ({
      group: spec?.group ?? '',
      version: version.name ?? '',
      plural: spec?.names?.plural ?? '',
      kind: spec?.names?.kind ?? '',
      namespaced: spec?.scope !== 'Cluster',
    }))
}

const NOT_ESTABLISHED = 'it is not established'

async function describeMissing(
  client: KubeClient,
  definition: Definition,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { name } = definition.metadata
  const { status } = await client.get<Definition>(customResourceDefinition, { name }, { signal })
  const accepted = status?.conditions?.find((condition) => condition.type === 'NamesAccepted')
  if (accepted?.status === 'False') throw new Error(`The names of the definition "${name}" are taken by another one.`)
  const established = status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')
  if (established !== true) return NOT_ESTABLISHED
  for (const { group, version, plural } of resourcesOf(definition)) {
    const answer = await client.request({ path: `/apis/${group}/${version}`, signal })
    const text = await answer.text()
    if (answer.status !== 200 || !text.includes(`"name":"${plural}"`)) return `${group}/${version} does not list it`
  }
  return undefined
}

function resourceOf(manifest: KubeObject, known: readonly Resource[]): Resource {
  const { apiVersion, kind } = manifest
  const found =
    builtinResource(apiVersion, kind) ??
    known.find((resource) => resource.kind === kind && `${resource.group}/${resource.version}` === apiVersion)
  if (found === undefined)
    throw new Error(`No type is known for the manifest ${apiVersion} ${kind} "${manifest.metadata.name}".`)
  return found
}

async function inParallel<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await task(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
