import { hash } from 'node:crypto'
import { KEY_HEADER, keyDigest } from '../contracts/functions.ts'
import { recentlyUsed } from '../core/recentlyUsed.ts'
import { isSameText } from '../core/sameText.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import type { Home, Line } from './switchboard.ts'

/** What the activator asks others before it lets a call through. */
export type GateOptions = {
  /** The secret that digests of keys are made with; undefined while there is none. */
  digestKey: () => Promise<string | undefined>
  /** Whether the bearer of the token may read what stands at the path of the facade. */
  mayRead: (token: string, path: string) => Promise<boolean>
}

type Headers = { readonly [name: string]: string | string[] | undefined }

/** Milliseconds for which an answer of the facade counts: a role that was taken away ends calls within them. */
const ANSWER = 10_000

/** Decides who may call. Whoever may not is told nothing but that. */
export class Gate {
  readonly #options: GateOptions
  readonly #answers = recentlyUsed<string, Promise<boolean>>(10_000, ANSWER)
  readonly #looked = recentlyUsed<'now', true>(1, ANSWER)
  #digestKey: Promise<string | undefined> | undefined

  constructor(options: GateOptions) {
    this.#options = options
  }

  async mayCall(home: Home, line: Line, trigger: FunctionTrigger, headers: Headers): Promise<boolean> {
    if (trigger.authLevel === 'Anonymous') return true
    return trigger.authLevel === 'Secret' ? this.#hasKey(line, trigger, headers) : this.#mayRead(home, line, headers)
  }

  async #hasKey({ object, incarnation }: Line, { name }: FunctionTrigger, headers: Headers): Promise<boolean> {
    const key = headers[KEY_HEADER]
    const wanted = object.status?.keys?.find(({ trigger }) => trigger === name)?.digest
    if (typeof key !== 'string' || wanted === undefined) return false
    this.#digestKey ??= this.#options.digestKey()
    const secret = await this.#digestKey.catch(() => undefined)
    if (secret === undefined) {
      // Made with the first key of the platform: the next call looks again.
      this.#digestKey = undefined
      return false
    }
    const isRight = (by: string) => isSameText(keyDigest(by, incarnation, name, key), wanted)
    if (isRight(secret)) return true
    const replaced = await this.#replaced()
    return replaced !== undefined && replaced !== secret && isRight(replaced)
  }

  /** The secret as it is now, asked for once in a while: it may have been replaced since it was read. */
  async #replaced(): Promise<string | undefined> {
    if (this.#looked.get('now') !== undefined) return undefined
    this.#looked.set('now', true)
    const found = await this.#options.digestKey().catch(() => undefined)
    if (found !== undefined) this.#digestKey = Promise.resolve(found)
    return found
  }

  async #mayRead({ object }: Home, { object: { spec } }: Line, headers: Headers): Promise<boolean> {
    const [, token] = /^Bearer ([A-Za-z0-9._~+/=-]+)$/i.exec(String(headers.authorization ?? '')) ?? []
    const scope = object.status?.scope
    if (token === undefined || scope === undefined) return false
    const path = `${scope}/functions/${spec.functionName}`
    const key = `${hash('sha256', token)} ${path}`
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const asked = this.#options.mayRead(token, path)
    this.#answers.set(key, asked)
    // What could not be asked is asked again.
    asked.catch(() => this.#answers.delete(key))
    return asked
  }
}
