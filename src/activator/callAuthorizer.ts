import { hash } from 'node:crypto'
import { KEY_HEADER, keyDigest } from '../contracts/functions.ts'
import { createLruCache } from '../core/lruCache.ts'
import { isSameText } from '../core/sameText.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import type { ServedFunction, ServedNamespace } from './switchboard.ts'

/** What the activator needs from others to authorize a call. */
export type CallAuthorizerOptions = {
  /** The secret that key digests are made with; undefined while it does not exist. */
  digestKey: () => Promise<string | undefined>
  /** Whether the owner of the token may read the resource at this path of the facade. */
  mayRead: (token: string, path: string) => Promise<boolean>
}

type Headers = { readonly [name: string]: string | string[] | undefined }

/** Milliseconds for which an answer of the facade is cached: a revoked role stops granting calls within this time. */
const ANSWER_TTL_MS = 10_000

/** Authorizes calls. The result carries no reason, so a refused caller learns nothing else. */
export class CallAuthorizer {
  readonly #options: CallAuthorizerOptions
  readonly #answers = createLruCache<string, Promise<boolean>>(10_000, ANSWER_TTL_MS)
  readonly #recentRefresh = createLruCache<'now', true>(1, ANSWER_TTL_MS)
  #digestKey: Promise<string | undefined> | undefined

  constructor(options: CallAuthorizerOptions) {
    this.#options = options
  }

  async mayCall(
    namespace: ServedNamespace,
    served: ServedFunction,
    trigger: FunctionTrigger,
    headers: Headers,
  ): Promise<boolean> {
    if (trigger.authLevel === 'Anonymous') return true
    return trigger.authLevel === 'Secret'
      ? this.#hasKey(served, trigger, headers)
      : this.#mayRead(namespace, served, headers)
  }

  async #hasKey(
    { object, incarnation }: ServedFunction,
    { name }: FunctionTrigger,
    headers: Headers,
  ): Promise<boolean> {
    const key = headers[KEY_HEADER]
    const wanted = object.status?.keys?.find(({ trigger }) => trigger === name)?.digest
    if (typeof key !== 'string' || wanted === undefined) return false
    this.#digestKey ??= this.#options.digestKey()
    const secret = await this.#digestKey.catch(() => undefined)
    if (secret === undefined) {
      // The secret is created with the first key of the platform: the next call reads again.
      this.#digestKey = undefined
      return false
    }
    const isRight = (secretText: string) => isSameText(keyDigest(secretText, incarnation, name, key), wanted)
    if (isRight(secret)) return true
    const replaced = await this.#refreshDigestKey()
    return replaced !== undefined && replaced !== secret && isRight(replaced)
  }

  /** Reads the secret again, at most once per cache period, because it may have been replaced. */
  async #refreshDigestKey(): Promise<string | undefined> {
    if (this.#recentRefresh.get('now') !== undefined) return undefined
    this.#recentRefresh.set('now', true)
    const found = await this.#options.digestKey().catch(() => undefined)
    if (found !== undefined) this.#digestKey = Promise.resolve(found)
    return found
  }

  async #mayRead(
    { object }: ServedNamespace,
    { object: { spec } }: ServedFunction,
    headers: Headers,
  ): Promise<boolean> {
    const [, token] = /^Bearer ([A-Za-z0-9._~+/=-]+)$/i.exec(String(headers.authorization ?? '')) ?? []
    const scope = object.status?.scope
    if (token === undefined || scope === undefined) return false
    const path = `${scope}/functions/${spec.functionName}`
    const key = `${hash('sha256', token)} ${path}`
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const answer = this.#options.mayRead(token, path)
    this.#answers.set(key, answer)
    // Do not cache failures: the next call asks again.
    answer.catch(() => this.#answers.delete(key))
    return answer
  }
}
