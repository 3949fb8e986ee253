import { OPERATIONS } from './generated.ts'
import type { Operation } from './operation.ts'
import { pause } from './waiting.ts'

export * from './generated.ts'
export * from './issuer.ts'
export type { Operation } from './operation.ts'
export * from './waiting.ts'

type Table = typeof OPERATIONS
export type OperationName = keyof Table
type ParametersOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersOf<Rest>
  : never
type QueryNameOf<Name extends OperationName> = Table[Name] extends { query: readonly (infer Query extends string)[] }
  ? Query
  : never
type TypesOf<Name extends OperationName> = NonNullable<Table[Name]['types']>
type BodyOf<Name extends OperationName> = TypesOf<Name>['body']
type ReplyOf<Name extends OperationName> = TypesOf<Name>['reply']

export type QueryValue = string | number | boolean | readonly string[] | undefined
type PathPart<Path extends string> = [ParametersOf<Path>] extends [never]
  ? { path?: Record<string, never> }
  : { path: { [Parameter in ParametersOf<Path>]: string } }
/** The input of an operation. `path` is required exactly if the path has parameters. */
export type InputOf<Name extends OperationName> = PathPart<Table[Name]['path']> & {
  query?: { [Query in QueryNameOf<Name>]?: QueryValue }
  body?: BodyOf<Name>
  headers?: Record<string, string>
  signal?: AbortSignal
}
type PagedName = { [Name in OperationName]: Table[Name] extends { paged: true } ? Name : never }[OperationName]
type ItemOf<Reply> = Reply extends { items: Array<infer Item> } ? Item : unknown

/** One method per operation of the interface. */
export type Operations = {
  readonly [Name in OperationName]: (input: InputOf<Name>) => Promise<ReplyOf<Name>>
}

export type RawRequest = {
  method: string
  /** Relative to the base URL, including the query. */
  path: string
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}
export type RawAnswer = {
  status: number
  headers: Headers
  text: string
  /** The unchanged body, for binary content such as archives. */
  bytes: Uint8Array
}

/** A paged list: await it for the first page, or iterate it for all items. */
export type Paged<Reply, Item> = PromiseLike<Reply> & AsyncIterable<Item>
type Named<Name extends OperationName> = (
  ...input: Record<string, never> extends InputOf<Name> ? [input?: InputOf<Name>] : [input: InputOf<Name>]
) => Name extends PagedName ? Paged<ReplyOf<Name>, ItemOf<ReplyOf<Name>>> : Promise<ReplyOf<Name>>
/** The operations by noun and verb: `client.vectorClusters.create({path, body})`. */
export type Api = {
  readonly [Noun in Table[OperationName]['name'] extends `${infer Noun}.${string}` ? Noun : never]: {
    readonly [Name in OperationName as Table[Name]['name'] extends `${Noun}.${infer Verb}` ? Verb : never]: Named<Name>
  }
}

export interface Client extends Api {
  readonly operations: Operations
  /** Iterates all items of a list, fetching pages as needed. */
  pages<Name extends PagedName>(name: Name, input: InputOf<Name>): AsyncGenerator<ItemOf<ReplyOf<Name>>>
  /**
   * Sends any request. @throws PlatformApiError for every status of 400 and above, NetworkError if there is no response
   */
  request(request: RawRequest): Promise<RawAnswer>
  /** Streams a response that may not end, such as a followed log, as chunks of text. */
  stream(request: RawRequest): AsyncGenerator<string>
}

export type ClientOptions = {
  /** Address of the facade. */
  baseUrl: string
  /**
   * Called before each request. `rejected` is a token that was just refused with 401; a new one is requested once. If
   * absent, requests are anonymous.
   */
  token?: (rejected?: string) => Promise<string>
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How often an idempotent request is retried after 429 or 503; defaults to 4. */
  retries?: number
  /** How often it is retried after a connection failure; defaults to 2. */
  connectionRetries?: number
  /** Waits for so many milliseconds. For tests. */
  wait?: (milliseconds: number, signal?: AbortSignal) => Promise<void>
}

/** An error response of the platform (interface section 7, both forms of bodies). */
export class PlatformApiError extends Error {
  readonly status: number
  /** Stable; `HTTP_<status>` if the response came from an intermediary. */
  readonly code: string
  /** The body, parsed if it is JSON. */
  readonly body: unknown
  readonly correlationId: string | undefined
  /** Seconds until a retry may succeed; undefined if retrying does not help or the time is unknown. */
  readonly retryAfter: number | undefined

  constructor(status: number, headers: Headers, text: string) {
    const body = parsed(text)
    const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
    const textOf = (name: string) => (typeof fields[name] === 'string' ? (fields[name] as string) : undefined)
    super(textOf('error') ?? textOf('detail') ?? `The platform answered ${status}.`)
    this.name = 'PlatformApiError'
    this.status = status
    this.code = textOf('code') ?? `HTTP_${status}`
    this.body = body
    this.correlationId = textOf('correlationId') ?? headers.get('x-correlation-id') ?? undefined
    this.retryAfter = retryAfterSeconds(headers.get('retry-after'))
  }
}

