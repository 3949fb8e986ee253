/** A build that is not started. `isFinal` if waiting would not help. */
export class BuildNotStartedError extends Error {
  readonly isFinal: boolean

  constructor(message: string, isFinal = true) {
    super(message)
    this.isFinal = isFinal
  }
}
