import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi'
import type { ErrorCode } from '../../core/errors.ts'
import { VERSION } from '../../core/release.ts'
import { EVENT_STREAM, mediaTypesOf, notFollowed } from './negotiation.ts'
import { parametersOf } from './openapiParameters.ts'
import { withNamedRecords } from './openapiRecords.ts'
import { documentedSchema } from './openapiSchemas.ts'
import { type ErrorForm, shownAs } from './problem.ts'
import { honoursIfMatch, type Route } from './route.ts'
import { routeMayRefuseWith, statusesOf } from './statuses.ts'
import { templateSegments } from './template.ts'

const PlatformError = z
  .object({
    error: z.string().describe('One sentence for people; it may change'),
    code: z.string().describe('What a program may rely on'),
    module: z.string(),
    correlationId: z.string(),
    traceId: z.string(),
  })
  .loose()
  .meta({ id: 'PlatformError', description: 'The platform error body; some codes bring further fields' })

const ProblemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    module: z.string(),
    correlationId: z.string(),
  })
  .loose()
  .meta({ id: 'ProblemDetails', description: 'Problem details (RFC 9457); some codes bring further fields' })

const ListEvents = z.string().meta({
  id: 'ListEvents',
  description:
    'The list as events, without pages: `added` for each record that is there, `bookmark` when all have come, then `added`, `modified` and `deleted` (id and name), at last `closed` with an error',
})

/** Description and most usual code of each status, for the examples of both error forms (interface section 7). */
const STATUSES: Readonly<Record<number, readonly [description: string, code?: ErrorCode]>> = {
  200: ['OK'],
  201: ['Created'],
  202: ['Accepted: work continues in the background'],
  204: ['Done, no content'],
  206: ['The part that Range names'],
  302: ['Found: the client is sent elsewhere'],
  400: ['The request is not valid', 'MODEL_BINDING_FAILED'],
  401: ['Not signed in, or the token is not valid', 'UNAUTHORIZED'],
  403: ['The permission is missing at the requested scope', 'FORBIDDEN'],
  404: ['It does not exist, or the caller may not see it', 'NOT_FOUND'],
  406: ['None of the accepted media types is available', 'NOT_ACCEPTABLE'],
  409: ['It conflicts with the current state', 'CONFLICT'],
  410: ['It has expired', 'expired'],
  416: ['The range has no bytes', 'BAD_REQUEST'],
  422: ['A rule of the platform refuses it', 'RULE_VIOLATION'],
  429: ['Too many requests: wait as long as Retry-After says', 'TOO_MANY_REQUESTS'],
  500: ['The platform failed', 'INTERNAL_ERROR'],
  501: ['The other system does not have it', 'NOT_IMPLEMENTED'],
  502: ['Another system failed', 'UPSTREAM_FAILED'],
  503: ['Not available at the moment', 'SERVICE_UNAVAILABLE'],
}

export type DocumentTexts = {
  readonly description?: string
  /** The title of each area, by its name. */
  readonly areas?: Readonly<Record<string, string>>
}

export function documentOf(title: string, routes: readonly Route[], words: DocumentTexts = {}): object {
  const paths: ZodOpenApiPathsObject = {}
  const idOf = operationIds(routes)
  const pathOf = documentedPaths(routes)
  for (const route of routes) {
    const path = pathOf(route)
    const method = route.method.toLowerCase()
    paths[path] = { [method]: operationOf(route, path, idOf(route)), ...paths[path] }
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title,
        version: VERSION,
        description: words.description ?? 'Generated from the routes themselves.',
        contact: { name: 'Freehold', url: 'https://github.com/freehold-dev/freehold' },
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      tags: [...new Set(routes.map(({ area }) => area))].map((name) => ({
        name,
        description: words.areas?.[name] ?? name,
      })),
      servers: [{ url: '/', description: 'The platform that serves this document' }],
      paths,
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'An access token of the identity provider',
          },
          basic: {
            type: 'http',
            scheme: 'basic',
            description: 'A service account by its id and secret, or any name with an access token as the password',
          },
        },
        schemas: { PlatformError, ProblemDetails },
      },
    },
    {
      // A body without a known record, such as a merge patch, may be anything.
      allowEmptySchema: { unknown: true, any: true, custom: true, undefined: true },
      override: documentedSchema,
    },
  )
  return withNamedRecords(document)
}

