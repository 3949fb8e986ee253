import { OPERATIONS, type Operation } from '../client/index.ts'
import type { Collection, Given, Verb } from './collection.ts'
import { GROUP_PARAMETERS } from './gaps.ts'

const METHODS: Readonly<Partial<Record<Verb, Operation['method']>>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
}
/** What is made and deleted under another word than it is read by. */
const WRITTEN_AS: Readonly<Record<string, string>> = { blueprints: 'blueprints/templates' }

/** @param lower the word before that of the collection that leads to another one, which can */
export function cannot(
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

/** The requests that do to something what its commands cannot, as `freehold call` takes them. */
export function otherWays(
  { noun, singular, routes }: Pick<Collection, 'noun' | 'singular' | 'routes'>,
  verb: Verb,
  given: Given,
  operations: readonly Operation[] = Object.values(OPERATIONS),
): string[] {
  const method = METHODS[verb]
  const places = routes.filter((route) => route.verb === 'list').map(({ path }) => path.split('/')[1] ?? '')
  const isWay = ({ path, method: its, notBuilt }: Operation) => {
    const words = path.split('/').slice(1)
    if (its !== method || notBuilt === true || !places.includes(words[0] ?? '')) return false
    const short = words.map((word) => (word.startsWith('{') ? '{}' : word)).join('/')
    const ends = endsOf(noun, verb)
    return ends.some((end) => short.endsWith(`/${end}`)) || (verb === 'create' && isMadeBy(short, singular, routes))
  }
  return operations.filter(isWay).map((operation) => callOf(operation, given))
}

function endsOf(noun: string, verb: Verb): string[] {
  const written = WRITTEN_AS[noun]
  const own = verb === 'create' ? [`${noun}/{}/create`] : [`${noun}/{}/{}`]
  if (written === undefined) return own
  return verb === 'create' ? [...own, written] : [...own, `${written}/{}`]
}

/** `blueprints/{slug}/deploy` makes one of `blueprints/deploys`. */
function isMadeBy(path: string, singular: string, routes: Collection['routes']): boolean {
  const above = routes.flatMap(({ verb, path }) => (verb === 'list' ? path.split('/').slice(-2, -1) : []))
  const words = path.split('/')
  return words.at(-1) === singular && words.at(-2) === '{}' && above.some((word) => words.includes(word))
}

/** Words of the place that are known stand there; `freehold call` puts the defaults in the place of those in braces. */
function callOf({ method, path, needsBody }: Operation, { boundary, group, defaults = {}, parameters = {} }: Given) {
  const known: Readonly<Record<string, string | undefined>> = {
    ...(defaults.boundary !== undefined && { boundaryId: '{boundary}' }),
    ...(defaults.group !== undefined && Object.fromEntries(GROUP_PARAMETERS.map((name) => [name, '{group}']))),
    ...(defaults.boundary === undefined && boundary !== undefined && { boundaryId: boundary }),
    ...(defaults.group === undefined &&
      group !== undefined &&
      Object.fromEntries(GROUP_PARAMETERS.map((name) => [name, group]))),
    ...parameters,
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => known[name] ?? `<${name}>`)
  return `freehold call ${method} ${filled}${needsBody === true ? " -d '{...}'" : ''}`
}
