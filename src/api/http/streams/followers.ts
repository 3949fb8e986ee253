import { PlatformError } from '../../../core/errors.ts'
import { SharedSlots } from '../../../core/sharedSlots.ts'
import type { Answer } from '../answer.ts'
import type { HttpMetrics } from '../metrics.ts'

/** The caller, and its scope: a boundary, or for the platform the caller's tenants. */
export type Follower = { readonly principal: string; readonly scope: string }

export type FollowersOptions = {
  /** What is followed, such as `lists`. */
  noun: string
  ofPrincipal: number
  ofProcess: number
  metrics: Pick<HttpMetrics, 'limited'>
}

/** For logs and other streams that are not lists, and cost less. */
export const LOG_STREAM_LIMITS = { noun: 'logs', ofPrincipal: 100, ofProcess: 1_000 } as const

/** Limits open streams per principal, scope and process: each costs memory and a connection. */
export class Followers {
  readonly #options: FollowersOptions
  readonly #countByPrincipal = new Map<string, number>()
  readonly #slots: SharedSlots

  constructor(options: FollowersOptions) {
    this.#options = options
    this.#slots = new SharedSlots(options.ofProcess)
  }

  /** @returns a function that ends it. @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
  enter({ principal, scope }: Follower): () => void {
    const { noun, ofPrincipal, metrics } = this.#options
    const own = this.#countByPrincipal.get(principal) ?? 0
    if (own >= ofPrincipal) {
      metrics.limited('principal')
      const message = `You follow ${ofPrincipal} ${noun}, which is the most: end one of them first.`
      throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 10 })
    }
    // A tenant may have any number of principals.
    if (this.#slots.isFullFor(scope)) throw tooManyStreams(noun)
    this.#countByPrincipal.set(principal, own + 1)
    this.#slots.take(scope)
    return () => {
      const left = (this.#countByPrincipal.get(principal) ?? 1) - 1
      if (left === 0) this.#countByPrincipal.delete(principal)
      else this.#countByPrincipal.set(principal, left)
      this.#slots.free(scope)
    }
  }

  /** Counts an answer without an end until its stream closes. @throws like `enter` */
  admit(answer: Answer, principal: string, scope = principal): Answer {
    const { stream } = answer
    if (answer.isOpenEnded !== true || stream === undefined) return answer
    try {
      stream.once('close', this.enter({ principal, scope }))
      return answer
    } catch (error) {
      stream.on('error', () => undefined).destroy()
      throw error
    }
  }
}

export function tooManyStreams(noun: string): PlatformError {
  const message = `Too many ${noun} are followed here: try again in a moment, or read without following.`
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 10 })
}
