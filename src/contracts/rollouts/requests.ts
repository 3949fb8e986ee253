import { uuidV5 } from '../../core/ids.ts'

/** The plan and the rollout that take another one back, asked for at that time: whoever makes them makes the same. */
export function rollbackNames(execution: string, rollbackAt: string): { plan: string; execution: string } {
  const at = `${execution}/${rollbackAt}`
  return { plan: uuidV5(`rollback-plan/${at}`), execution: uuidV5(`rollback/${at}`) }
}
