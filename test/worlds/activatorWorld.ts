import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { CallAuthorizer, type CallAuthorizerOptions } from '../../src/activator/callAuthorizer.ts'
import { CallStatistics, dropDeletedFunctions } from '../../src/activator/callStatistics.ts'
import type { ReachCopy } from '../../src/activator/copyConnection.ts'
import { type CallHandlerOptions, createCallHandler, createCallServer } from '../../src/activator/server.ts'
import { type CachedFunction, type CachedNamespace, Switchboard, type View } from '../../src/activator/switchboard.ts'
import { type RemoteCopy, remoteCopyName } from '../../src/contracts/remoteCopies.ts'
import { systemClock } from '../../src/core/clock.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { silentLog } from '../../src/core/log.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { FunctionNamespace, httpPaths, ServerlessFunction } from '../../src/crds/functions.ts'
import type { CacheHandler } from '../../src/kube/cache.ts'

/** Objects that a test changes, with events as from a watch. */
class PlayedView<T extends KubeObject> implements View<T> {
  readonly #objects = new Map<string, T>()
  readonly #handlers = new Set<CacheHandler<T>>()
  list = () => [...this.#objects.values()]
  subscribe(handler: CacheHandler<T>) {
    this.#handlers.add(handler)
    return () => void this.#handlers.delete(handler)
  }
  put(object: T) {
    const previous = this.#objects.get(object.metadata.name)
    this.#objects.set(object.metadata.name, object)
    for (const handler of this.#handlers)
      handler(previous === undefined ? { type: 'added', object } : { type: 'modified', object, previous })
  }
  remove(name: string) {
    const object = this.#objects.get(name)
    this.#objects.delete(name)
    if (object !== undefined) for (const handler of this.#handlers) handler({ type: 'removed', object })
  }
}

export const HOST = 'shop.test'
export const BOUNDARY = '7f1c5a51-3c1d-4f3e-9a55-1a2b3c4d5e6f'
export const SCOPE = `/boundaries/${BOUNDARY}/resourcegroups/group/resources/functionnamespaces/shop`
type Given = { spec?: Partial<ServerlessFunction['spec']>; status?: Partial<ServerlessFunction['status']> }

type Status = NonNullable<ServerlessFunction['status']>

function functionObject(name: string, { spec, status }: Given): CachedFunction {
  const whole = {
    ...ServerlessFunction.spec.parse({ namespaceName: 'shop', functionName: name, handler: 'index' }),
    // Idle times of tests are shorter than the allowed ones.
    ...spec,
  }
  return {
    apiVersion: ServerlessFunction.apiVersion,
    kind: ServerlessFunction.kind,
    metadata: {
      namespace: 'group',
      name: `shop.${name}`,
      uid: name,
      annotations: { [INCARNATION_ANNOTATION]: 'life' },
    },
    spec: whole,
    status: { ...status, paths: httpPaths(whole) } as Status,
  }
}

type Played = {
  startMilliseconds?: number
  maxConcurrency?: number
  /** The other cluster of the copies, where they are found by name only. */
  clusterId?: string
  reach?: ReachCopy
  maxConnections?: number
  mostCalls?: number
  /** Whether the activator leads, and holds its lease; default always. */
  lease?: Pick<CallHandlerOptions, 'isLeading' | 'holdsLease'>
}

const podOf = (server: Server) => `pod-${(server.address() as AddressInfo).port}`

export async function connectTo({ pod }: Pick<RemoteCopy, 'pod'>): Promise<Socket> {
  const socket = connect(Number(pod.replace('pod-', '')), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/**
 * An activator with real HTTP on both sides. The cluster is simulated: copies are servers in this process that take a
 * while to start, like pods.
 */
export async function startActivator(
  listener: RequestListener,
  {
    startMilliseconds = 300,
    maxConcurrency = 50,
    clusterId,
    reach = connectTo,
    maxConnections,
    mostCalls,
    lease,
    ...gate
  }: Partial<CallAuthorizerOptions> & Played = {},
) {
  const namespaces = new PlayedView<CachedNamespace>()
  const functions = new PlayedView<CachedFunction>()
  const servers: Server[] = []
  const asked: number[] = []
  const ended = new AbortController()
  const putNamespace = (spec: Partial<FunctionNamespace['spec']> = {}) =>
    namespaces.put({
      apiVersion: FunctionNamespace.apiVersion,
      kind: FunctionNamespace.kind,
      metadata: { namespace: 'group', name: 'shop' },
      spec: FunctionNamespace.spec.parse({ runtime: 'nodejs', maxConcurrency, ...spec }),
      status: { hosts: [HOST], scope: SCOPE, functionCount: 1, readyFunctionCount: 1 },
    })
  putNamespace()
  const report = (object: CachedFunction, status: object) =>
    functions.put({ ...object, status: { ...object.status, ...status } as Status })
  const addressOf = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
  const copyOf = (server: Server) =>
    clusterId === undefined ? addressOf(server) : remoteCopyName({ clusterId, pod: podOf(server) })
  const live = (name: string) => functions.list().find(({ metadata }) => metadata.name === name)
  const scale = async ({ metadata: { name } }: CachedFunction, desired: number) => {
    asked.push(desired)
    await delay(startMilliseconds, undefined, { signal: ended.signal })
    while (servers.length < desired) {
      const server = createServer(listener)
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    }
    const gone = servers.splice(desired)
    const object = live(name)
    if (object !== undefined) report(object, { desiredReplicas: desired, copies: servers.map(copyOf) })
    for (const server of gone) server.close()
  }
  const switchboard = new Switchboard({
    functions,
    namespaces,
    clock: systemClock,
    // Copies that would start after the test do not.
    scale: (object, desired) => void scale(object, desired).catch(() => {}),
  })
  const figures = new CallStatistics(systemClock)
  dropDeletedFunctions(figures, functions)
  const refusing: CallAuthorizerOptions = { digestKey: async () => undefined, mayRead: async () => false }
  const handle = createCallHandler({
    isSimulated: false,
    maxCalls: mostCalls,
    switchboard,
    reach,
    authorizer: new CallAuthorizer({ ...refusing, ...gate }),
    statistics: figures,
    clock: systemClock,
    log: silentLog,
    ...lease,
  })
  const server = createCallServer(
    (request, response) => void handle(request, response, request.socket.remoteAddress),
    maxConnections,
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://${addressOf(server)}`
  return {
    url,
    figures,
    switchboard,
    asked,
    copies: () => servers.length,
    putNamespace,
    put: (name: string, given: Given = {}) => functions.put(functionObject(name, given)),
    remove: (name: string) => functions.remove(`shop.${name}`),
    call: (path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
      callFunction(url, path, init),
    async stop() {
      ended.abort()
      switchboard.stop()
      for (const each of [server, ...servers]) {
        each.closeAllConnections()
        await new Promise((resolve) => each.close(resolve))
      }
    },
  }
}

/** `fetch` does not allow setting a host. */
export async function callFunction(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string },
) {
  return new Promise<{ status: number; text: string; headers: IncomingMessage['headers'] }>((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const options = { hostname, port, path, method, agent: false, headers: { host: HOST, ...headers } }
    const sent = request(options, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString(), headers: answer.headers }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/**
 * The calls of a function in all time buckets: a new bucket may begin between two calls. Undefined if there are none.
 */
export function callsCounted(figures: CallStatistics, key: string) {
  const { buckets } = figures.of(key)
  const sum = (what: 'invocations' | 'errors' | 'coldStarts') => buckets.reduce((all, bucket) => all + bucket[what], 0)
  if (buckets.length === 0) return undefined
  return { invocations: sum('invocations'), errors: sum('errors'), coldStarts: sum('coldStarts') }
}
