import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher } from 'undici'
import type { ClusterAccess } from '../../src/kubeconfig/access.ts'
import { linesOf } from './lines.ts'
import { type ProxiedRequest, readRequest } from './request.ts'

export type { ProxiedRequest } from './request.ts'

/** What happens to a request that matches a rule. Times in milliseconds. */
export type Fault =
  /** The request never reaches the server; the client sees a reset. */
  | { kind: 'drop' }
  /** The server executes the request, and the client sees a reset: the answer is lost. */
  | { kind: 'loseAnswer' }
  /** The connection stays open in both directions, without an answer. */
  | { kind: 'hang' }
  | { kind: 'delay'; milliseconds: number }
  /** Answered by the proxy, in the API server's format. */
  | { kind: 'answer'; status: 401 | 403 | 404 | 409 | 410 | 429 | 500 | 503; retryAfterSeconds?: number }
  /** Events of watches, including open ones, are held back until the rule is lifted. */
  | { kind: 'holdEvents' }
  /** Events of watches, including open ones, are lost; `times` counts events. By default every event. */
  | { kind: 'loseEvents'; which?: (event: { type: string; object: { metadata?: { name?: string } } }) => boolean }
  /** A watch is reset after so many events. */
  | { kind: 'cutAfter'; events: number }

export type FaultRule = {
  fault: Fault
  /** By default every request. */
  when?: (request: ProxiedRequest) => boolean
  /** How often it applies; by default until it is lifted. */
  times?: number
  /** Runs at the moment of the fault, before it: the place to kill a process. */
  onStrike?: (request: ProxiedRequest) => void
}

export type Counts = {
  total: number
  /** By `<verb> <resource>`, such as `watch vectorclusters.data.freehold.dev`. */
  by: Record<string, number>
}

export type FaultProxy = {
  url: string
  /** A kubeconfig, as YAML, that uses the proxy with the proxy's own credentials. */
  kubeconfig: string
  /** Requests since the start or the last `reset`. */
  counts(): Counts
  /** Requests with a verb and, if given, for a resource. */
  count(verb: string, resource?: string): number
  /** Every request since the last `reset`, oldest first. */
  requests(): readonly ProxiedRequest[]
  reset(): void
  /** Adds a rule; newer rules take precedence. @returns a function that removes it */
  fault(rule: FaultRule): () => void
  /** Writes a line into open watches, such as an ERROR event or invalid JSON. @returns the number of watches */
  inject(line: string, when?: (request: ProxiedRequest) => boolean): number
  /** Resets every open connection, as a restart of the server would. */
  resetConnections(): void
  close(): Promise<void>
}

/**
 * A proxy in front of an API server that counts requests and injects faults. It speaks plain HTTP on loopback and adds
 * its own credentials, unless the request has some.
 */
export async function startProxy({
  upstream,
  port = 0,
}: {
  upstream: ClusterAccess
  port?: number
}): Promise<FaultProxy> {
  const proxy = new CountingProxy(upstream, new Agent({ connect: await upstream.tls(), allowH2: false }))
  await proxy.listen(port)
  return proxy
}

type Exchange = { incoming: IncomingMessage; response: ServerResponse; request: ProxiedRequest; rule: Rule | undefined }

type Rule = FaultRule & { left: number; lifted: AbortController }

class CountingProxy implements FaultProxy {
  readonly #upstream: ClusterAccess
  readonly #agent: Agent
  readonly #server: Server
  readonly #rules: Rule[] = []
  readonly #watches = new Map<ServerResponse, ProxiedRequest>()
  #requests: ProxiedRequest[] = []
  url = ''

