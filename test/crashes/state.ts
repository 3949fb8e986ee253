import { KEY_ANNOTATION } from '../../src/desired/vector/index.ts'
import { APPLIED_ANNOTATION } from '../../src/kube/apply.ts'
import { RESOURCES } from './apiServer.ts'
import type { World } from './world.ts'

/** Fields that may differ between two runs with the same final state. */
const VOLATILE = new Set([
  'resourceVersion',
  'generation',
  'observedGeneration',
  'creationTimestamp',
  'currentRevision',
  'updateRevision',
  APPLIED_ANNOTATION,
])

/** Fields with random values, which are compared for presence only. */
const RANDOM_FIELDS = new Set<string>([KEY_ANNOTATION, 'preparedFor'])

/** Random values, by their form. The facts of a flow show whether they match each other. */
const RANDOM_TEXTS: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/AKIA\d{16}/g, 'ACCESS-KEY'],
  [/revision-\d+/g, 'REVISION'],
]

/** Everything that is stored, in readable form: without versions, times, uids, and values of Secrets. */
export function stateOf(world: World): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const readable = teller(world.names)
  for (const resource of RESOURCES) {
    for (const item of world.server.stored(resource)) {
      const { name, namespace } = item.metadata
      const key = [resource.plural, namespace, name].filter((part) => part !== undefined).join('/')
      found[readable(key)] = normal(item, readable)
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function normal(object: unknown, told: (text: string) => string): unknown {
  const isSecret = (object as { kind?: string }).kind === 'Secret'
  const walk = (part: unknown, key: string): unknown => {
    if (RANDOM_FIELDS.has(key)) return 'RANDOM'
    if (typeof part === 'string') return told(part)
    if (Array.isArray(part)) return part.map((entry) => walk(entry, key))
    if (typeof part !== 'object' || part === null) return part
    if (isSecret && key === 'data') return Object.keys(part).sort()
    const entries = Object.entries(part).filter(([name]) => !VOLATILE.has(name))
    return Object.fromEntries(
      entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, entry]) => [told(name), walk(entry, name)]),
    )
  }
  return walk(object, '')
}

/** Shorter values could be part of anything. */
const SHORTEST_ID = 12

/**
 * Replaces random parts of a text: an object's uid becomes "uid of <object>".
 *
 * @param names the replacement for each random value
 */
function teller(names: ReadonlyMap<string, string>): (text: string) => string {
  const ids = [...names.keys()].filter((id) => id.length >= SHORTEST_ID)
  // Longest first: one may start with another.
  const pattern = ids.sort((a, b) => b.length - a.length).map((id) => id.replace(/[^\w-]/g, '\\$&'))
  const anyId = new RegExp(pattern.join('|') || '(?!)', 'g')
  const once = (text: string) => text.replace(anyId, (id) => `<${names.get(id)}>`)
  const tell = (text: string) => {
    const whole = names.get(text)
    const named = whole === undefined ? once(text) : `<${whole}>`
    return RANDOM_TEXTS.reduce((rest, [random, name]) => rest.replace(random, name), once(named))
  }
  // Most texts of a state are those of other objects as well: names of fields, images, namespaces.
  const cached = new Map<string, string>()
  return (text) => {
    const known = cached.get(text)
    if (known !== undefined) return known
    const answer = tell(text)
    cached.set(text, answer)
    return answer
  }
}
