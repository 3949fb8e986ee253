import type { KubeObject } from '../../core/object.ts'

/** A Certificate of cert-manager as far as it is looked at. */
export type CertificateObject = KubeObject & {
  status?: {
    notAfter?: string
    lastFailureTime?: string
    conditions?: { type: string; status: string }[]
  }
}

/** From the best to the worst. */
const STATES = ['NotRequested', 'Valid', 'Issuing', 'Expiring', 'Failed', 'Expired'] as const
export type CertificateState = (typeof STATES)[number]

const THREE_WEEKS = 21 * 86_400_000

export function certificateState(found: CertificateObject | undefined, now: number): CertificateState {
  const { notAfter, lastFailureTime, conditions = [] } = found?.status ?? {}
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  const left = notAfter === undefined ? undefined : Date.parse(notAfter) - now
  if (left !== undefined && left <= 0) return 'Expired'
  if (isReady) return left !== undefined && left < THREE_WEEKS ? 'Expiring' : 'Valid'
  return lastFailureTime === undefined ? 'Issuing' : 'Failed'
}

/** Undefined if there are none. */
export function worstOf(states: readonly CertificateState[]): CertificateState | undefined {
  return STATES.findLast((state) => states.includes(state))
}
