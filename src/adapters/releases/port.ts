import { ReasonedError } from '../../core/failure.ts'

/** A chart version in the registry. */
export type FeedRelease = {
  readonly version: string
  readonly digest: string
  /** Whether the registry holds a signature, which is not verified here. */
  readonly isSigned: boolean
  /** Set by the publisher of the chart. */
  readonly annotations: Readonly<Record<string, string>>
}

/** The registries that hold the charts of components, with a tag per version. Every call is idempotent. */
export interface ReleaseFeed {
  /**
   * Lists the versions, newest first, at most 200; none for an unknown repository.
   *
   * @param url `oci://<host>/<repository>`
   * @throws FeedError
   */
  versions(url: string): Promise<string[]>
  /**
   * Returns the metadata of a version; undefined if it was deleted or is not a chart.
   *
   * @throws FeedError
   */
  release(url: string, version: string): Promise<FeedRelease | undefined>
  /** Returns where the chart is really pulled from: platforms without Internet access use a mirror. */
  locate(url: string): { readonly url: string; readonly isInsecure: boolean }
}

/** `Unreachable`: no answer; `Refused`: by the registry, or the call is not allowed; `Unreadable`: invalid data. */
export type FeedErrorReason = 'Unreachable' | 'Refused' | 'Unreadable'

/** A failed read. The message names the host and the request, without any text of the answer. */
export class FeedError extends ReasonedError<FeedErrorReason> {}
