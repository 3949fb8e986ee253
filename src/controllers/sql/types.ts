import type { SqlEngine } from '../../adapters/sql/port.ts'
import type { SqlPasswords } from '../../contracts/sql.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import type { Pass } from '../engine/controller.ts'
import type { Claim, StatefulSet } from '../stateful/types.ts'

/** What the controller of SQL instances is given by the composition root. */
export type SqlOptions = {
  engines: Readonly<Record<'MsSql' | 'MariaDb', SqlEngine>>
  generatePassword: () => string
}

/** What steps of one pass hand on. */
export type SqlState = {
  plan: EffectivePlan | undefined
  claims: ReadonlyMap<number, Claim>
  passwords: SqlPasswords | undefined
  /** The product key to start with; undefined for none. */
  productKeyVersion: number | undefined
  volumes: Outcome | undefined
  workload: StatefulSet | undefined
  /** Why logins or license are not yet as asked for. */
  engine: Outcome | undefined
}

export function newSqlState(): SqlState {
  return {
    plan: undefined,
    claims: new Map(),
    passwords: undefined,
    productKeyVersion: undefined,
    volumes: undefined,
    workload: undefined,
    engine: undefined,
  }
}

export type SqlPass = Pass<typeof SqlInstance, SqlState>
