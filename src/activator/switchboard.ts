import { FUNCTION_PORT, permanentFailureOf } from '../contracts/functions.ts'
import { isRemoteCopy, remoteCopyPath } from '../contracts/remoteCopies.ts'
import type { Clock } from '../core/clock.ts'
import { hostInUrl } from '../core/hostInUrl.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { parseScope } from '../core/scope.ts'
import { type FunctionNamespace, type ServerlessFunction, triggersOf } from '../crds/functions.ts'
import type { CacheHandler } from '../kube/cache.ts'
import { CallQueue, NamespaceCallLimit } from './callQueue.ts'
import type { Limits } from './decisions.ts'
import type { RoutableFunction } from './routing.ts'

type Cached<T> = T & { [key: string]: unknown }
export type CachedFunction = Cached<ServerlessFunction>
export type CachedNamespace = Cached<FunctionNamespace>

/** The activator's view of a kind, backed by a watch or a test. */
export type View<T extends KubeObject> = {
  list(): readonly T[]
  subscribe(handler: CacheHandler<T>): () => void
}

export type SwitchboardOptions = {
  functions: View<CachedFunction>
  namespaces: View<CachedNamespace>
  clock: Clock
  /** Requests another number of copies. */
  scale: (object: CachedFunction, desired: number) => void
}

/** A function as the activator serves it. */
export type ServedFunction = {
  object: CachedFunction
  queue: CallQueue
  callable: RoutableFunction
  incarnation: string
  /** Whether it is enabled and not being deleted, and its namespace runs. */
  isEnabled: boolean
}
export type ServedNamespace = {
  object: CachedNamespace
  functions: Map<string, ServedFunction>
  limit: NamespaceCallLimit
}

/** As `Switchboard.tenantOf`, for a known namespace. */
export function tenantOf(key: string, namespace: Pick<ServedNamespace, 'object'> | undefined): string {
  const scope = parseScope(namespace?.object.status?.scope ?? '')
  return scope !== undefined && 'boundaryId' in scope ? scope.boundaryId : key.slice(0, key.indexOf('/'))
}

const keyOf = ({ namespace = '', name }: { namespace?: string; name: string }) => `${namespace}/${name}`

/** Every function with its call queue, in sync with the API server. */
export class Switchboard {
  readonly #options: SwitchboardOptions
  readonly #namespaces = new Map<string, ServedNamespace>()
  /** By the key of a function. */
  readonly #namespaceOfFunction = new Map<string, ServedNamespace>()
  /** Functions without their namespace, whose event comes later, by its key: lists of all functions are long. */
  readonly #waiting = new Map<string, Map<string, CachedFunction>>()
  readonly #hosts = new Map<string, ServedNamespace>()
  readonly #subscriptions: (() => void)[] = []