/** Paths that differ only in parameter names are the same to OpenAPI (4.8.8): the path of the first route is used. */
export function documentedPaths(routes: readonly Route[]): (route: Route) => string {
  const nameless = ({ path }: Route) => path.replaceAll(/\{[^}]+\}/g, '{}')
  const first = new Map(routes.toReversed().map((route) => [nameless(route), route.path]))
  return (route) => first.get(nameless(route)) ?? route.path
}

/** Returns the operation name of the interface, otherwise one from method and path; unique over the routes. */
export function operationIds(routes: readonly Route[]): (route: Route) => string {
  const ids = new Map<Route, string>()
  const usedIds = new Set<string>()
  for (const route of routes) {
    const wanted = route.operation?.replaceAll(/\{|\}/g, '') ?? nameOfPath(route)
    let id = wanted
    for (let count = 2; usedIds.has(id); count += 1) id = `${wanted}${count}`
    usedIds.add(id)
    ids.set(route, id)
  }
  return (route) => ids.get(route) ?? nameOfPath(route)
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'Get',
  POST: 'Post',
  PUT: 'Put',
  PATCH: 'Patch',
  DELETE: 'Delete',
}

function nameOfPath({ method, path }: Route): string {
  const words = templateSegments(path).flatMap(({ kind, text }) =>
    kind === 'literal' ? text.split(/[-:.]/) : ['by', text],
  )
  const own = words.filter((word, index) => !(word === 'by' || words[index - 1] === 'by') || index > words.length - 3)
  return (VERBS[method] ?? method) + own.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
}

function operationOf(route: Route, path: string, operationId: string): ZodOpenApiOperationObject {
  const { summary, area } = route
  return {
    operationId,
    summary,
    description: [describeAuthorization(route), ...describeFurther(route), ...describeFollowing(route)].join(' '),
    ...(route.isAddition && { 'x-freehold-addition': true }),
    tags: [area],
    security: securityOf(route),
    requestParams: parametersOf(route, path),
    ...requestBody(route),
    responses: responsesOf(route),
  }
}

function securityOf({ authorization, takesBasic }: Route): Record<string, string[]>[] {
  if (authorization.kind !== 'anonymous') return [{ bearer: [] }]
  return takesBasic ? [{ basic: [] }, {}] : []
}

function describeFurther({ further }: Route): string[] {
  return further === undefined ? [] : [`May also need ${further}.`]
}

function describeFollowing(route: Route): string[] {
  return route.unfollowed === undefined ? [] : [`It cannot be followed as events: ${notFollowed(route)}.`]
}

function describeAuthorization({ authorization, scope }: Route): string {
  switch (authorization.kind) {
    case 'anonymous':
      return 'Needs no sign-in.'
    case 'authenticated':
      return `Needs ${authorization.needs ?? 'a sign-in'}.`
    case 'iam':
      return `Needs ${authorization.isData ? 'the data action' : 'the action'} \`${authorization.action}\` at the ${scope}.`
  }
}

/** The form that client generators turn into a stream or a file. */
const Bytes = z.unknown().meta({ override: { type: 'string', format: 'binary' }, description: 'Bytes, as they are' })

function requestBody(route: Route): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const { body, documentedBody = body, bodyKind, isBodyOptional, mediaTypes } = route
  if (bodyKind === 'none') return {}
  const schemaOf = (type: string) => documentedBody ?? (type === 'application/json' ? z.unknown() : Bytes)
  const example = route.example === undefined ? {} : { example: route.example }
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: schemaOf(type), ...example }]))
  return { requestBody: { required: !isBodyOptional, content } }
}

/** The responses of a route, including those beyond its own list (records: errors beyond the interface's). */
function responsesOf(route: Route): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    statusesOf(route).map((status) => [String(status), responseOf(route, status)]),
  ) as ZodOpenApiResponsesObject
}

/** Codes of a problem-details route's own refusals, if other routes are refused with this status before they run. */
const OWN_CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'BAD_REQUEST',
  406: 'webhook-not-acceptable',
  429: 'too-many-reports',
  501: 'webhooks-not-supported',
}

const RETRY_HEADERS = z.object({
  'Retry-After': z.int().min(1).optional().describe('Seconds after which to try again'),
})

const REFUSALS = new Map<string, ZodOpenApiResponseObject>()

