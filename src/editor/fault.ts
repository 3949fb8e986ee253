import { failureGuard, ReasonedError } from '../core/failure.ts'

export type SqlFaultReason =
  /** No response: the engine is starting or gone, or the network is down. */
  | 'Unreachable'
  /** The engine rejected the login. */
  | 'Unauthorized'
  /** The engine has no such database, or none that this login may see; engines do not always distinguish the two. */
  | 'DatabaseNotFound'
  | 'TableNotFound'
  | 'RowNotFound'
  /** A malformed value, or one that the column type does not accept. */
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
  /** The response exceeds the memory limit for one. */
  | 'TooLarge'
  /** The client disconnected. */
  | 'Cancelled'
  /** The engine refused the statement; `engineCode` says why. */
  | 'Failed'

export type FaultDetails = {
  column?: string | undefined
  constraint?: string | undefined
  /** The index among several rows or statements. */
  index?: number | undefined
  /** The engine's error code: SQLSTATE or number. */
  engineCode?: string | undefined
  /** The position in the statement, starting at 1. */
  position?: number | undefined
  /** For `RowChanged`: the current row. */
  current?: unknown
  cause?: unknown
}

/** A refusal by an engine or by our own checks. The message never contains values or credentials. */
export class SqlFault extends ReasonedError<SqlFaultReason> {
  readonly details: Readonly<FaultDetails>

  constructor(reason: SqlFaultReason, message: string, details: FaultDetails = {}) {
    super(reason, message, details.cause)
    this.details = details
  }

  /** Returns the same fault for one of several rows or statements. */
  at(index: number): SqlFault {
    return new SqlFault(this.reason, this.message, { ...this.details, index })
  }
}

export const isSqlFault = failureGuard(SqlFault)
