import type { z } from 'zod'
import type { ActionName } from '../../core/actions.ts'
import type { ListShape } from '../resources/paging.ts'
import type { Answer } from './answer.ts'
import type { Context, Services } from './context.ts'
import { interfaceRow } from './interface.ts'
import type { ErrorForm } from './problem.ts'
import { expandPath, levelOfPath, type PathParameters } from './template.ts'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]
export type ScopeLevel = 'root' | 'boundary' | 'resourceGroup' | 'resource'

/** Who may call a route. Never absent: a route without a permission says so explicitly. */
export type Authorization =
  | {
      readonly kind: 'anonymous'
      /** The handler verifies a signature that identifies the sender, and calls `prove`. */
      readonly isSigned?: true
    }
  /** Signed in; the handler checks the object that it touches, and answers 404 for missing and hidden ones alike. */
  | {
      readonly kind: 'authenticated'
      /** The permission that the handler checks, in words: the path alone does not say where. */
      readonly needs?: string
    }
  | { readonly kind: 'iam'; readonly action: ActionName; readonly isData: boolean }

export const anonymous: Authorization = { kind: 'anonymous' }
export const signed: Authorization = { kind: 'anonymous', isSigned: true }
export const authenticated: Authorization = { kind: 'authenticated' }
/** For a permission that the handler checks itself, described in words. */
export const checkedByHandler = (needs: string): Authorization => ({ kind: 'authenticated', needs })
export function action(name: ActionName): Authorization {
  return { kind: 'iam', action: name, isData: false }
}
/** A permission that only the `dataActions` of a role grant: secrets, logs, files. */
export function dataAction(name: ActionName): Authorization {
  return { kind: 'iam', action: name, isData: true }
}

/** `none`: the route takes no body, and refuses any but an empty one. `raw`: the handler reads the stream itself. */
export type BodyKind = 'none' | 'json' | 'raw'

/** The rule for a name: in words, as `must have ...`, and as a pattern. */
export type NamingRule = { readonly rule: string; readonly pattern: string }

/** Optional parts of a declaration, with defaults. */
type RouteOptions = {
  /** The level at which the permission is checked; the level of the path if absent. */
  readonly scope?: ScopeLevel | undefined
  /** Path parameters that may hold any text, such as the key of a row; only below the scope. */
  readonly opaque?: readonly string[]
  /**
   * Returns the scope if the path does not contain it. Undefined if the object is unknown, so that only holders of the
   * permission at the root learn that.
   */
  readonly scopeFrom?:
    | ((parameters: Readonly<Record<string, string>>, services: Services) => string | undefined)
    | undefined
  /** Authorizes a caller who lacks the permission at `scope`: for routes with an additional rule of their own. */
  readonly mayPass?:
    | ((caller: string, services: Services, parameters: Readonly<Record<string, string>>) => boolean)
    | undefined
  /** The handler itself answers callers that no longer exist, because the interface has a code for this row. */
  readonly answersUnknownCallers?: boolean
  /** The body names the object that is created, or replaced if it exists. */
  readonly isNamedByBody?: boolean
  /** For routes other than PUT, PATCH, DELETE and creations: the handler compares If-Match with what it changes. */
  readonly isHeld?: boolean
  /** The rule for the last name in the path, for objects that are created there. */
  readonly naming?: NamingRule | undefined
  /** What else the handler may require, worded to follow `May also need`. */
  readonly further?: string | undefined
  /** On an anonymous route: Basic credentials (RFC 7617) are accepted. */
  readonly takesBasic?: boolean
  /** Unknown query parameters are ignored, as anonymous OAuth-like routes do. */
  readonly ignoresUnknownQuery?: boolean
  readonly list?: ListShape<never> | undefined
  /** Where a list comes from if that is not watched: it then cannot be followed as a stream of events. */
  readonly unfollowed?: string | undefined
  /** The documented body, if the handler validates with more than a schema; `body` if absent. */
  readonly documentedBody?: z.ZodType | undefined
  /** A working body, for the documents. */
  readonly example?: object | undefined
  readonly bodyKind?: BodyKind
  /** A body may be left out; the handler then sees undefined. */
  readonly isBodyOptional?: boolean
  /** Bytes; 1 MiB if absent. */
  readonly bodyLimit?: number | undefined
  /** Media types of the body; `application/json` if absent. */
  readonly mediaTypes?: readonly string[]
  readonly replyMediaType?: string
  /** Statuses beyond those of the interface's row; without a row, all statuses: 200 if absent. */
  readonly answers?: readonly number[]
  /** Error statuses that may carry the reply too, such as a readiness check that fails. */
  readonly repliesAt?: readonly number[]
  /** The form of error bodies (interface section 7). */
  readonly errors?: ErrorForm
}

export type Route = Required<RouteOptions> & {
  readonly area: string
  /** The name of the module in errors, documents and metrics. */
  readonly module: string
  readonly method: Method
  /** Expanded, with parameters in braces. */
  readonly path: string
  readonly authorization: Authorization
  /** The operation name of the interface; undefined if it shows none. */
  readonly operation: string | undefined
  readonly summary: string
  readonly query: z.ZodObject | undefined
  readonly body: z.ZodType | undefined
  readonly reply: z.ZodType | undefined
  /** Not a row of the interface: it follows the same rules, and is marked in documents. */
  readonly isAddition: boolean
  /** The kind of custom resource that the route reads or writes, if its declaration says so. */
  readonly kind?: string
  readonly handler: (context: Context) => Answer | Promise<Answer>
}

