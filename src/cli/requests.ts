import { type Client, OPERATIONS, type Operation, pathOf, type QueryValue, type RawAnswer } from '../client/index.ts'
import { parseJsonAnswer } from './answers.ts'
import type { Collection, GivenArguments, Verb } from './collection.ts'
import { chooseRoute, findCollection, type Target } from './collections.ts'
import type { Context, Input, Option, Positional } from './command.ts'
import { openSession, SCOPE_OPTIONS, selectedScope } from './session.ts'
import { parsePairs } from './text.ts'

export const KIND: Positional = { name: 'KIND', offers: 'kinds' }
export const NAME: Positional = { name: 'NAME', isOptional: true, offers: 'names' }
export const NAMED_RESOURCE: readonly Positional[] = [KIND, { name: 'NAME', offers: 'names' }]
/** Returns the input without what follows KIND and NAME. */
export const resourceInput = (input: Input): Input => ({ ...input, positionals: input.positionals.slice(0, 2) })

/** Options for the scope of a resource. */
export const PATH_OPTIONS: readonly Option[] = [
  ...SCOPE_OPTIONS,
  { long: 'param', short: 'p', value: 'NAME=VALUE', isRepeatable: true, summary: 'A further parameter of the path' },
]
export const REQUEST_OPTIONS: readonly Option[] = [
  ...PATH_OPTIONS,
  { long: 'query', short: 'q', value: 'NAME=VALUE', isRepeatable: true, summary: 'A parameter of the query' },
]
export const KIND_HELP =
  'KIND is a plural, singular or short name of `freehold kinds`; if one word has several places, it means the highest; use parent/child for the others.'

/** A request that is ready to be sent. */
export type PreparedRequest = {
  readonly client: Client
  readonly collection: Collection
  readonly target: Target
  readonly query: Record<string, QueryValue>
}

/** @throws CommandFailure (usage) if the arguments match no route, or several */
export async function prepareRequest(verb: Verb, input: Input, context: Context): Promise<PreparedRequest> {
  const { client, settings } = await openSession(context)
  const [word = '', name] = input.positionals
  const place = selectedScope(input, settings)
  const group = input.has('all-groups') ? undefined : place.group
  const parameters = Object.fromEntries(parsePairs('param', input.all('param')))
  const defaults = defaultsIn(input, place)
  const isAcross = input.has('all-groups')
  const given: GivenArguments = { name, boundary: place.boundary, group, parameters, defaults, isAcross }
  const collection = findCollection(word, context.collections)
  const target = chooseRoute(collection, verb, given, input.command)
  const query: Record<string, string[]> = {}
  for (const [key, value] of parsePairs('query', input.all('query'))) query[key] = [...(query[key] ?? []), value]
  return { client, collection, target, query }
}

/** Returns the part of the place that comes from the configuration. */
function defaultsIn(input: Input, { boundary, group }: ReturnType<typeof selectedScope>) {
  return {
    ...(input.text('boundary') === undefined && { boundary }),
    ...(input.text('group') === undefined && !input.has('all-groups') && { group }),
  }
}

/** Sends the request and parses the JSON; undefined if the answer has no body. */
export const send = async (prepared: Omit<PreparedRequest, 'collection'>, body?: unknown): Promise<unknown> =>
  parseJsonAnswer(await requestRawAnswer(prepared, body))

/** Sends the request and returns the raw answer. */
export function requestRawAnswer(
  { client, target, query }: Omit<PreparedRequest, 'collection'>,
  body?: unknown,
): Promise<RawAnswer> {
  const { route, values } = target
  return client.request({ method: route.method, path: pathOf(route.path, values, query), body })
}

/** A route below a resource: its path after the resource's own, such as `scale` or `actions/{action}`. */
export type SubresourceRoute = { readonly words: string; readonly operation: Operation }

/** Returns all routes below a resource, from the route table. */
export function listSubresourceRoutes({ route }: Target, method: Operation['method']): SubresourceRoute[] {
  const parentSegments = route.path.split('/')
  // Parameters match whatever their name: the API calls the same one `name` in one route and `appName` in another.
  const isSame = (one: string, other = '') => one === other || (one.startsWith('{') && other.startsWith('{'))
  return Object.values(OPERATIONS).flatMap((operation) => {
    const { path, method: operationMethod } = operation
    const segments = path.split('/')
    const isBelow =
      segments.length > parentSegments.length && parentSegments.every((segment, at) => isSame(segment, segments[at]))
    if (operationMethod !== method || !isBelow) return []
    const below = segments.slice(parentSegments.length)
    return [{ words: below.join('/'), operation: { ...operation, path: [...parentSegments, ...below].join('/') } }]
  })
}

/** Finds the route for a path such as `revisions/1/diff/2`, with its parameter values. */
export function findSubresourceRoute(
  routes: readonly SubresourceRoute[],
  words: string,
): { route: SubresourceRoute; values: Record<string, string> } | undefined {
  const givenSegments = words.split('/')
  const found = routes.flatMap((route) => {
    const routeSegments = route.words.split('/')
    const isSame =
      routeSegments.length === givenSegments.length &&
      routeSegments.every((word, at) => word.startsWith('{') || word === givenSegments[at])
    if (!isSame) return []
    const named = routeSegments.flatMap((word, at) =>
      word.startsWith('{') ? [[word.slice(1, -1), givenSegments[at] ?? '']] : [],
    )
    return [{ route, values: Object.fromEntries(named) as Record<string, string> }]
  })
  // A literal segment takes precedence over a parameter.
  return found.sort((one, other) => Object.keys(one.values).length - Object.keys(other.values).length)[0]
}

type SubresourceRequest = { values?: Record<string, string>; body?: unknown }

/** Sends to a route below a resource, and parses the JSON. */
export const sendToSubresource = async (
  prepared: Pick<PreparedRequest, 'client' | 'target'>,
  route: SubresourceRoute,
  more?: SubresourceRequest,
): Promise<unknown> => parseJsonAnswer(await requestSubresource(prepared, route, more))

/** Sends to a route below a resource, and returns the raw answer. */
export function requestSubresource(
  { client, target }: Pick<PreparedRequest, 'client' | 'target'>,
  { operation }: SubresourceRoute,
  { values = {}, body }: SubresourceRequest = {},
): Promise<RawAnswer> {
  // The largest page.
  const query = operation.paged === true ? { pageSize: 500 } : {}
  const path = pathOf(operation.path, { ...target.values, ...values }, query)
  return client.request({ method: operation.method, path, body })
}
