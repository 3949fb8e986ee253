import type { AnyKind } from '../../src/crds/define.ts'

type Row = { readonly id: string; readonly method: string; readonly path: string }
type Named = { readonly noun: string; readonly verb: string; readonly row: Row }

/** Segments that say where a thing is, not what it is. */
const PLACES = ['boundaries/{}/resourcegroups/{}/resources', 'boundaries/{}/resources', 'boundaries/{}', ''] as const
const GROUP = 'boundaries/{}/resourcegroups/{}'
/** Prefixes of the interface that nobody would say. */
const SCAFFOLDING = new Set(['providers', 'authorization', 'v1', 'internal', 'resources', '.well-known'])
const ITEM_VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'replace',
  PATCH: 'patch',
  DELETE: 'delete',
}

/**
 * By id, the name of each operation as a person would choose it: what, then what is done with it (`vectorClusters.create`,
 * `relationalClusters.listSnapshots`). It follows from method and path, so a new route has one without a list.
 *
 * @throws Error where two operations would have one name
 */
export function clientNames(rows: readonly Row[], kinds: readonly AnyKind[]): Map<string, string> {
  const collections = new Set(
    rows.flatMap(({ path }) => [...path.matchAll(/([^/{}]+)\/\{/g)].map(([, word = '']) => word)),
  )
  const taken = new Set<string>()
  return new Map(
    rows.map((row) => {
      const name = unique(nameOf(row, collections, kinds), taken)
      taken.add(name)
      return [row.id, name]
    }),
  )
}

/** If two operations have the same name, the second adds where, and then by what. */
function unique({ noun, verb, row }: Named, taken: ReadonlySet<string>): string {
  const suffix = isInGroup(row.path) ? 'InGroup' : row.path.startsWith('/boundaries/{') ? 'InBoundary' : 'OfPlatform'
  const last = /\{(\w+)\}[^{]*$/.exec(row.path)?.[1] ?? ''
  const method = `By${capital(row.method.toLowerCase())}`
  const found = ['', suffix, `By${capital(last)}`, `${suffix}By${capital(last)}`, method]
    .map((end) => `${noun}.${verb}${end}`)
    .find((name) => !taken.has(name))
  if (found === undefined) throw new Error(`${row.method} ${row.path} has no name of its own for the client.`)
  return found
}

const isInGroup = (path: string) =>
  path
    .replaceAll(/\{\w+\}/g, '{}')
    .slice(1)
    .startsWith(GROUP)

function nameOf(row: Row, collections: ReadonlySet<string>, kinds: readonly AnyKind[]): Named {
  const segments = row.path.slice(1).split('/')
  const shape = segments.map((segment) => (segment.startsWith('{') ? '{}' : segment)).join('/')
  const place = PLACES.find((prefix) => prefix === '' || shape.startsWith(`${prefix}/`)) ?? ''
  const depth = place === '' ? 0 : place.split('/').length
  const rest = segments.slice(depth).filter((segment) => !SCAFFOLDING.has(segment))
  const own = rest[0]?.startsWith('{') === false ? rest : ['resources', ...rest]
  const [noun = '', ...below] = own
  return { noun: nounOf(noun, kinds), verb: verbOf(row.method, noun, below, collections), row }
}

/** `vectorclusters` in the spelling of its kind: `vectorClusters`. */
function nounOf(segment: string, kinds: readonly AnyKind[]): string {
  const kind = kinds.find(({ plural, segment: own }) => plural === segment || own === segment)
  if (kind === undefined) return camel(segment)
  const camelCase = kind.kind.slice(0, 1).toLowerCase() + kind.kind.slice(1)
  const { plural } = kind
  const differs = [...plural].findIndex((letter, index) => camelCase[index]?.toLowerCase() !== letter)
  return differs < 0 ? plural : camelCase.slice(0, differs) + plural.slice(differs)
}

function verbOf(method: string, noun: string, below: readonly string[], collections: ReadonlySet<string>): string {
  const words = below.filter((segment) => !segment.startsWith('{')).flatMap(wordsOf)
  const isItem = below.at(-1)?.startsWith('{') === true
  const parts = words.map((word, index) => {
    const isOne = isItem || index < words.length - 1
    return capital(camel(isOne && collections.has(word) ? singular(word) : word))
  })
  const last = words.at(-1)
  // The action is a parameter or the next word: `.../actions/restart`.
  if (isItem && last === 'actions') return `run${parts.slice(0, -1).join('')}Action`
  const done = words.at(-2) === 'actions' ? -2 : -1
  if (last === undefined)
    return isItem || below.length > 0 ? (ITEM_VERBS[method] ?? 'call') : ofCollection(method, noun, collections)
  if (isItem) return (ITEM_VERBS[method] ?? 'call') + parts.join('')
  if (collections.has(last) && ['GET', 'POST'].includes(method)) {
    return method === 'GET'
      ? `list${parts.join('')}`
      : `create${[...parts.slice(0, -1), capital(camel(singular(last)))].join('')}`
  }
  // The action is the last word of the path: `.../apikey/rotate`.
  if (method === 'POST') return camel(last) + parts.slice(0, done).join('')
  return (ITEM_VERBS[method] ?? 'call') + parts.join('')
}

function ofCollection(method: string, noun: string, collections: ReadonlySet<string>): string {
  if (method === 'GET') return collections.has(noun) || noun === 'resources' ? 'list' : 'get'
  // A segment that is not a collection is itself the action: `.../checkAccess`.
  return method === 'POST' && !/[^s]s$/.test(noun) ? 'run' : (ITEM_VERBS[method] ?? 'call')
}

/** `rows:bulk`: the action follows the colon. */
const wordsOf = (segment: string) => segment.split(':')

const camel = (text: string) => text.replaceAll(/[-:.](\w)/g, (_, letter: string) => letter.toUpperCase())
const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (/(ss|us)$/.test(word)) return word
  if (/(x|ch|sh|ss)es$/.test(word)) return word.slice(0, -2)
  return word.endsWith('s') ? word.slice(0, -1) : word
}
