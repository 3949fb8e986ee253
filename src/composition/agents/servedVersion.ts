import type { KubeClient } from '../../kube/client.ts'

/** The version of the agent's API server, which may be upgraded while the agent runs. */
export class ServedVersion {
  readonly #client: Pick<KubeClient, 'request'>
  #known: string | undefined

  constructor(client: Pick<KubeClient, 'request'>) {
    this.#client = client
  }

  /** The version that was last read. */
  get known(): string {
    return this.#known ?? 'unknown'
  }

  /** Reads the version. @returns whether it has changed; a failure counts as unchanged */
  async refresh(): Promise<boolean> {
    const previous = this.#known
    this.#known = (await servedVersion(this.#client).catch(() => undefined)) ?? previous
    return this.#known !== previous
  }
}

export async function servedVersion(client: Pick<KubeClient, 'request'>): Promise<string | undefined> {
  const answer = await client.request({ path: '/version' })
  const { gitVersion } = JSON.parse(await answer.text()) as { gitVersion?: string }
  return gitVersion
}
