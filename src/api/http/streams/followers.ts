import { PlatformError } from '../../../core/errors.ts'
import { SharedPlaces } from '../../../core/sharedPlaces.ts'
import type { Answer } from '../answer.ts'
import type { HttpMetrics } from '../metrics.ts'

/** The caller, and its place: a boundary, or for the platform the caller's tenants. */
export type Follower = { readonly principal: string; readonly place: string }

export type FollowersOptions = {
  /** What is followed, such as `lists`. */
  noun: string
  ofPrincipal: number
  ofProcess: number
  metrics: Pick<HttpMetrics, 'limited'>
}

/** For logs and other streams that are not lists, and cost less. */
export const LOG_STREAM_LIMITS = { noun: 'logs', ofPrincipal: 100, ofProcess: 1_000 } as const

/** Limits open streams per principal, place and process: each costs memory and a connection. */
export class Followers {
  readonly #options: FollowersOptions
  readonly #countByPrincipal = new Map<string, number>()
  readonly #places: SharedPlaces

  constructor(options: FollowersOptions) {
    this.#options = options
    this.#places = new SharedPlaces(options.ofProcess)
  }

  /** @returns a function that ends it. @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
  enter({ principal, place }: Follower): () => void {
    const { noun, ofPrincipal, metrics } = this.#options
    const own = this.#countByPrincipal.get(principal) ?? 0
    if (own >= ofPrincipal) {
      metrics.limited('principal')
      const message = `You follow ${ofPrincipal} ${noun}, which is the most: end one of them first.`
      throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 10 })
    }
    // A tenant may have any number of principals.
    if (this.#places.isFullFor(place)) throw tooManyStreams(noun)
    this.#countByPrincipal.set(principal, own + 1)
    this.#places.take(place)
    return () => {
      const left = (this.#countByPrincipal.get(principal) ?? 1) - 1
      if (left === 0) this.#countByPrincipal.delete(principal)
      else this.#countByPrincipal.set(principal, left)
      this.#places.free(place)
    }
  }

  /** Counts an answer without an end until its stream closes. @throws like `enter` */
  admit(answer: Answer, principal: string, place = principal): Answer {
    const { stream } = answer
    if (answer.isOpenEnded !== true || stream === undefined) return answer
    try {
      stream.once('close', this.enter({ principal, place }))
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
