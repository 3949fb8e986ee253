import type { KubeClient } from './client.ts'
import { type Resource, resourceId } from './object.ts'

/** Milliseconds; short, because the caller holds a stream that may stay silent for ever. */
const TIMEOUT_MS = 5_000

type Answer = { readonly began: number; readonly version: Promise<string> }

/**
 * The newest version of a type according to the API server. Concurrent questions of all watches of the type share one
 * request.
 */
export class NewestVersionReader {
  readonly #client: Pick<KubeClient, 'list'>
  readonly #now: () => number
  readonly #answers = new Map<string, Answer>()

  constructor(client: Pick<KubeClient, 'list'>, now: () => number) {
    this.#client = client
    this.#now = now
  }

  /**
   * Returns the version of the type at a moment after `since`, by a read that no lagging server answers. It is older
   * than what was known at `since` only if the history itself went back, as after a restore of etcd.
   *
   * @throws KubeError if the API server cannot be asked
   */
  newest(resource: Resource, namespace: string | undefined, since: number): Promise<string> {
    const id = resourceId(resource)
    const known = this.#answers.get(id)
    if (known !== undefined && known.began >= since) return known.version
    const pending = this.#client
      .list(resource, { namespace, limit: 1, timeout: TIMEOUT_MS })
      .then(({ resourceVersion }) => resourceVersion)
    const answer = { began: this.#now(), version: pending }
    this.#answers.set(id, answer)
    pending.catch(() => {
      if (this.#answers.get(id) === answer) this.#answers.delete(id)
    })
    return pending
  }
}
