import { OPERATIONS, type Operation } from '../client/index.ts'
import { GROUP_PARAMETERS } from './argumentGaps.ts'
import type { Collection, GivenArguments, Verb } from './collection.ts'

const METHODS: Readonly<Partial<Record<Verb, Operation['method']>>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
}
/** Collections that are written under another path than they are read by. */
const WRITE_PATHS: Readonly<Record<string, string>> = { blueprints: 'blueprints/templates' }

/** @param lower parent of a collection with the same name that supports the verb */
export function describeUnsupportedVerb(
  { noun }: Pick<Collection, 'noun'>,
  verb: Verb,
  lower: string | undefined,
  ways: readonly string[],
): string {
  const meant = lower && `did you mean ${lower}/${noun}?`
  if (ways.length === 0)
    return `The interface cannot ${verb} ${noun}; ${meant ?? '`freehold kinds` shows what it can.'}`
  const shown = ways.map((way) => `\n  ${way}`).join('')
  return `This command cannot ${verb} ${noun}; ${ways.length === 1 ? 'this does' : 'these do'}:${shown}${meant ? `\nOr ${meant}` : ''}`
}

/** Suggests requests for `freehold call` that do what the command cannot. */
export function suggestCalls(
  { noun, singular, routes }: Pick<Collection, 'noun' | 'singular' | 'routes'>,
  verb: Verb,
  given: GivenArguments,
  operations: readonly Operation[] = Object.values(OPERATIONS),
): string[] {
  const method = METHODS[verb]
  const places = routes.filter((route) => route.verb === 'list').map(({ path }) => path.split('/')[1] ?? '')
  const ends = pathSuffixesOf(noun, verb)
  const isWay = ({ path, method: its }: Operation) => {
    const short = path.replaceAll(/\{\w+\}/g, '{}')
    if (its !== method || !places.includes(short.split('/')[1] ?? '')) return false
    return (
      ends.some((end) => short.endsWith(`/${end}`)) || (verb === 'create' && isCreationRoute(short, singular, routes))
    )
  }
  return operations.filter(isWay).map((operation) => callOf(operation, given))
}

function pathSuffixesOf(noun: string, verb: Verb): string[] {
  const written = WRITE_PATHS[noun]
  if (verb === 'create') return [`${noun}/{}/create`, ...(written === undefined ? [] : [written])]
  return [`${noun}/{}/{}`, ...(written === undefined ? [] : [`${written}/{}`])]
}

/** Whether a route creates such a resource: `blueprints/{slug}/deploy` creates one of `blueprints/deploys`. */
function isCreationRoute(path: string, singular: string, routes: Collection['routes']): boolean {
  const above = routes.flatMap(({ verb, path }) => (verb === 'list' ? path.split('/').slice(-2, -1) : []))
  const words = path.split('/')
  return words.at(-1) === singular && words.at(-2) === '{}' && above.some((word) => words.includes(word))
}

/** Fills in known parameters; those with a default stay in braces, which `freehold call` replaces. */
function callOf(
  { method, path, needsBody }: Operation,
  { boundary, group, defaults = {}, parameters = {} }: GivenArguments,
) {
  const placed = (word: 'boundary' | 'group', given?: string) => (defaults[word] === undefined ? given : `{${word}}`)
  const known: Readonly<Record<string, string | undefined>> = {
    boundaryId: placed('boundary', boundary),
    ...Object.fromEntries(GROUP_PARAMETERS.map((name) => [name, placed('group', group)])),
    ...parameters,
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => known[name] ?? `<${name}>`)
  return `freehold call ${method} ${filled}${needsBody === true ? " -d '{...}'" : ''}`
}
