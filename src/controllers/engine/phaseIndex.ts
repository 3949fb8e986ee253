import type { Condition } from '../../core/conditions.ts'
import type { KubeObject } from '../../core/object.ts'

/** Objects of ours by the phase in their status, so that waiting objects are found without a scan. */
export const PHASE_INDEX = 'phase'

type Phased = { phase?: unknown; conditions?: readonly Condition[] }

/** Stopped objects are also indexed by the reason that keeps them from starting, such as `QuotaExceeded`. */
export function phaseIndexKeys({ apiVersion, status }: KubeObject): readonly string[] {
  if (!apiVersion.includes('freehold.dev/')) return []
  const { phase, conditions = [] } = (status ?? {}) as Phased
  if (typeof phase !== 'string') return []
  const startCondition = phase === 'Stopped' ? conditions.find(({ type }) => type === 'Startable') : undefined
  return startCondition === undefined ? [phase] : [phase, startCondition.reason]
}
