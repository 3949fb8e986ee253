import { OPERATIONS, type Operation, pathOf, RESOURCE_KINDS } from '../client/index.ts'
import { suggestion } from '../core/suggestion.ts'
import {
  argumentGap,
  BOUNDARY_PARAMETER,
  describeAllGroupsMisuse,
  FLAGS,
  flagOf,
  GROUP_PARAMETERS,
  givenValue,
} from './argumentGaps.ts'
import type {
  Alias,
  Collection,
  CollectionRoute,
  GivenArguments,
  ResourceKind,
  SelectedScope,
  Verb,
} from './collection.ts'
import { type CommandFailure, usage } from './failure.ts'
import { describeUnsupportedVerb, suggestCalls } from './suggestCalls.ts'

const ITEM_VERBS: Readonly<Record<string, Verb>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}
const COLLECTION_VERBS: Readonly<Record<string, Verb>> = { GET: 'list', POST: 'create' }

/**
 * Derives the collections from a route table: each list, and each literal segment followed by a parameter
 * (`.../vectorclusters/{name}`) that can be read. A new route needs no further code to become a command.
 */
export function deriveCollections(
  operations: readonly Operation[] = Object.values(OPERATIONS),
  kinds: readonly ResourceKind[] = RESOURCE_KINDS,
): Collection[] {
  const nouns = new Set(operations.flatMap((operation) => itemNoun(operation.path) ?? listNoun(operation) ?? []))
  const found = new Map<string, CollectionRoute[]>()
  for (const operation of operations) {
    const ofItem = itemNoun(operation.path)
    const noun = ofItem ?? operation.path.split('/').at(-1) ?? ''
    const verb = (ofItem === undefined ? COLLECTION_VERBS : ITEM_VERBS)[operation.method]
    if (verb === undefined || !nouns.has(noun) || operation.isRaw === true) continue
    const parameters = parametersOf(operation.path)
    const nameParameter = ofItem === undefined ? undefined : parameters.at(-1)
    found.set(noun, [...(found.get(noun) ?? []), { ...operation, verb, parameters, nameParameter }])
  }
  return [...found]
    .filter(([, routes]) => isResource(routes.map(({ verb }) => verb)))
    .map(([noun, all]) => {
      const routes = all.map((route) => ({ ...route, isLower: isLower(route, all) }))
      const namesake = kinds.find(({ plural }) => plural === noun)
      const singular = namesake?.kind.toLowerCase() ?? singularOf(noun)
      const kind = namesake ?? kinds.find((each) => isWrittenIn(each, noun, routes))
      return { noun, singular, also: kinds.flatMap((each) => aliasOf(each, noun) ?? []), kind, routes }
    })
    .sort((a, b) => a.noun.localeCompare(b.noun))
}

/**
 * Whether a collection of another name takes a kind's manifests, as `sqlclusters` does for SqlInstance. Only for
 * resources of a group that the caller names: deeper ones need a parent's name, which no manifest has.
 */
function isWrittenIn(found: ResourceKind, noun: string, routes: readonly CollectionRoute[]): boolean {
  const { placement, collection } = { collection: undefined, ...found }
  const isOfGroup = ({ verb, parameters, nameParameter }: CollectionRoute) =>
    verb === 'create' &&
    nameParameter !== undefined &&
    parameters.length === 3 &&
    parameters.some((name) => GROUP_PARAMETERS.includes(name))
  return placement === 'group' && collection === noun && routes.some(isOfGroup)
}

function aliasOf(found: ResourceKind, noun: string): Alias | undefined {
  const { kind, plural, shortNames, collection = plural } = { collection: undefined, ...found }
  const [last, ...below] = collection.toLowerCase().split('/').reverse()
  if (last !== noun.toLowerCase()) return undefined
  return { names: [plural, kind.toLowerCase()], shortNames, below }
}

/** Leaves out segments that are only readable by name, such as the diff of revisions: they belong to another. */
const isResource = (verbs: readonly Verb[]) =>
  verbs.includes('list') || (verbs.includes('get') && verbs.some((verb) => verb !== 'get'))

/**
 * Returns the field of a record that NAME refers to: what paths ask for, such as an id or a number.
 *
 * @param records one or several, as shown
 */
