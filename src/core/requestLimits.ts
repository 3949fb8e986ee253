/** How much of the thread that answers everybody a caller may use. */
export type RequestLimits = {
  /** Of a principal, a sixth of them at once. */
  requestsPerMinute: number
  /** Of an address, on routes without a token and with refused tokens. */
  anonymousRequestsPerMinute: number
  /** On average, of answers that are not small. */
  answerBytesPerSecond: number
  /** On average, of bodies that are passed on as they come. */
  uploadBytesPerSecond: number
}

/** The default limits. */
export const REQUEST_LIMITS: RequestLimits = {
  requestsPerMinute: 6_000,
  anonymousRequestsPerMinute: 600,
  answerBytesPerSecond: 8 * 1_048_576,
  uploadBytesPerSecond: 16 * 1_048_576,
}
