export type SqlFaultReason =
  /** No answer: the engine is starting, gone, or the network is cut. */
  | 'Unreachable'
  /** The login was not accepted. */
  | 'Unauthorized'
  /** The engine answers, and has no database of this name, or none for this login: it does not always say which. */
  | 'DatabaseNotFound'
  | 'TableNotFound'
  | 'RowNotFound'
  /** A value of a wrong form, or one that the engine's type does not take. */
  | 'InvalidValue'
  | 'UnknownColumn'
  | 'ColumnNotWritable'
  | 'CompositeKey'
  | 'NoPrimaryKey'
  | 'RowChanged'
  | 'DuplicateKey'
  | 'ConstraintViolation'
  | 'Timeout'
  | 'Deadlock'
  /** The answer is longer than is kept in memory for one. */
  | 'TooLarge'
  /** The client disconnected. */
  | 'Cancelled'
  /** The engine understood and said no; `engineCode` says why. */
  | 'Failed'

export type FaultDetails = {
  column?: string | undefined
  constraint?: string | undefined
  /** Which of many rows or statements. */
  index?: number | undefined
  /** The engine's own code: SQLSTATE or number. */
  engineCode?: string | undefined
  /** Where in the statement, from 1. */
  position?: number | undefined
  /** Of `RowChanged`: the row as it is now. */
  current?: unknown
  cause?: unknown
}

/** Something an engine, or the check of what is sent to it, refused. The message never holds values or credentials. */
export class SqlFault extends Error {
  readonly reason: SqlFaultReason
  readonly details: Readonly<FaultDetails>

  constructor(reason: SqlFaultReason, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.name = 'SqlFault'
    this.reason = reason
    this.details = details
  }

  /** The same about one of many. */
  at(index: number): SqlFault {
    return new SqlFault(this.reason, this.message, { ...this.details, index })
  }
}

export function isSqlFault(thrown: unknown, ...reasons: SqlFaultReason[]): thrown is SqlFault {
  return thrown instanceof SqlFault && (reasons.length === 0 || reasons.includes(thrown.reason))
}
