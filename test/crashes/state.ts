import { KEY_ANNOTATION } from '../../src/desired/vector/index.ts'
import { APPLIED_ANNOTATION } from '../../src/kube/apply.ts'
import { RESOURCES } from './apiServer.ts'
import type { World } from './world.ts'

/** Fields that differ between two runs that ended in the same state. */
const VOLATILE = new Set([
  'resourceVersion',
  'generation',
  'observedGeneration',
  'creationTimestamp',
  'currentRevision',
  'updateRevision',
  APPLIED_ANNOTATION,
])

/** Fields whose value is random; that they are there is compared. */
const RANDOM_FIELDS = new Set<string>([KEY_ANNOTATION, 'preparedFor'])

/** What is random, by its form. Whether it fits together is what the facts of a flow say. */
const RANDOM_TEXTS: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/AKIA\d{16}/g, 'ACCESS-KEY'],
  [/revision-\d+/g, 'REVISION'],
]

/** Everything that is stored, as people would tell it: without versions, times, uids, and values of Secrets. */
export function stateOf(world: World): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const resource of RESOURCES) {
    for (const item of world.server.stored(resource)) {
      const { name, namespace } = item.metadata
      const key = [resource.plural, namespace, name].filter((part) => part !== undefined).join('/')
      found[told(key, world)] = normal(item, world)
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => a.localeCompare(b)))
}

function normal(object: unknown, world: World): unknown {
  const isSecret = (object as { kind?: string }).kind === 'Secret'
  const walk = (part: unknown, key: string): unknown => {
    if (RANDOM_FIELDS.has(key)) return 'RANDOM'
    if (typeof part === 'string') return told(part, world)
    if (Array.isArray(part)) return part.map((entry) => walk(entry, key))
    if (typeof part !== 'object' || part === null) return part
    if (isSecret && key === 'data') return Object.keys(part).sort()
    const entries = Object.entries(part).filter(([name]) => !VOLATILE.has(name))
    return Object.fromEntries(
      entries.sort(([a], [b]) => a.localeCompare(b)).map(([name, entry]) => [told(name, world), walk(entry, name)]),
    )
  }
  return walk(object, '')
}

/** The text with what is random named: an object's uid is "uid of <object>", and the object may be named so itself. */
export function told(text: string, world: World): string {
  let result = world.names.get(text) ?? text
  if (result.length > 12) {
    for (const [id, name] of world.names) if (id.length > 12) result = result.replaceAll(id, `<${name}>`)
  }
  return RANDOM_TEXTS.reduce((rest, [pattern, name]) => rest.replace(pattern, name), result)
}
