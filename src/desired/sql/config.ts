import { engineShareMb } from '../../contracts/sql.ts'
import type { SqlInput } from './types.ts'

/** How much memory the engine may take, in MiB. */
export function engineMemoryMb({ instance, plan }: Pick<SqlInput, 'instance' | 'plan'>): number {
  return instance.spec.memoryLimitMb ?? engineShareMb(plan.memoryLimit)
}

/** The engine's own file. Nothing in it is secret: passwords come as environment variables from the Secret. */
export function engineConfiguration(input: Pick<SqlInput, 'instance' | 'plan'>): Record<string, string> {
  if (input.instance.spec.engine === 'MsSql') return { 'mssql.conf': '[telemetry]\ncustomerfeedback = false\n' }
  // The cache of the tables; what each connection takes comes on top.
  const pool = Math.max(64, Math.floor((engineMemoryMb(input) * 3) / 4))
  const lines = [
    '[mariadbd]',
    'skip-name-resolve',
    'local-infile = 0',
    'character-set-server = utf8mb4',
    `innodb-buffer-pool-size = ${pool}M`,
    'sql-mode = STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    '',
  ]
  return { 'freehold.cnf': lines.join('\n') }
}
