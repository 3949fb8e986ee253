import type { SqlEngine } from '../../adapters/sql/port.ts'
import type { SqlPasswords } from '../../contracts/sql.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { newStatefulState, type StatefulState } from '../stateful/pass.ts'

/** What the controller of SQL instances is given by the composition root. */
export type SqlOptions = {
  engines: Readonly<Record<'MsSql' | 'MariaDb', SqlEngine>>
  generatePassword: () => string
}

/** What steps of one pass hand on. */
export type SqlState = StatefulState & {
  passwords: SqlPasswords | undefined
  /** The product key to start with; undefined for none. */
  productKeyVersion: number | undefined
  /** Why logins or license are not yet as asked for. */
  engine: Outcome | undefined
}

export function newSqlState(): SqlState {
  return { ...newStatefulState(), passwords: undefined, productKeyVersion: undefined, engine: undefined }
}

export type SqlPass = Pass<typeof SqlInstance, SqlState>
export type SqlStep = Step<typeof SqlInstance, SqlState>