  constructor(options: SwitchboardOptions) {
    this.#options = options
    const { functions, namespaces } = options
    for (const object of namespaces.list()) this.#setNamespace(object)
    for (const object of functions.list()) this.#setFunction(object)
    this.#subscriptions.push(
      namespaces.subscribe(({ type, object }) =>
        type === 'removed' ? this.#removeNamespace(object) : this.#setNamespace(object),
      ),
      functions.subscribe(({ type, object }) =>
        type === 'removed' ? this.#removeFunction(object) : this.#setFunction(object),
      ),
    )
  }

  /** Returns the namespace that serves a host. */
  namespaceAtHost(host: string): ServedNamespace | undefined {
    return this.#hosts.get(host)
  }

  functions(): ServedFunction[] {
    return [...this.#namespaces.values()].flatMap(({ functions }) => [...functions.values()])
  }

  /** Returns the function with this key, `<Kubernetes namespace>/<name>`. */
  findFunction(key: string): ServedFunction | undefined {
    return this.#namespaceOfFunction.get(key)?.functions.get(key)
  }

  /** Returns the tenant of a function: its boundary, or the Kubernetes namespace if the function is unknown. */
  tenantOf(key: string): string {
    return tenantOf(key, this.#namespaceOfFunction.get(key))
  }

  stop(): void {
    for (const end of this.#subscriptions.splice(0)) end()
    for (const { queue } of this.functions()) queue.close()
  }

  #setNamespace(object: CachedNamespace): void {
    const key = keyOf(object.metadata)
    const namespace = this.#namespaces.get(key)
    if (namespace === undefined) {
      const limit = new NamespaceCallLimit(object.spec.maxConcurrency)
      const added: ServedNamespace = { object, functions: new Map(), limit }
      this.#namespaces.set(key, added)
      this.#registerHosts(added, [])
      const waiting = this.#waiting.get(key)
      this.#waiting.delete(key)
      for (const each of waiting?.values() ?? []) this.#setFunction(each)
      return
    }
    const before = namespace.object.status?.hosts ?? []
    const wasRunning = namespace.object.spec.running
    namespace.object = object
    if (object.spec.running !== wasRunning)
      for (const served of namespace.functions.values()) this.#setFunction(served.object)
    namespace.limit.max = object.spec.maxConcurrency
    this.#registerHosts(namespace, before)
    namespace.limit.freed()
  }

  #registerHosts(namespace: ServedNamespace, before: readonly string[]): void {
    for (const host of before) if (this.#hosts.get(host) === namespace) this.#hosts.delete(host)
    const isGoing = namespace.object.metadata.deletionTimestamp !== undefined
    for (const host of isGoing ? [] : (namespace.object.status?.hosts ?? [])) this.#hosts.set(host, namespace)
  }

  #removeNamespace({ metadata, status }: CachedNamespace): void {
    const namespace = this.#namespaces.get(keyOf(metadata))
    if (namespace === undefined) return
    for (const host of status?.hosts ?? []) if (this.#hosts.get(host) === namespace) this.#hosts.delete(host)
    for (const [key, { queue, object }] of namespace.functions) {
      queue.close()
      this.#namespaceOfFunction.delete(key)
      this.#wait(object)
    }
    this.#namespaces.delete(keyOf(metadata))
  }

  #namespaceKey({ metadata, spec }: CachedFunction): string {
    return keyOf({ namespace: metadata.namespace ?? '', name: spec.namespaceName })
  }

  #wait(object: CachedFunction): void {
    const key = this.#namespaceKey(object)
    const waiting = this.#waiting.get(key) ?? new Map<string, CachedFunction>()
    this.#waiting.set(key, waiting.set(keyOf(object.metadata), object))
  }

  #setFunction(object: CachedFunction): void {
    const namespace = this.#namespaces.get(this.#namespaceKey(object))
    if (namespace === undefined) {
      this.#wait(object)
      return
    }
    const { clock, scale } = this.#options
    const key = keyOf(object.metadata)
    const incarnation = object.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    const callable = { key, triggers: triggersOf(object.spec), paths: object.status?.paths ?? [] }
    const known = namespace.functions.get(key)
    const limits = limitsOf(object, namespace.object)
    const isOn = limits.enabled
    const addresses = (object.status?.copies ?? []).map((copy) => addressOf(object, copy))
    if (known !== undefined && known.object.metadata.uid === object.metadata.uid) {
      Object.assign(known, { object, callable, incarnation, isEnabled: isOn })
      known.queue.update(limits, addresses)
      return
    }
    known?.queue.close()
    const served: ServedFunction = {
      object,
      callable,
      incarnation,
      isEnabled: isOn,
      queue: new CallQueue(limits, {
        clock,
        namespaceLimit: namespace.limit,
        desired: object.status?.desiredReplicas ?? 0,
        onDesiredCopies: (desired) => scale(served.object, desired),
      }),
    }
    namespace.functions.set(key, served)
    this.#namespaceOfFunction.set(key, namespace)
    served.queue.update(limits, addresses)
  }

  #removeFunction(object: CachedFunction): void {
    const key = keyOf(object.metadata)
    const waiting = this.#waiting.get(this.#namespaceKey(object))
    if (waiting?.delete(key) === true && waiting.size === 0) this.#waiting.delete(this.#namespaceKey(object))
    const { functions } = this.#namespaceOfFunction.get(key) ?? {}
    functions?.get(key)?.queue.close()
    functions?.delete(key)
    this.#namespaceOfFunction.delete(key)
  }
}

/** A copy is a pod address, to which tests may add a port; in another cluster it is the path that leads there. */
function addressOf({ metadata: { namespace = '', name } }: CachedFunction, copy: string): string {
  if (isRemoteCopy(copy)) return remoteCopyPath({ namespace, name }, copy)
  if (/^[0-9.]+:[0-9]+$/.test(copy)) return copy
  return `${hostInUrl(copy)}:${FUNCTION_PORT}`
}

function limitsOf(object: CachedFunction, namespace: CachedNamespace): Limits {
  const { spec, metadata } = object
  const { concurrency, minReplicas, maxReplicas, idleSeconds, enabled } = spec
  const isOn = enabled && namespace.spec.running !== false && metadata.deletionTimestamp === undefined
  const failed = permanentFailureOf(object)
  return { concurrency, minReplicas, maxReplicas, idle: idleSeconds * 1000, enabled: isOn, failed }
}
