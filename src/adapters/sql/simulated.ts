import { readFileSync } from 'node:fs'
import { type SqlCall, type SqlEngine, SqlFault, type SqlTarget } from './port.ts'

/** Address and administrator of an engine that really runs although pods are simulated. */
type RunningEngine = { host: string; port: number; user: string; password: string; certificateAuthority?: string }
/** The edition that a simulated engine reports. */
type SimulatedEngine = { edition: string }

/**
 * Stands in for engines where pods are simulated: they can be prepared, but nothing answers. A file may map hosts
 * (`<service>.<namespace>.svc`) to engines that really run, or to what a simulated one reports. It is read at each
 * call, so that a test can start an engine for an instance that it has just created.
 */
export function simulatedEngine(
  real: SqlEngine,
  file: string | undefined,
  administrators: readonly string[],
): SqlEngine {
  const found = (target: SqlTarget): SqlTarget | undefined => {
    const running = enginesIn(file)[target.host]
    if (running === undefined || !('port' in running)) return undefined
    const { host, port, user, password, certificateAuthority } = running
    const isAdministrator = administrators.includes(target.user)
    return {
      ...target,
      host,
      port,
      through: undefined,
      certificateAuthority,
      ...(isAdministrator ? { user, password } : {}),
    }
  }
  const runningEngine = (target: SqlTarget): SqlTarget => {
    const running = found(target)
    if (running === undefined)
      throw new SqlFault('Unreachable', 'Engines are only simulated here, so there is no database to connect to.')
    return running
  }
  return {
    describe: async (target, call?: SqlCall) => {
      const running = found(target)
      if (running !== undefined) return real.describe(running, call)
      const engine = enginesIn(file)[target.host]
      return { version: 'played', edition: engine !== undefined && 'edition' in engine ? engine.edition : null }
    },
    prepare: async (target, wanted, call) => {
      const running = found(target)
      if (running !== undefined) await real.prepare(running, wanted, call)
    },
    admit: async (target, logins, call) => {
      const running = found(target)
      if (running !== undefined) await real.admit(running, logins, call)
    },
    catalogue: async (target) => real.catalogue(runningEngine(target)),
    run: async (target, request, call) => real.run(runningEngine(target), request, call),
    rows: async (target, request, call) => real.rows(runningEngine(target), request, call),
    change: async (target, table, changes, call) => real.change(runningEngine(target), table, changes, call),
    close: () => real.close(),
  }
}

function enginesIn(file: string | undefined): Record<string, RunningEngine | SimulatedEngine> {
  if (file === undefined) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, RunningEngine | SimulatedEngine>
  } catch {
    return {}
  }
}
