import { FeedError, type FeedErrorReason, type ReleaseFeed } from './port.ts'
import { versionsAmong } from './versions.ts'

type Pushed = { digest: string; annotations: Readonly<Record<string, string>>; isSigned: boolean }

/** Chart registries in memory. */
export class FakeReleaseFeed implements ReleaseFeed {
  readonly #charts = new Map<string, Map<string, Pushed>>()
  /** If set, every call fails with it. */
  failure: FeedErrorReason | undefined

  push(url: string, version: string, annotations: Readonly<Record<string, string>> = {}, isSigned = false): void {
    const versions = this.#charts.get(url) ?? new Map<string, Pushed>()
    const digest = `sha256:${Buffer.from(`${url}${version}`).toString('hex').padEnd(64, '0').slice(-64)}`
    this.#charts.set(url, versions.set(version, { digest, annotations, isSigned }))
  }

  async versions(url: string): Promise<string[]> {
    this.#refuse(url)
    return versionsAmong(this.#charts.get(url)?.keys() ?? [])
  }

  async release(url: string, version: string) {
    this.#refuse(url)
    const pushed = this.#charts.get(url)?.get(version)
    return pushed && { version, ...pushed }
  }

  locate(url: string) {
    return { url, isInsecure: false }
  }

  #refuse(url: string): void {
    if (this.failure !== undefined) throw new FeedError(this.failure, `${new URL(url).host} did not answer.`)
  }
}