/** There was no response: name not found, connection refused or reset, or certificate not trusted. */
export class NetworkError extends Error {
  constructor(url: string, cause: unknown) {
    const rootCause = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
    // If several addresses fail, the error has an empty message.
    const { message, code } = Object(rootCause) as { message?: string; code?: string }
    super(`No answer from ${new URL(url).origin}: ${message || code || String(rootCause)}`, { cause })
    this.name = 'NetworkError'
  }
}

const RETRIES = 4
const CONNECTION_RETRIES = 2
/** Milliseconds, doubled for each further attempt. */
const FIRST_PAUSE = 250
/** Longer waits are left to the caller, who gets the 429 instead. */
const LONGEST_WAIT_SECONDS = 60
/** Idempotent methods (RFC 9110 section 9.2.2), which may be retried. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

type Open = (request: RawRequest, token: string | undefined) => Promise<Response>

/** Sends one request and returns any response. */
function opener({ baseUrl, fetch: given }: ClientOptions): Open {
  const base = baseUrl.replace(/\/+$/, '')
  const send = given ?? ((url: string, init: RequestInit) => fetch(url, init))
  return async (request, token) => {
    const url = `${base}${request.path}`
    const headers: Record<string, string> = { accept: 'application/json' }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    const init: RequestInit = { method: request.method, redirect: 'manual' }
    if (request.body !== undefined) {
      const isWhole = typeof request.body === 'string' || request.body instanceof Uint8Array
      headers['content-type'] = request.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      init.body = isWhole ? (request.body as string) : JSON.stringify(request.body)
    }
    for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
    init.headers = headers
    if (request.signal !== undefined) init.signal = request.signal
    try {
      return await send(url, init)
    } catch (error) {
      if (request.signal?.aborted) throw error
      throw new NetworkError(url, error)
    }
  }
}

/** Sends a request and retries it: once with a new token, and after temporary failures. */
function requester(options: ClientOptions, open: Open): Client['request'] {
  const base = options.baseUrl.replace(/\/+$/, '')
  const retries = options.retries ?? RETRIES
  const wait = options.wait ?? pause

  const once = async (request: RawRequest, token: string | undefined): Promise<RawAnswer> => {
    const answer = await open(request, token)
    try {
      const bytes = new Uint8Array(await answer.arrayBuffer())
      return { status: answer.status, headers: answer.headers, text: new TextDecoder().decode(bytes), bytes }
    } catch (error) {
      if (request.signal?.aborted) throw error
      throw new NetworkError(`${base}${request.path}`, error)
    }
  }

  return async (given) => {
    let token = await options.token?.()
    let isRenewed = false
    for (let attempt = 0; ; ) {
      const answer = await once(given, token).catch((error) => {
        const mayRepeat = error instanceof NetworkError && IDEMPOTENT.has(given.method)
        if (!mayRepeat || attempt >= (options.connectionRetries ?? CONNECTION_RETRIES)) throw error
        return undefined
      })
      if (answer === undefined) {
        await wait(FIRST_PAUSE * 2 ** attempt, given.signal)
        attempt += 1
        continue
      }
      if (answer.status < 400) return answer
      if (answer.status === 401 && !isRenewed) {
        isRenewed = true
        const newToken = await renewed(options.token, token)
        if (newToken !== undefined) {
          token = newToken
          continue
        }
      }
      const milliseconds = pauseOf(given.method, answer, attempt)
      if (milliseconds === undefined || attempt >= retries) {
        throw new PlatformApiError(answer.status, answer.headers, answer.text)
      }
      attempt += 1
      await wait(milliseconds, given.signal)
    }
  }
}

type Run = (name: OperationName, input: AnyInput) => Promise<unknown>

/** Returns the operations under their names. */
function apiOf(run: Run): Api {
  const call =
    (name: OperationName) =>
    (input: AnyInput = {}) => {
      const reply = () => run(name, input)
      if (!('paged' in OPERATIONS[name])) return reply()
      const fetchPage = (query: Record<string, QueryValue>) => run(name, { ...input, query })
      return { ...lazily(reply), [Symbol.asyncIterator]: () => pagesOf(fetchPage, input.query ?? {}) }
    }
  const api: Record<string, Record<string, unknown>> = {}
  for (const id of Object.keys(OPERATIONS) as OperationName[]) {
    const [noun = '', verb = ''] = OPERATIONS[id].name.split('.')
    api[noun] = { ...api[noun], [verb]: call(id) }
  }
  return api as Api
}

