import { isSqlFault, type SqlTarget } from '../../adapters/sql/port.ts'
import {
  authoritySecret,
  engineHost,
  RELATIONAL_PORT,
  relationalNames,
  relationalUsers,
} from '../../contracts/relational.ts'
import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import { secret } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Step } from '../engine/controller.ts'
import { isHealthy } from './health.ts'
import { placeOfPass, type RelationalOptions, type RelationalPass, type RelationalState } from './types.ts'

/** Milliseconds until an engine that has not made the logins yet, or did not answer, is asked again. */
const RETRY = 5_000
const DEADLINE = 5_000

/**
 * Lets the logins of the editor at the tables, once for each Cluster of the engine, whose database and owner never
 * change: its uid stands in the status. The engine makes the logins, but grants nothing to them; only the owner can, who
 * is the tenant's and not ours, so nothing but the editor waits for it.
 */
export function admitEditor({
  engine,
}: Pick<RelationalOptions, 'engine'>): Step<typeof RelationalCluster, RelationalState> {
  return async function admitEditor(pass: RelationalPass): Promise<Outcome> {
    const { object, state, clock, log } = pass
    const { owner } = state
    if (owner === undefined || !object.spec.running || !isHealthy(state.engine)) return done()
    const { reader, writer } = relationalUsers(owner.username)
    const cluster = state.engine?.metadata.uid
    if (object.status?.editorAdmittedFor === cluster) return done()
    const giveUp = new AbortController()
    const timer = clock.setTimeout(() => giveUp.abort(), DEADLINE)
    try {
      await engine.admit(await ownerTarget(pass, owner), { reader, writer }, { signal: giveUp.signal })
      pass.report({ editorAdmittedFor: cluster })
    } catch (error) {
      if (!isSqlFault(error)) throw error
      log.info({ reason: error.reason, code: error.details.engineCode }, 'The editor is not let into a database yet.')
      state.admitAfter = RETRY
    } finally {
      timer.cancel()
    }
    return done()
  }
}

async function ownerTarget(
  pass: RelationalPass,
  { username: user, password }: { username: string; password: string },
): Promise<SqlTarget> {
  const { namespace, name } = placeOfPass(pass)
  return {
    dialect: 'postgresql',
    host: engineHost(namespace, name),
    port: RELATIONAL_PORT,
    database: pass.state.origin?.databaseName ?? pass.object.spec.databaseName,
    user,
    password,
    certificateAuthority: await authority(pass),
  }
}

/** Empty until the engine has made it: nothing is said before. */
async function authority(pass: RelationalPass): Promise<string> {
  const { namespace, name } = placeOfPass(pass)
  const ref = { namespace, name: authoritySecret(relationalNames(name).cluster) }
  try {
    const { data } = await pass.workloads.client.get<KubeObject & { data?: Record<string, string> }>(secret, ref)
    return Buffer.from(data?.['ca.crt'] ?? '', 'base64').toString('utf8')
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return ''
    throw error
  }
}