export function nameFieldOf({ routes }: Collection, records: unknown = []): string {
  const parameters = routes.flatMap(({ verb, nameParameter }) => (verb === 'list' ? [] : (nameParameter ?? [])))
  const [record] = [records].flat() as Record<string, unknown>[]
  const isNamedById = parameters.some((parameter) => parameter.endsWith('Id'))
  if (isNamedById && record?.id !== undefined) return 'id'
  const idParameter = parameters.find((parameter) => !/name$/i.test(parameter) && record?.[parameter] !== undefined)
  return idParameter ?? (isNamedById ? 'id' : 'name')
}

/** Returns the last segment of a list, also of one whose items have no path of their own. */
function listNoun({ path, paged }: Operation): string | undefined {
  const last = path.split('/').at(-1)
  return paged === true && last !== undefined && !last.startsWith('{') ? last : undefined
}

/** Returns the segment before a final parameter. */
function itemNoun(path: string): string | undefined {
  const [noun, last] = path.split('/').slice(-2)
  const isItem = last?.startsWith('{') && noun !== undefined && noun !== '' && !noun.startsWith('{')
  // `/docs/{module}/{path}` and `.../actions/{action}` are not named resources.
  return isItem && last !== '{path}' && last !== '{action}' ? noun : undefined
}

function parametersOf(path: string): string[] {
  return [...path.matchAll(/\{([A-Za-z]+)\}/g)].map(([, name = '']) => name)
}

function singularOf(noun: string): string {
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`
  return noun.endsWith('s') ? noun.slice(0, -1) : noun
}

/**
 * Finds a collection by plural, singular or short name, ignoring case. `parent/child` names one that is not the
 * outermost.
 *
 * @throws CommandFailure (usage)
 */
export function findCollection(word: string, collections: readonly Collection[]): Collection {
  const [last = '', ...parents] = word.toLowerCase().split('/').reverse()
  const isCalled = ({ noun, singular }: Collection) => [noun.toLowerCase(), singular.toLowerCase()].includes(last)
  const aliasIn = ({ also }: Collection) =>
    also.find(({ names, shortNames }) => names.includes(last) || shortNames.includes(last))
  // Path segments take precedence: the name of a kind may be the segment of another collection.
  const found = collections.find(isCalled) ?? collections.find((each) => aliasIn(each) !== undefined)
  const below = found === undefined || isCalled(found) ? [] : (aliasIn(found)?.below ?? [])
  const wantedParents = parents.length > 0 ? parents : below
  const routes = found?.routes.filter(({ path }) => isBelow(literalsOf(path), wantedParents)) ?? []
  if (found === undefined || routes.length === 0) throw unknownKind(word, last, collections)
  if (wantedParents.length === 0) return { ...found, routes }
  return { ...found, below: wantedParents.toReversed(), routes: routes.map((route) => ({ ...route, isLower: false })) }
}

/**
 * A word alone means the outermost of several collections with the same outer parameters, whatever the verb: otherwise
 * `create` could make something else than `list` shows.
 */
function isLower(route: CollectionRoute, all: readonly CollectionRoute[]): boolean {
  const outerOf = ({ parameters, nameParameter }: CollectionRoute) =>
    parameters.filter((name) => name !== nameParameter).join(' ')
  const heightOf = (each: CollectionRoute) => literalsOf(each.path).length
  return all.some(
    (list) => list.verb === 'list' && outerOf(list) === outerOf(route) && heightOf(list) < heightOf(route),
  )
}

function unknownKind(word: string, last: string, collections: readonly Collection[]): CommandFailure {
  const ofKubernetes = RESOURCE_KINDS.find(({ kind, plural, shortNames }) =>
    [kind.toLowerCase(), plural, ...shortNames].includes(last),
  )
  if (ofKubernetes !== undefined) {
    const { kind, plural, apiVersion } = ofKubernetes
    const resource = `${plural}.${apiVersion.split('/')[0]}`
    return usage(`REST has no collection of ${kind}s by name: \`kubectl get ${resource}\` shows them.`)
  }
  const known = collections.flatMap(({ noun, singular, also }) => [
    ...[singular, noun],
    ...also.flatMap(({ names, shortNames }) => [...names, ...shortNames]),
  ])
  return usage(`There is no kind "${word}"${suggestion(last, known) || '; `freehold kinds` lists them.'}`)
}

/** Returns the literal segments of a path in reverse, without the last one. */
export function literalsOf(path: string): string[] {
  return path
    .toLowerCase()
    .split('/')
    .filter((segment) => segment !== '' && !segment.startsWith('{'))
    .reverse()
    .slice(1)
}

const isBelow = (literals: readonly string[], parents: readonly string[]) =>
  parents.every((word, index) => literals[index] === word)

