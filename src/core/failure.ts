/** A failure of an external system. Callers distinguish failures by `reason`; the message is the platform's own. */
export class ReasonedError<Reason extends string> extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = new.target.name
    this.reason = reason
  }
}

/** Returns a function that recognises failures of a class; only those with one of the reasons, if any are given. */
export const failureGuard =
  <Failure extends { readonly reason: string }>(type: abstract new (...given: never[]) => Failure) =>
  (thrown: unknown, ...reasons: readonly Failure['reason'][]): thrown is Failure =>
    thrown instanceof type && (reasons.length === 0 || reasons.includes(thrown.reason))
