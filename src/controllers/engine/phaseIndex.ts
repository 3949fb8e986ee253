import type { KubeObject } from '../../core/object.ts'

/** Objects of ours by the phase in their status, so that waiting objects are found without a scan. */
export const PHASE_INDEX = 'phase'

export function phaseIndexKeys({ apiVersion, status }: KubeObject): readonly string[] {
  if (!apiVersion.includes('freehold.dev/')) return []
  const phase = (status as { phase?: unknown } | undefined)?.phase
  return typeof phase === 'string' ? [phase] : []
}
