import { CodedError } from '../../core/failure.ts'

/** A version of a chart, as the registry has it. */
export type FeedRelease = {
  readonly version: string
  readonly digest: string
  /** Whether the registry holds a signature of it, which nobody has checked. */
  readonly isSigned: boolean
  /** What whoever pushed it says of it. */
  readonly annotations: Readonly<Record<string, string>>
}

/** The registries that hold the charts of components, a tag for each version. Every call may be repeated. */
export interface ReleaseFeed {
  /**
   * The versions that there are, the newest first, at most 200. Empty for an unknown repository.
   *
   * @param url `oci://<host>/<repository>`
   * @throws FeedError
   */
  versions(url: string, signal?: AbortSignal): Promise<string[]>
  /**
   * The metadata of one of them; undefined if it was deleted or is not a chart.
   *
   * @throws FeedError
   */
  release(url: string, version: string, signal?: AbortSignal): Promise<FeedRelease | undefined>
  /** Where a chart is really taken from: platforms without Internet have a registry with copies. */
  locate(url: string): { readonly url: string; readonly isInsecure: boolean }
}

/** `Unreachable`: no answer; `Refused`: it will not, or may not be asked; `Unreadable`: what is there makes no sense. */
export type FeedErrorCode = 'Unreachable' | 'Refused' | 'Unreadable'

/** A failed read. The message names the host and what was asked; never what it answered. */
export class FeedError extends CodedError<FeedErrorCode> {}