/**
 * Creates a client of the platform's REST interface: `createClient({baseUrl, token}).boundaries.get({path})`.
 * Idempotent requests are retried after 429 and 503, honouring Retry-After.
 */
export function createClient(options: ClientOptions): Client {
  const open = opener(options)
  const request = requester(options, open)
  const run = async (name: OperationName, input: AnyInput): Promise<unknown> => {
    const { method, path } = OPERATIONS[name] as Operation
    const { text } = await request({ ...input, method, path: pathOf(path, input.path ?? {}, input.query ?? {}) })
    if (text === '') return undefined
    const value = parsed(text)
    return value === undefined ? text : value
  }
  const operations = Object.fromEntries(
    Object.keys(OPERATIONS).map((name) => [name, (input: AnyInput) => run(name as OperationName, input)]),
  ) as unknown as Operations

  return {
    ...apiOf(run),
    operations,
    request,
    stream: (given) => streamed(given, open, options.token),
    async *pages(name, input) {
      const fetchPage = (query: Record<string, QueryValue>) => run(name, { ...(input as AnyInput), query })
      yield* pagesOf(fetchPage, (input as AnyInput).query ?? {}) as AsyncGenerator<never>
    },
  }
}

/** A thenable that sends the request when awaited, because iterating must not fetch the first page twice. */
function lazily<T>(ask: () => Promise<T>): PromiseLike<T> {
  // biome-ignore lint/suspicious/noThenProperty: that is what makes it a promise to `await`.
  return { then: (done, failed) => ask().then(done, failed) }
}

type TokenSource = ClientOptions['token']

/** Returns a new token; undefined if the source only has the one that was refused. */
async function renewed(source: TokenSource, rejected: string | undefined): Promise<string | undefined> {
  const newToken = await source?.(rejected)
  return newToken === rejected ? undefined : newToken
}

async function* streamed(given: RawRequest, open: Open, source: TokenSource): AsyncGenerator<string> {
  const token = await source?.()
  let answer = await open(given, token)
  const newToken = answer.status === 401 ? await renewed(source, token) : undefined
  if (newToken !== undefined) answer = await open(given, newToken)
  if (answer.status >= 400) throw new PlatformApiError(answer.status, answer.headers, await answer.text())
  const decoder = new TextDecoder()
  // Not every browser supports iterating over a body.
  const reader = answer.body?.getReader()
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      yield decoder.decode(read.value, { stream: true })
    }
  } finally {
    await reader?.cancel()
  }
}

type AnyInput = Omit<RawRequest, 'method' | 'path'> & {
  path?: Record<string, string>
  query?: Record<string, QueryValue>
}

/** Yields the items of a paged list, an unpaged list or a bare array. */
export async function* pagesOf(
  fetchPage: (query: Record<string, QueryValue>) => Promise<unknown>,
  query: Record<string, QueryValue>,
): AsyncGenerator<unknown> {
  for (let page = Number(query.page ?? 1); ; page += 1) {
    const reply = await fetchPage({ ...query, page })
    if (Array.isArray(reply)) {
      yield* reply
      return
    }
    const { items = [], pagination } = reply as { items?: unknown[]; pagination?: { hasNextPage?: boolean } }
    yield* items
    if (pagination?.hasNextPage !== true || items.length === 0) return
  }
}

/** Fills in a path template. @throws TypeError for a parameter that is missing, empty or a dot segment */
export function pathOf(
  template: string,
  parameters: Readonly<Record<string, string>>,
  query: Readonly<Record<string, QueryValue>> = {},
): string {
  const path = template.replace(/\{([A-Za-z]+)\}/g, (_whole, name: string) => {
    const value = parameters[name]
    if (value === undefined || value === '') throw new TypeError(`The path ${template} needs a value for ${name}.`)
    const segments = name === 'path' ? value.split('/') : [value]
    // The URL parser would resolve dot segments, removing the segment before.
    if (segments.some((segment) => segment === '.' || segment === '..')) {
      throw new TypeError(`"${value}" cannot be the ${name} of ${template}.`)
    }
    return segments.map(encodeURIComponent).join('/')
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, String(item))
  }
  return search.size === 0 ? path : `${path}?${search}`
}

/** Returns the milliseconds to wait before a retry; undefined if the request must not be retried. */
function pauseOf(method: string, { status, headers }: RawAnswer, attempt: number): number | undefined {
  if (!IDEMPOTENT.has(method) || (status !== 429 && status !== 503)) return undefined
  const seconds = retryAfterSeconds(headers.get('retry-after'))
  if (seconds === undefined) return FIRST_PAUSE * 2 ** attempt
  return seconds > LONGEST_WAIT_SECONDS ? undefined : seconds * 1000
}

/** RFC 9110 section 10.2.3: seconds or a date. */
function retryAfterSeconds(text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}

/** Returns undefined for a text that is not JSON, which null is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
