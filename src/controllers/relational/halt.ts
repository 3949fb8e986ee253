import { refOf } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import { HIBERNATION_ANNOTATION } from '../../desired/relational/index.ts'
import { postgresqlCluster, postgresqlPooler, postgresqlScheduledBackup } from '../../kube/postgresql.ts'
import { judgeStopped } from './health.ts'
import { type EngineCluster, observedEngine, type RelationalPass } from './types.ts'

/** Stops a database if its steps cannot run to their end. */
export function haltEngine(pass: RelationalPass) {
  const { object, state, children, workloads } = pass
  if (object.spec.running || state.engine !== undefined) return undefined
  return async (): Promise<Outcome> => {
    const made = observedEngine(pass)
    state.engine = made && (await hibernate(pass, made))
    await children.prune(postgresqlPooler, [])
    for (const schedule of children.owned(postgresqlScheduledBackup)) {
      const { uid } = schedule.metadata
      if ((schedule.spec as { suspend?: boolean }).suspend === true) continue
      await workloads.client.mergePatch(
        postgresqlScheduledBackup,
        refOf(schedule),
        { spec: { suspend: true } },
        { uid },
      )
    }
    return judgeStopped(pass)
  }
}

async function hibernate({ workloads }: RelationalPass, made: EngineCluster): Promise<EngineCluster> {
  const { annotations, uid } = made.metadata
  if (annotations?.[HIBERNATION_ANNOTATION] === 'on') return made
  const patch = { metadata: { annotations: { [HIBERNATION_ANNOTATION]: 'on' } } }
  return workloads.client.mergePatch<EngineCluster>(postgresqlCluster, refOf(made), patch, { uid })
}
