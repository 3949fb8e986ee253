import type { KubeClient } from '../../kube/client.ts'

/** Which Kubernetes the API server beside an agent is of: it may be upgraded while the agent runs. */
export class ServedVersion {
  readonly #client: Pick<KubeClient, 'request'>
  #known: string | undefined

  constructor(client: Pick<KubeClient, 'request'>) {
    this.#client = client
  }

  /** As it was read last. */
  get known(): string {
    return this.#known ?? 'unknown'
  }

  /** Reads it anew. @returns whether it is another one than was known; what cannot be read has not changed */
  async look(): Promise<boolean> {
    const before = this.#known
    this.#known = (await this.#read().catch(() => undefined)) ?? before
    return this.#known !== before
  }

  async #read(): Promise<string | undefined> {
    const answer = await this.#client.request({ path: '/version' })
    const { gitVersion } = JSON.parse(await answer.text()) as { gitVersion?: string }
    return gitVersion
  }
}
