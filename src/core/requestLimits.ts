/** Rate limits of one caller, because one thread serves all callers. */
export type RequestLimits = {
  /** Per principal; a sixth of them may come at once. */
  requestsPerMinute: number
  /** Per client address, on routes without a token and with refused tokens. */
  anonymousRequestsPerMinute: number
  /** Average, for responses that are not small. */
  answerBytesPerSecond: number
  /** Average, for bodies that are streamed. */
  uploadBytesPerSecond: number
}

/** The default limits. */
export const REQUEST_LIMITS: RequestLimits = {
  requestsPerMinute: 6_000,
  anonymousRequestsPerMinute: 600,
  answerBytesPerSecond: 8 * 1_048_576,
  uploadBytesPerSecond: 16 * 1_048_576,
}
