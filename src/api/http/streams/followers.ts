import { PlatformError } from '../../../core/errors.ts'
import { SharedPlaces } from '../../../core/sharedPlaces.ts'
import type { Answer } from '../answer.ts'
import type { HttpMetrics } from '../metrics.ts'

/** Who follows, and in what: a boundary, or of the platform what a tenant sees. */
export type Follower = { readonly principal: string; readonly place: string }

export type FollowersOptions = {
  /** What is followed: `lists`. */
  noun: string
  ofPrincipal: number
  ofProcess: number
  metrics: Pick<HttpMetrics, 'limited'>
}

/** Logs and whatever else goes on without being a list, and costs less. */
export const LOGS = { noun: 'logs', ofPrincipal: 100, ofProcess: 1_000 } as const

/** Those whose answers go on for as long as they like: each one costs memory, and a connection of which there are so many. */
export class Followers {
  readonly #options: FollowersOptions
  readonly #ofPrincipal = new Map<string, number>()
  readonly #places: SharedPlaces

  constructor(options: FollowersOptions) {
    this.#options = options
    this.#places = new SharedPlaces(options.ofProcess)
  }

  /** @returns ends it. @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
  enter({ principal, place }: Follower): () => void {
    const { noun, ofPrincipal, metrics } = this.#options
    const own = this.#ofPrincipal.get(principal) ?? 0
    if (own >= ofPrincipal) {
      metrics.limited('principal')
      const message = `You follow ${ofPrincipal} ${noun}, which is the most: end one of them first.`
      throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 10 })
    }
    // A tenant has as many principals as it likes.
    if (this.#places.isFullFor(place)) throw tooMany(noun)
    this.#ofPrincipal.set(principal, own + 1)
    this.#places.take(place)
    return () => {
      const left = (this.#ofPrincipal.get(principal) ?? 1) - 1
      if (left === 0) this.#ofPrincipal.delete(principal)
      else this.#ofPrincipal.set(principal, left)
      this.#places.free(place)
    }
  }

  /** An answer that goes on for as long as its client likes has its place until it ends. @throws as `enter` does */
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

export function tooMany(noun: string): PlatformError {
  const message = `Too many ${noun} are followed here: try again in a moment, or read without following.`
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 10 })
}
