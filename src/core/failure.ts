/** A failure of an external system. Callers distinguish failures by `reason`; the message is the platform's own. */
export class ReasonedError<Reason extends string> extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.name = new.target.name
    this.reason = reason
  }
}

/** Like `ReasonedError`, but distinguished by a code. */
export class CodedError<Code extends string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = new.target.name
    this.code = code
  }
}
