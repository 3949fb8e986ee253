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
  calls: readonly string[],
): string {
  const meant = lower && `did you mean ${lower}/${noun}?`
  if (calls.length === 0)
    return `The interface cannot ${verb} ${noun}; ${meant ?? '`freehold kinds` shows what it can.'}`
  const list = calls.map((call) => `\n  ${call}`).join('')
  return `This command cannot ${verb} ${noun}; ${calls.length === 1 ? 'this does' : 'these do'}:${list}${meant ? `\nOr ${meant}` : ''}`
}

/** Suggests requests for `freehold call` that do what the command cannot. */
export function suggestCalls(
  { noun, singular, routes }: Pick<Collection, 'noun' | 'singular' | 'routes'>,
  verb: Verb,
  given: GivenArguments,
): string[] {
  const method = METHODS[verb]
  const roots = routes.filter((route) => route.verb === 'list').map(({ path }) => path.split('/')[1] ?? '')
  const suffixes = pathSuffixesOf(noun, verb)
  const isSuggested = ({ path, method: operationMethod }: Operation) => {
    const shape = path.replaceAll(/\{\w+\}/g, '{}')
    if (operationMethod !== method || !roots.includes(shape.split('/')[1] ?? '')) return false
    return (
      suffixes.some((suffix) => shape.endsWith(`/${suffix}`)) ||
      (verb === 'create' && isCreationRoute(shape, singular, routes))
    )
  }
  return Object.values(OPERATIONS)
    .filter(isSuggested)
    .map((operation) => callOf(operation, given))
}

function pathSuffixesOf(noun: string, verb: Verb): string[] {
  const writePath = WRITE_PATHS[noun]
  if (verb === 'create') return [`${noun}/{}/create`, ...(writePath === undefined ? [] : [writePath])]
  return [`${noun}/{}/{}`, ...(writePath === undefined ? [] : [`${writePath}/{}`])]
}

/** Whether a route creates such a resource: `blueprints/{slug}/deploy` creates one of `blueprints/deploys`. */
function isCreationRoute(path: string, singular: string, routes: Collection['routes']): boolean {
  const parents = routes.flatMap(({ verb, path }) => (verb === 'list' ? path.split('/').slice(-2, -1) : []))
  const segments = path.split('/')
  return segments.at(-1) === singular && segments.at(-2) === '{}' && parents.some((word) => segments.includes(word))
}

/** Fills in known parameters; those with a default stay in braces, which `freehold call` replaces. */
function callOf(
  { method, path, needsBody }: Operation,
  { boundary, group, defaults = {}, parameters = {} }: GivenArguments,
) {
  const fillIn = (word: 'boundary' | 'group', given?: string) => (defaults[word] === undefined ? given : `{${word}}`)
  const values: Readonly<Record<string, string | undefined>> = {
    boundaryId: fillIn('boundary', boundary),
    ...Object.fromEntries(GROUP_PARAMETERS.map((name) => [name, fillIn('group', group)])),
    ...parameters,
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? `<${name}>`)
  return `freehold call ${method} ${filled}${needsBody === true ? " -d '{...}'" : ''}`
}
