import { isSqlFault } from '../../adapters/sql/port.ts'
import { relationalNames, relationalUsers } from '../../contracts/relational.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { otherClusterOf, workspaceOf } from '../engine/workloadLocation.ts'
import { readSecret, withSecretRights } from '../workload/secrets.ts'
import { passwordOf } from './backup.ts'
import { ownerTarget } from './owner.ts'
import { originNamespaceOf } from './resolve.ts'
import {
  observedEngine,
  type RelationalOptions,
  type RelationalPass,
  type RelationalStep,
  type StoredCluster,
} from './types.ts'

const WRITE_TIMEOUT_MS = 10_000
/** Each runs in its own transaction. The second fills the WAL file of the first, so that it is archived at once. */
const STATEMENTS = [
  `SELECT pg_logical_emit_message(true, 'freehold', 'restore')`,
  `SELECT pg_logical_emit_message(true, 'freehold', repeat(' ', pg_size_bytes(current_setting('wal_segment_size'))::int))`,
]

/**
 * Before a restore to a point in time, writes a commit to the source's WAL and completes the file. The engine can only
 * restore to a time if the archive holds a later commit; otherwise a database without recent writes could not be
 * restored, and any other only after its WAL was archived, up to five minutes later.
 *
 * A source that is stopped or not accessible (its owner is the tenant's) has completed its WAL, or will within those
 * minutes: the engine retries.
 */
export function completeWal({ engine }: Pick<RelationalOptions, 'engine'>): RelationalStep {
  return async function completeWal(pass: RelationalPass): Promise<Outcome> {
    if (pass.state.origin?.targetTime === undefined || observedEngine(pass) !== undefined) return done()
    const source = sourceOf(pass)
    const workloads = source && workspaceOf(source, pass)
    if (source === undefined || workloads === undefined) return done()
    return withSecretRights(async () => {
      const { namespace = '', name } = source.metadata
      const { databaseName, ownerName } = { ...source.spec, ...source.status?.origin }
      const password = passwordOf((await readSecret({ workloads }, namespace, relationalNames(name).owner))?.data)
      if (password === undefined) return done()
      const login = { username: relationalUsers(ownerName).owner, password }
      const clusterId = otherClusterOf(source, pass.records)
      const primary = source.status?.currentPrimary
      const place = { namespace, name, database: databaseName, workloads, clusterId, primary }
      const target = await ownerTarget(place, login)
      await fillWalFile(pass, engine, target)
      return done()
    })
  }
}

/** Returns the database that wrote the archive, if it runs. */
function sourceOf(pass: RelationalPass): StoredCluster | undefined {
  const { restoreFrom } = pass.object.spec
  const namespace = restoreFrom && originNamespaceOf(pass, restoreFrom)
  const found = pass.records.cache(RelationalCluster).get(namespace, pass.state.origin?.clusterName ?? '')
  if (found?.status?.serverName !== pass.state.origin?.serverName) return undefined
  const isServed = found?.spec.running === true && found.spec.connectTo === undefined
  return isServed && (found.status?.readyReplicas ?? 0) > 0 ? found : undefined
}

async function fillWalFile(
  { clock, log }: RelationalPass,
  engine: RelationalOptions['engine'],
  target: Parameters<RelationalOptions['engine']['run']>[0],
): Promise<void> {
  const giveUp = new AbortController()
  const timer = clock.setTimeout(() => giveUp.abort(), WRITE_TIMEOUT_MS)
  const limits = { parameters: {}, isReadOnly: false, maxRows: 1, timeoutMilliseconds: WRITE_TIMEOUT_MS }
  try {
    for (const text of STATEMENTS) {
      const statements = [{ index: 0, text, parameters: [] }]
      const { failure } = await engine.run(target, { statements, ...limits }, { signal: giveUp.signal })
      if (failure !== undefined) return log.info({ failure: failure.code }, NOT_ENDED)
    }
  } catch (error) {
    if (!isSqlFault(error)) throw error
    log.info({ reason: error.reason, code: error.details.engineCode }, NOT_ENDED)
  } finally {
    timer.cancel()
  }
}

const NOT_ENDED = 'The log of a database could not be ended before another one is restored from it.'
