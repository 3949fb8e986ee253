import type { KubeObject } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import type { Pass } from '../engine/controller.ts'
import { removingSecrets } from './secrets.ts'

/** A Certificate of cert-manager as far as it is looked at. */
export type CertificateObject = KubeObject & {
  status?: {
    notBefore?: string
    notAfter?: string
    renewalTime?: string
    lastFailureTime?: string
    conditions?: { type: string; status: string; reason?: string }[]
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

/** What a certificate says of its times, and of its last failure: the reason's word, as a message may hold anything. */
export function timesOf(found: CertificateObject | undefined) {
  const { notBefore, notAfter, renewalTime: renewsAt, lastFailureTime, conditions = [] } = found?.status ?? {}
  const failed = conditions.find(({ type, status }) => type === 'Issuing' && status === 'False')
  const lastError = lastFailureTime === undefined ? undefined : failed?.reason
  return Object.fromEntries(
    Object.entries({ notBefore, notAfter, renewsAt, lastError }).filter(([, value]) => value !== undefined),
  )
}

/** Undefined if there are none. */
export function worstOf(states: readonly CertificateState[]): CertificateState | undefined {
  return STATES.findLast((state) => states.includes(state))
}

/**
 * Removes the Secrets of the certificates that are about to go: cert-manager leaves certificate and key in one of its name. Before
 * them, because without its certificate nobody would know of it after a crash.
 */
export async function removeKeysBut(
  { children, workloads }: Pick<Pass, 'children' | 'workloads'>,
  kept: readonly string[],
): Promise<void> {
  for (const { metadata } of children.owned(certificate)) {
    const { name, namespace } = metadata
    if (kept.includes(name) || metadata.deletionTimestamp !== undefined) continue
    await removingSecrets(() => workloads.client.remove(secret, { namespace, name }))
  }
}
