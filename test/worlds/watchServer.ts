import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KubeObject } from '../../src/core/object.ts'

/** One watch or list as a test sees it: the request, and means to answer it. */
export type PlayedRequest = {
  readonly query: URLSearchParams
  readonly response: ServerResponse
  /** Sends watch events, each on its line. */
  send(...events: object[]): void
  /** Ends the stream normally. */
  end(): void
  /** Cuts the connection. */
  reset(): void
}

/**
 * Speaks the watch protocol over plain HTTP, one script per request in order; the last script answers all further ones.
 * For what a real API server does only on a bad day.
 */
export class WatchServer {
  /** Watches and lists; requests for the current resourceVersion are answered separately. */
  readonly requests: PlayedRequest[] = []
  /** The current resourceVersion. */
  newest = '9'.repeat(30)
  /** How often that was requested. */
  comparisons = 0
  readonly #scripts: ((request: PlayedRequest) => void)[]
  readonly #server: Server
  url = ''

  constructor(...scripts: ((request: PlayedRequest) => void)[]) {
    this.#scripts = scripts
    this.#server = createServer((request, response) => this.#play(request, response))
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #play(request: IncomingMessage, response: ServerResponse): void {
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams
    if (query.get('limit') === '1') {
      this.comparisons += 1
      response.writeHead(200).end(JSON.stringify({ metadata: { resourceVersion: this.newest }, items: [] }))
      return
    }
    const open = () => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' })
    }
    const played: PlayedRequest = {
      query,
      response,
      send: (...events) => {
        open()
        for (const event of events) response.write(`${JSON.stringify(event)}\n`)
      },
      end: () => {
        open()
        response.end()
      },
      reset: () => request.socket.destroy(),
    }
    const script = this.#scripts[Math.min(this.requests.length, this.#scripts.length - 1)]
    this.requests.push(played)
    script?.(played)
  }
}

/** A config map as the server would send it; its uid is its name by default. */
export function sent(name: string, version: number, more: { uid?: string; n?: string } = {}): KubeObject {
  const metadata = { name, namespace: 'a', uid: more.uid ?? `uid-of-${name}`, resourceVersion: String(version) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { n: more.n ?? '' } }
}

export const added = (object: KubeObject) => ({ type: 'ADDED', object })
export const modified = (object: KubeObject) => ({ type: 'MODIFIED', object })
export const deleted = (object: KubeObject) => ({ type: 'DELETED', object })

export function bookmark(version: number, initial = false): object {
  const annotations = initial ? { 'k8s.io/initial-events-end': 'true' } : undefined
  return {
    type: 'BOOKMARK',
    object: { kind: 'ConfigMap', metadata: { resourceVersion: String(version), annotations } },
  }
}

/** A streaming list of these objects at this version. The stream stays open. */
export function listing(version: number, ...objects: KubeObject[]): (request: PlayedRequest) => void {
  return (request) => request.send(...objects.map(added), bookmark(version, true))
}

/** Accepts the watch and sends nothing. */
export function quiet(request: PlayedRequest): void {
  request.response.writeHead(200, { 'content-type': 'application/json' })
  request.response.flushHeaders()
}

/** Refuses with a Status object. */
export function refuse(status: number, headers: Record<string, string> = {}): (request: PlayedRequest) => void {
  return ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ kind: 'Status', code: status, message: 'secret words of the server' }))
  }
}
