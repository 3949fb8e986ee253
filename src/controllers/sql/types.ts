import type { SqlEngine } from '../../adapters/sql/port.ts'
import type { SqlPasswords } from '../../contracts/sql.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import type { Pass, Step } from '../engine/controller.ts'
import type { StatefulState } from '../stateful/pass.ts'

/** Injected by the composition root. */
export type SqlOptions = {
  engines: Readonly<Record<'MsSql' | 'MariaDb', SqlEngine>>
  /** Defaults to random ones. */
  generatePassword?: () => string
  /** Velero's namespace. */
  backupNamespace: string
}

/** State shared between the steps of a pass. */
export type SqlState = StatefulState & {
  passwords?: SqlPasswords | undefined
  /** Version of the product key to start with; undefined without one. */
  productKeyVersion?: number | undefined
  /** Why logins or license are not as requested yet. */
  engine?: Outcome | undefined
  /** keepBackups: why backups are not as requested. */
  backup?: Outcome | undefined
}

export type SqlPass = Pass<typeof SqlInstance, SqlState>
export type SqlStep = Step<typeof SqlInstance, SqlState>
