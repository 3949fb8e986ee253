import { isSqlFault } from '../../adapters/sql/port.ts'
import { relationalUsers } from '../../contracts/relational.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import type { Step } from '../engine/controller.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { refOfPass } from '../workload/pass.ts'
import { isHealthy } from './health.ts'
import { ownerTarget } from './owner.ts'
import type { RelationalOptions, RelationalPass, RelationalState } from './types.ts'

/** Milliseconds until an engine that has not created the logins, or did not answer, is retried. */
const RETRY_INTERVAL_MS = 5_000
const TIMEOUT_MS = 5_000

/**
 * Grants the editor's logins access to the tables, once per Cluster, whose UID is in the status: database and owner
 * never change. The engine creates the logins without grants. Only the owner, a tenant's user, can grant, so nothing
 * but the editor depends on it.
 */
export function grantEditorAccess({
  engine,
}: Pick<RelationalOptions, 'engine'>): Step<typeof RelationalCluster, RelationalState> {
  return async function grantEditorAccess(pass: RelationalPass): Promise<Outcome> {
    const { object, state, clock, log, records, workloads } = pass
    const { owner } = state
    if (owner === undefined || !object.spec.running || !isHealthy(state.engine)) return done()
    const { reader, writer } = relationalUsers(owner.username)
    const cluster = state.engine?.metadata.uid
    const primary = state.engine?.status?.currentPrimary
    const clusterId = otherClusterOf(object, records)
    const database = state.origin?.databaseName ?? object.spec.databaseName
    if (object.status?.editorAdmittedFor === cluster) return done()
    const giveUp = new AbortController()
    const timer = clock.setTimeout(() => giveUp.abort(), TIMEOUT_MS)
    try {
      await engine.admit(
        await ownerTarget({ ...refOfPass(pass), database, workloads, clusterId, primary }, owner),
        { reader, writer },
        { signal: giveUp.signal },
      )
      pass.report({ editorAdmittedFor: cluster })
    } catch (error) {
      if (!isSqlFault(error)) throw error
      log.info({ reason: error.reason, code: error.details.engineCode }, 'The editor is not let into a database yet.')
      return done({ after: RETRY_INTERVAL_MS })
    } finally {
      timer.cancel()
    }
    return done()
  }
}