/** Returns the parameter values for a route; undefined if one is missing, or `--param` names an unknown one. */
function valuesFor(route: CollectionRoute, given: GivenArguments): Record<string, string> | undefined {
  const { parameters = {} } = given
  if (Object.keys(parameters).some((name) => !route.parameters.includes(name))) return undefined
  const values: Record<string, string> = {}
  for (const parameter of route.parameters) {
    const value = parameters[parameter] ?? givenValue(parameter, route, given)
    if (value === undefined || value === '') return undefined
    values[parameter] = value
  }
  const usesName = route.nameParameter !== undefined && parameters[route.nameParameter] === undefined
  return given.name !== undefined && !usesName ? undefined : values
}

export type Target = { readonly route: CollectionRoute; readonly values: Record<string, string> }

/** Returns the path that reads what a target names; undefined if the collection has none. */
export function readPathOf({ routes }: Collection, { values }: Pick<Target, 'values'> = { values: {} }) {
  const route = routes.find(({ verb, parameters }) => verb === 'get' && parameters.every((name) => name in values))
  return route && pathOf(route.path, values)
}

/**
 * Chooses the one route of a collection for a verb. Of several, the one with the most parameters, because naming a
 * group means the group's list; then the outermost, because `parent/child` can name the others.
 *
 * @param command null if the values do not come from a command line: no forms are suggested then
 * @throws CommandFailure (usage) with what is missing, or the possible meanings of the word
 */
export function chooseRoute(
  collection: Collection,
  verb: Verb,
  given: GivenArguments,
  command: CommandWords | null = { name: verb, positionals: ['KIND', '[NAME]'] },
): Target {
  const ofVerb = collection.routes.filter((route) => route.verb === verb)
  const candidates = ofVerb.filter((route) => route.isLower !== true)
  if (candidates.length === 0) {
    const lower = ofVerb[0] && literalsOf(ofVerb[0].path)[0]
    throw usage(
      describeUnsupportedVerb(collection, verb, lower, command === null ? [] : suggestCalls(collection, verb, given)),
    )
  }
  const targets = targetsOf(candidates, given)
  const [best, ...others] = preferredTargets(targets)
  if (best === undefined) throw usage(explainMisuse(collection, candidates, given, command))
  if (others.length > 0) {
    const spellings = [best, ...others].map((target) => spellingOf(target, targets, collection.noun))
    throw usage(`"${collection.noun}" may mean several things; say one of ${spellings.join(', ')}.`)
  }
  return best
}

/** Returns the preferred targets that are equally good, one per place. */
function preferredTargets(targets: readonly Target[]): Target[] {
  const compare = (one: Target, other: Target) =>
    other.route.parameters.length - one.route.parameters.length || depthOf(one.route) - depthOf(other.route)
  const [best, ...others] = targets.toSorted(compare)
  if (best === undefined) return []
  const equal = [best, ...others.filter((other) => compare(best, other) === 0)]
  return equal.filter(
    ({ route }, at) => equal.findIndex((one) => normalizedPath(one.route) === normalizedPath(route)) === at,
  )
}

const depthOf = ({ path }: CollectionRoute) => path.split('/').length

/** Returns the shortest spelling that is unambiguous among the candidates: `blueprints/sources`. */
function spellingOf({ route }: Target, targets: readonly Target[], noun: string): string {
  const literals = literalsOf(route.path)
  const isEnough = (count: number) => {
    const remaining = preferredTargets(
      targets.filter((one) => isBelow(literalsOf(one.route.path), literals.slice(0, count))),
    )
    return remaining.length === 1 && remaining.every((one) => normalizedPath(one.route) === normalizedPath(route))
  }
  const count = literals.findIndex((_word, index) => isEnough(index + 1)) + 1
  return [...literals.slice(0, count || literals.length).reverse(), noun].join('/')
}

/** Normalises parameters: the API calls the same one `blueprintId` in one route and `slug` in another. */
export const normalizedPath = ({ path }: CollectionRoute) => path.replaceAll(/\{\w+\}/g, '{}')

/** The command as called, for the forms that an error suggests. */
export type CommandWords = {
  readonly name: string
  /** As in its usage line, with `KIND` and `[NAME]`. */
  readonly positionals: readonly string[]
}

const FLAG_VALUES: Readonly<Record<string, string>> = { '--boundary': ' ID', '--group': ' NAME' }

