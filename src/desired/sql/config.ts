import { defaultEngineMemoryMb } from '../../contracts/sql.ts'
import { temporaryKiB } from '../workload/temporaryFiles.ts'
import type { SqlInput } from './types.ts'

export const MARIADB_DATA_DIR = '/var/lib/mysql'

/** Returns the engine's memory limit in MiB. */
export function engineMemoryMb({ instance, plan }: Pick<SqlInput, 'instance' | 'plan'>): number {
  return instance.spec.memoryLimitMb ?? defaultEngineMemoryMb(plan.memoryLimit)
}

/** The engine's configuration file; a change restarts the engine. No secrets: passwords come from the Secret. */
export function engineConfiguration(input: Pick<SqlInput, 'instance' | 'plan'>): Record<string, string> {
  if (input.instance.spec.engine === 'MsSql') return { 'mssql.conf': '[telemetry]\ncustomerfeedback = false\n' }
  // Three quarters for the buffer pool; per-connection memory comes on top.
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

/** Fraction of the volume for the temporary files of all queries together. */
const TEMPORARY_DIVISOR = 4n

/**
 * Configuration that takes effect at the next start, so that neither a platform upgrade nor a larger volume restarts
 * the engine. Temporary files go to the tenant's volume: on the node's disk they would get the pod evicted. MariaDB
 * before 11.5 does not know the limit.
 */
export function deferredConfiguration({ instance, plan }: Pick<SqlInput, 'instance' | 'plan'>): Record<string, string> {
  if (instance.spec.engine === 'MsSql') return {}
  const limitKiB = temporaryKiB(plan.storageSize, TEMPORARY_DIVISOR)
  const limit = limitKiB === undefined ? [] : [`loose-max-tmp-total-space-usage = ${limitKiB}K`]
  return { 'temporary.cnf': ['[mariadbd]', `tmpdir = ${MARIADB_DATA_DIR}`, ...limit, ''].join('\n') }
}