/** Returns a refusal with its example: always the same object, so that a document contains it once. */
function refusal(status: number, form: ErrorForm, isOwn: boolean): ZodOpenApiResponseObject {
  const key = `${form} ${status} ${isOwn}`
  const known = REFUSALS.get(key) ?? makeRefusal(status, form, isOwn)
  REFUSALS.set(key, known)
  return known
}

function makeRefusal(status: number, form: ErrorForm, isOwn: boolean): ZodOpenApiResponseObject {
  const [description = 'It was refused', code = 'INTERNAL_ERROR'] = STATUSES[status] ?? []
  const place = { module: 'platform', correlationId: '0af76519-16cd-43dd-8448-eb211c80319c' }
  const example = { error: `${description}.`, code, ...place, traceId: '4bf92f3577b34da6a3ce929d0e0e4736' }
  const content = { 'application/json': { schema: PlatformError, example } }
  const headers = [429, 503].includes(status) ? { headers: RETRY_HEADERS } : {}
  if (form === 'platform') return { id: `Refusal${status}`, description, ...headers, content }
  if (form === 'snake') {
    const snake = shownAs(form, code).code
    if (snake === code) return refusal(status, 'platform', false)
    const shown = { 'application/json': { schema: PlatformError, example: { ...example, code: snake } } }
    return { id: `Snake${status}`, description, ...headers, content: shown }
  }
  // An unreadable request is refused before the route runs; one that is not allowed is refused by the route.
  const own = isOwn ? (OWN_CODES[status] ?? code) : code
  const shown = shownAs(form, own)
  if (!shown.isProblem) return refusal(status, 'platform', false)
  const type = `urn:freehold:error:${shown.code}`
  const details = { type, title: shown.code, status, detail: `${description}.`, code: shown.code, ...place }
  const problem = { 'application/problem+json': { schema: ProblemDetails, example: details } }
  const id = `${form === 'problem' ? 'Problem' : 'Failure'}${status}`
  // A path with an impossible name does not match the route, and is refused before it.
  const isAlsoRefusedBefore = own !== code || status === 404
  return { id, description, ...headers, content: { ...(isAlsoRefusedBefore && content), ...problem } }
}

function responseOf(route: Route, status: number) {
  if (status >= 400) {
    const refused = refusal(status, route.errors, route.errors === 'problem' && routeMayRefuseWith(route, status))
    return route.repliesAt.includes(status) ? withReply(refused, route) : refused
  }
  const description = STATUSES[status]?.[0] ?? 'See the description of the area'
  const headers = { ...LOCATIONS[status]?.shape, ...([200, 201].includes(status) && hasEtag(route) && ETAG) }
  return {
    description,
    ...(Object.keys(headers).length > 0 && { headers: z.object(headers) }),
    ...contentOf(route, status),
  }
}

/** The body is the record of the reply, or a refusal, for example of an overloaded platform. */
function withReply({ description, content }: ZodOpenApiResponseObject, route: Route) {
  const { reply = z.unknown() } = route
  const example = content?.['application/json']?.example
  const id = `${reply.meta()?.id ?? route.operation}OrRefusal`
  const schema = z.union([reply, PlatformError]).meta({ id })
  return { description, content: { 'application/json': { schema, example } } }
}

const LOCATIONS: Readonly<Record<number, z.ZodObject>> = {
  201: z.object({ Location: z.string().optional().describe('Path of what was made, where a route reads it') }),
  302: z.object({ Location: z.string().describe('Where the client is sent') }),
}

const ETAG = { ETag: z.string().optional().describe('The version of what is shown, for If-Match unless it is weak') }

const hasEtag = (route: Route) =>
  honoursIfMatch(route) ||
  (route.method === 'GET' && route.list === undefined && route.replyMediaType === 'application/json')

function contentOf(route: Route, status: number): Pick<ZodOpenApiResponseObject, 'content'> {
  const isFile = route.reply === undefined && route.replyMediaType !== 'application/json'
  if (isFile) return { content: { [route.replyMediaType]: { schema: Bytes } } }
  if (route.reply === undefined || status === 204 || status === 302) return {}
  const schemas: Readonly<Record<string, z.ZodType>> = { 'text/plain': z.string(), [EVENT_STREAM]: ListEvents }
  const contents = mediaTypesOf(route).map((type) => [type, { schema: schemas[type] ?? route.reply }])
  return { content: Object.fromEntries(contents) }
}
