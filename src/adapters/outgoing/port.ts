import { ReasonedError } from '../../core/failure.ts'

/** Calls of addresses that tenants named. Every one is vetted, limited in size, time and redirects. */
export interface OutgoingPort {
  /**
   * The document at the address, 256 KiB at most, within 10 s, after three redirects at most.
   *
   * @throws OutgoingError
   */
  document(url: string, signal?: AbortSignal): Promise<string>
  /** For libraries that bring their own protocol. Only GET follows redirects, and never with credentials elsewhere. */
  readonly fetch: OutgoingFetch
}

export type OutgoingFetch = (url: string, options?: OutgoingRequest) => Promise<Response>
export type OutgoingRequest = {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Whether the answer is bytes; a text else. */
  isBinary?: boolean
  /** Bytes from the beginning of the answer that are enough; else an answer that is too long is none. */
  beginning?: number | undefined
  signal?: AbortSignal | undefined
}

/**
 * NotAllowed: the platform does not call that address; the message says why and names nothing secret.
 * Unreachable: it does not answer, answers too much, too late, or not with what was asked for.
 */
export type OutgoingReason = 'NotAllowed' | 'Unreachable'

export class OutgoingError extends ReasonedError<OutgoingReason> {}
