import type { KubeObject } from '../../core/object.ts'
import { saysQuota } from '../../core/sizing/quota.ts'

/** Objects of ours by the phase in their status, so that waiting objects are found without a scan. */
export const PHASE_INDEX = 'phase'

export function phaseIndexKeys({ apiVersion, status }: KubeObject): readonly string[] {
  if (!apiVersion.includes('freehold.dev/')) return []
  const { phase, statusMessage } = (status ?? {}) as { phase?: unknown; statusMessage?: string }
  if (typeof phase !== 'string') return []
  // What is stopped says in its sentence alone that it waits for room.
  return phase === 'Stopped' && saysQuota(statusMessage) ? [phase, 'QuotaExceeded'] : [phase]
}