export type Declaration<Query extends z.ZodObject, Body extends z.ZodType, Reply extends z.ZodType> = RouteOptions & {
  auth: Authorization
  summary: string
  query?: Query
  body?: Body
  /** The body of 2xx answers; nothing for answers without a body. */
  reply?: Reply
}

export type Handler<Path extends string, Query extends z.ZodObject, Body extends z.ZodType, Reply extends z.ZodType> = (
  context: Context<PathParameters<Path>, z.output<Query>, z.output<Body>>,
) => Answer<z.input<Reply>> | Promise<Answer<z.input<Reply>>>

/** A route before it is part of an area. */
export type RouteDraft = Omit<Route, 'area' | 'module' | 'isAddition'>

/**
 * Declares one route. Routing, authorization, the OpenAPI document and the typed client follow from it.
 *
 * @param path as the interface writes it, with `{B}` and `{RG}` for the boundary and the resources of a group
 */
export function route<
  const Path extends string,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodUndefined,
  Reply extends z.ZodType = z.ZodAny,
>(
  method: Method,
  path: Path,
  declaration: Declaration<Query, Body, Reply> & { handler: Handler<Path, Query, Body, Reply> },
): RouteDraft {
  const expanded = expandPath(path)
  const {
    auth,
    summary,
    query,
    body,
    reply,
    scope = levelOfPath(expanded),
    answers = [],
    handler,
    ...fields
  } = declaration
  const row = interfaceRow({ method, path: expanded })
  const all = new Set([...(row?.answers ?? []), ...answers])
  return {
    ...ROUTE_DEFAULTS,
    bodyKind: body === undefined ? 'none' : 'json',
    ...fields,
    method,
    path: expanded,
    authorization: auth,
    scope: auth.kind === 'iam' ? scope : undefined,
    operation: row?.operation,
    summary,
    query,
    body,
    reply,
    answers: all.size === 0 ? [200] : [...all],
    // The router passes on what the declaration's own schemas have parsed.
    handler: handler as unknown as Route['handler'],
  }
}

/** Defaults for all fields, so that all routes have one shape. */
const ROUTE_DEFAULTS = {
  opaque: [],
  scopeFrom: undefined,
  mayPass: undefined,
  answersUnknownCallers: false,
  isNamedByBody: false,
  isHeld: false,
  naming: undefined,
  further: undefined,
  takesBasic: false,
  ignoresUnknownQuery: false,
  list: undefined,
  unfollowed: undefined,
  documentedBody: undefined,
  example: undefined,
  isBodyOptional: false,
  bodyLimit: undefined,
  mediaTypes: ['application/json'],
  replyMediaType: 'application/json',
  repliesAt: [],
  errors: 'platform',
} satisfies Omit<Required<RouteOptions>, 'answers' | 'bodyKind' | 'scope'>

/** Rows of a table carry their version in the body; files, uploads and backups have no version. */
const UNVERSIONED_PATHS = /\/editor\/|\/files$|\/apps\/\{appName\}\/source$|^\/lifecycle\/backups\/\{name\}$/

/** Whether the route's writes can be conditional on the version that the caller has read. */
export function honoursIfMatch(
  route: Pick<Route, 'method' | 'path' | 'answers' | 'isNamedByBody' | 'isHeld'>,
): boolean {
  if (['PUT', 'PATCH', 'DELETE'].includes(route.method)) return !UNVERSIONED_PATHS.test(route.path)
  const makes = route.method === 'POST' && route.answers.includes(201)
  return route.isHeld || (makes && !createsUnnamed(route) && (route.path.endsWith('}') || route.isNamedByBody))
}

/** Marks routes as belonging to a kind, so that clients find them by the names of the kind. */
export const withKind = ({ kind }: { readonly kind: string }, drafts: readonly RouteDraft[]): RouteDraft[] =>
  drafts.map((draft) => ({ ...draft, kind }))

export type Area = {
  readonly name: string
  readonly module: string
  /** The routes that are rows of the interface. */
  readonly routes: readonly Route[]
  /** Further routes: they read back, correct or delete what the interface lets callers create. */
  readonly additions: readonly Route[]
}

/**
 * Declares the routes of one area, in the order of its documents. A kind's generic routes (`resource(...)`) are one
 * list among the others.
 */
export function area(
  name: string,
  module: string,
  drafts: readonly (RouteDraft | readonly RouteDraft[])[],
  common: { readonly errors?: ErrorForm } = {},
): Area {
  const all = drafts.flat().map((draft) => {
    return { ...draft, ...common, area: name, module, isAddition: interfaceRow(draft) === undefined }
  })
  const [routes, additions] = [all.filter((each) => !each.isAddition), all.filter((each) => each.isAddition)]
  return { name, module, routes, additions }
}

/** Whether neither path nor body of a creation names the new object, so that there is nothing to compare with. */
export function createsUnnamed({
  method,
  path,
  answers,
  isNamedByBody,
}: Pick<Route, 'method' | 'path' | 'answers' | 'isNamedByBody'>): boolean {
  return method === 'POST' && answers.includes(201) && !path.endsWith('}') && !isNamedByBody
}
