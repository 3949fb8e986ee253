import { ReasonedError } from '../../core/failure.ts'

/** Calls to addresses that tenants supply. Each is vetted, and bounded in size, time and redirects. */
export interface OutgoingPort {
  /**
   * Fetches a document: at most 256 KiB, within 10 s, after at most three redirects.
   *
   * @throws OutgoingError
   */
  document(url: string, signal?: AbortSignal): Promise<string>
  /** For clients of other protocols. Only GET follows redirects, and credentials never go to another host. */
  readonly fetch: OutgoingFetch
}

export type OutgoingFetch = (url: string, options?: OutgoingRequest) => Promise<Response>
export type OutgoingRequest = {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Returns the body as bytes instead of text. */
  isBinary?: boolean
  /** Reads only this many bytes of the answer; by default an answer that is too long is an error. */
  beginning?: number | undefined
  signal?: AbortSignal | undefined
}

/**
 * - `NotAllowed`: the platform does not call that address; the message says why, without secrets;
 * - `Unreachable`: no answer, or one that is too large, too late or not of the expected form.
 */
export type OutgoingReason = 'NotAllowed' | 'Unreachable'

export class OutgoingError extends ReasonedError<OutgoingReason> {}
