import { type SqlEngine, SqlFault, type SqlTarget } from './port.ts'

/** Opens a local address that forwards to a port of a pod in another cluster. */
export type ForwardPort = (
  pod: NonNullable<SqlTarget['through']>,
  port: number,
) => Promise<{ host: string; port: number }>

/** Reaches engines in other clusters through the API servers there; all others directly. */
export function throughPods(engine: SqlEngine, forward: ForwardPort): SqlEngine {
  const at = async (target: SqlTarget): Promise<SqlTarget> => {
    const { through, ...rest } = target
    if (through === undefined) return target
    try {
      return { ...rest, ...(await forward(through, target.port)), serverName: target.host }
    } catch (cause) {
      throw new SqlFault('Unreachable', `Cluster "${through.clusterId}" does not answer.`, { cause })
    }
  }
  return {
    describe: async (target, ...more) => engine.describe(await at(target), ...more),
    catalogue: async (target) => engine.catalogue(await at(target)),
    run: async (target, ...more) => engine.run(await at(target), ...more),
    rows: async (target, ...more) => engine.rows(await at(target), ...more),
    change: async (target, ...more) => engine.change(await at(target), ...more),
    prepare: async (target, ...more) => engine.prepare(await at(target), ...more),
    admit: async (target, ...more) => engine.admit(await at(target), ...more),
    close: () => engine.close(),
  }
}