  constructor(upstream: ClusterAccess, agent: Agent) {
    this.#upstream = upstream
    this.#agent = agent
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
    this.#server.keepAliveTimeout = 60_000
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get kubeconfig(): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'proxy',
      clusters: [{ name: 'proxy', cluster: { server: this.url } }],
      users: [{ name: 'proxy', user: {} }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
    })
  }

  counts(): Counts {
    const by: Record<string, number> = {}
    for (const { verb, resource } of this.#requests) by[`${verb} ${resource}`] = (by[`${verb} ${resource}`] ?? 0) + 1
    return { total: this.#requests.length, by }
  }

  count(verb: string, resource?: string): number {
    return this.#requests.filter((r) => r.verb === verb && (resource === undefined || r.resource === resource)).length
  }

  requests(): readonly ProxiedRequest[] {
    return [...this.#requests]
  }

  reset(): void {
    this.#requests = []
  }

  fault(rule: FaultRule): () => void {
    const active: Rule = { ...rule, left: rule.times ?? Number.POSITIVE_INFINITY, lifted: new AbortController() }
    this.#rules.unshift(active)
    return () => {
      active.left = 0
      active.lifted.abort()
    }
  }

  inject(line: string, when: (request: ProxiedRequest) => boolean = () => true): number {
    const reached = [...this.#watches].filter(([, request]) => when(request))
    for (const [response] of reached) response.write(`${line}\n`)
    return reached.length
  }

  resetConnections(): void {
    this.#server.closeAllConnections()
  }

  async close(): Promise<void> {
    for (const rule of this.#rules) {
      rule.left = 0
      rule.lifted.abort()
    }
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await this.#agent.destroy()
  }

  #matching(request: ProxiedRequest, ofEvents: boolean): Rule | undefined {
    const isOfEvents = ({ fault: { kind } }: Rule) => kind === 'holdEvents' || kind === 'loseEvents'
    return this.#rules.find((rule) => rule.left > 0 && isOfEvents(rule) === ofEvents && (rule.when?.(request) ?? true))
  }

  #strike(request: ProxiedRequest): Rule | undefined {
    const rule = this.#matching(request, false)
    if (rule === undefined) return undefined
    rule.left -= 1
    rule.onStrike?.(request)
    return rule
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = readRequest(incoming)
    this.#requests.push(request)
    const rule = this.#strike(request)
    const fault = rule?.fault
    if (fault?.kind === 'drop') {
      incoming.socket.destroy()
      return
    }
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'answer') {
      answer(response, fault)
      return
    }
    if (fault?.kind === 'delay')
      await sleep(fault.milliseconds, undefined, { signal: rule?.lifted.signal }).catch(() => {})
    await this.#forward({ incoming, response, request, rule })
  }

  async #forward({ incoming, response, request, rule }: Exchange): Promise<void> {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const url = new URL(this.#upstream.server)
    const answered = await this.#agent.request({
      origin: url.origin,
      path: url.pathname.replace(/\/$/, '') + (incoming.url ?? '/'),
      method: (incoming.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: await this.#headers(incoming.headers),
      body: incoming.method === 'GET' ? null : incoming,
      signal: gone.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    if (rule?.fault.kind === 'loseAnswer') {
      await answered.body.dump()
      incoming.socket.destroy()
      return
    }
    const { connection: _connection, 'keep-alive': _keepAlive, ...headers } = answered.headers
    response.writeHead(answered.statusCode, headers)
    response.flushHeaders()
    if (request.verb === 'watch' && answered.statusCode === 200) {
      await this.#passEvents({ incoming, response, request, rule }, answered.body)
    } else {
      for await (const chunk of answered.body) await write(response, chunk)
      response.end()
    }
  }

  async #passEvents({ incoming, response, request, rule }: Exchange, body: AsyncIterable<Buffer>): Promise<void> {
    let left = rule?.fault.kind === 'cutAfter' ? rule.fault.events : Number.POSITIVE_INFINITY
    this.#watches.set(response, request)
    try {
      for await (const line of linesOf(body)) {
        if (!(await this.#passes(request, line))) continue
        await write(response, line)
        left -= 1
        if (left <= 0) {
          incoming.socket.destroy()
          return
        }
      }
      response.end()
    } finally {
      this.#watches.delete(response)
    }
  }

  /** Waits while a rule holds events back. @returns whether the event is passed on */
  async #passes(request: ProxiedRequest, line: Buffer): Promise<boolean> {
    for (let rule = this.#matching(request, true); rule !== undefined; rule = this.#matching(request, true)) {
      const { fault, lifted } = rule
      if (fault.kind === 'loseEvents') {
        if (!(fault.which?.(JSON.parse(line.toString())) ?? true)) return true
        rule.left -= 1
        rule.onStrike?.(request)
        return false
      }
      await new Promise<void>((resolve) => lifted.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
    return true
  }

  async #headers(incoming: IncomingHttpHeaders): Promise<Record<string, string | string[]>> {
    const authorization = incoming.authorization ?? (await this.#upstream.authorization())
    const hopByHop = ['host', 'connection', 'keep-alive', 'transfer-encoding', 'expect']
    const kept = Object.entries({ ...incoming, authorization }).filter(([name]) => !hopByHop.includes(name))
    return Object.fromEntries(kept.filter((entry): entry is [string, string | string[]] => entry[1] !== undefined))
  }
}

async function write(response: ServerResponse, chunk: Buffer): Promise<void> {
  if (response.destroyed || response.write(chunk)) return
  await new Promise<void>((resolve) => {
    response.once('drain', resolve)
    response.once('close', resolve)
  })
}

const REASONS: Record<number, string> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
}

function answer(response: ServerResponse, fault: { status: number; retryAfterSeconds?: number }): void {
  const { status, retryAfterSeconds } = fault
  const retryAfter = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  response.writeHead(status, { 'content-type': 'application/json', ...retryAfter })
  const message = 'The fault proxy answered.'
  response.end(
    JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: REASONS[status],
      code: status,
      message,
    }),
  )
}
