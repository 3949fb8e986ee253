import { uuidV5 } from '../../core/ids.ts'

/** Derives the plan and the rollout of a rollback from its request, so that every process makes the same ones. */
export function rollbackNames(execution: string, rollbackAt: string): { plan: string; execution: string } {
  const at = `${execution}/${rollbackAt}`
  return { plan: uuidV5(`rollback-plan/${at}`), execution: uuidV5(`rollback/${at}`) }
}