/** Explains what is wrong with the arguments, and lists the valid forms. */
function explainMisuse(
  { noun }: Collection,
  candidates: readonly CollectionRoute[],
  given: GivenArguments,
  command: CommandWords | null,
) {
  const { sentence, missing } = argumentGap(candidates, given)
  if (command === null) return sentence
  const isNamedByPlatform = given.name !== undefined && candidates.every((route) => route.nameParameter === undefined)
  const hint =
    isNamedByPlatform && command.name === 'create' ? ' The platform, or the body, names what is created.' : ''
  const forms = commandLinesFor(candidates, noun, command, given.defaults)
  const list = forms.map((form) => `  ${form}`).join('\n')
  const misuse = describeAllGroupsMisuse(noun, candidates, given)
  const intro = `${misuse ?? sentence}${hint} Valid form${forms.length === 1 ? '' : 's'}:\n${list}`
  return misuse === undefined ? `${intro}${placeHint(missing)}` : intro
}

/** Says where the boundary or the group that is missing can be found. */
function placeHint(missing: readonly string[]): string {
  const place = PLACES.find(({ flag }) => missing.includes(flag))
  if (place === undefined) return ''
  const { kind, flag, value } = place
  return `\n\`freehold list ${kind}\` lists them, and \`freehold use ${flag} ${value}\` sets a default.`
}

const PLACES = [
  { flag: '--boundary', kind: 'boundaries', value: 'ID' },
  { flag: '--group', kind: 'resourcegroups', value: 'NAME' },
] as const

/** Returns the command lines for these routes of one verb. */
export const commandLinesFor = (
  candidates: readonly CollectionRoute[],
  noun: string,
  command: CommandWords,
  defaults: SelectedScope = {},
): string[] => [...new Set(candidates.map((route) => commandLineFor(route, candidates, noun, command, defaults)))]

/** Returns the command line that selects this route among the candidates. */
export function commandLineFor(
  route: CollectionRoute,
  candidates: readonly CollectionRoute[],
  noun: string,
  { name, positionals }: CommandWords,
  defaults: SelectedScope = {},
): string {
  const { nameParameter } = route
  const otherParameters = route.parameters.filter((parameter) => parameter !== nameParameter)
  const isPlace = (parameter: string) => parameter in FLAGS
  const isInGroup = otherParameters.some((parameter) => GROUP_PARAMETERS.includes(parameter))
  // The default group would select the group's list.
  const isAcross = !isInGroup && defaults.group !== undefined && ALL_GROUPS_VERBS.includes(name)
  const complete: GivenArguments = {
    name: nameParameter && 'NAME',
    boundary: otherParameters.includes(BOUNDARY_PARAMETER) ? 'ID' : defaults.boundary,
    group: isInGroup ? 'NAME' : isAcross ? undefined : defaults.group,
    parameters: Object.fromEntries(otherParameters.filter((each) => !isPlace(each)).map((each) => [each, '...'])),
  }
  const targets = targetsOf(candidates, complete)
  const found = preferredTargets(targets)
  const isPlain =
    route.isLower !== true &&
    found.length === 1 &&
    found.every((target) => normalizedPath(target.route) === normalizedPath(route))
  const word = isPlain ? noun : spellingOf({ route, values: {} }, targets, noun)
  const words = positionals.flatMap((positional) => {
    if (positional === 'KIND') return word
    if (!/^\[?NAME\]?$/.test(positional)) return positional
    return nameParameter === undefined ? [] : 'NAME'
  })
  const isSet = (parameter: string) =>
    (parameter === BOUNDARY_PARAMETER ? defaults.boundary : GROUP_PARAMETERS.includes(parameter) && defaults.group) ||
    undefined
  const requiredFlags = otherParameters.filter((parameter) => isSet(parameter) === undefined).map(flagOf)
  const flags = [
    ...requiredFlags.map((flag) => `${flag}${FLAG_VALUES[flag] ?? ''}`),
    ...(isAcross ? ['--all-groups'] : []),
  ]
  const body = route.needsBody === true && BODY_VERBS.includes(name) ? ["-d '{...}'"] : []
  return ['freehold', name, ...words, ...flags, ...body].join(' ')
}

const BODY_VERBS = ['create']
const ALL_GROUPS_VERBS = ['list', 'get']

const targetsOf = (routes: readonly CollectionRoute[], given: GivenArguments): Target[] =>
  routes.flatMap((route) => {
    const values = valuesFor(route, given)
    return values === undefined ? [] : [{ route, values }]
  })
