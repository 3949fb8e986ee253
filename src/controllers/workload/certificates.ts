import { DAY_MS } from '../../core/clock.ts'
import type { KubeObject } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import type { Pass } from '../engine/controller.ts'
import { ignoreMissingRights } from './secrets.ts'

/** The fields of a cert-manager Certificate that are read. */
export type CertificateObject = KubeObject & {
  status?: {
    notBefore?: string
    notAfter?: string
    renewalTime?: string
    lastFailureTime?: string
    conditions?: { type: string; status: string; reason?: string }[]
  }
}

/** From best to worst. */
const STATES = ['NotRequested', 'Valid', 'Issuing', 'Expiring', 'Failed', 'Expired'] as const
export type CertificateState = (typeof STATES)[number]

const EXPIRY_WARNING_MS = 21 * DAY_MS

export function certificateState(found: CertificateObject | undefined, now: number): CertificateState {
  const { notAfter, lastFailureTime, conditions = [] } = found?.status ?? {}
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  const remainingMs = notAfter === undefined ? undefined : Date.parse(notAfter) - now
  if (remainingMs !== undefined && remainingMs <= 0) return 'Expired'
  if (isReady) return remainingMs !== undefined && remainingMs < EXPIRY_WARNING_MS ? 'Expiring' : 'Valid'
  return lastFailureTime === undefined ? 'Issuing' : 'Failed'
}

/** Returns a certificate's times and the reason of its last failure, but no message, which may contain anything. */
export function certificateTimesOf(found: CertificateObject | undefined) {
  const { notBefore, notAfter, renewalTime: renewsAt, lastFailureTime, conditions = [] } = found?.status ?? {}
  const failed = conditions.find(({ type, status }) => type === 'Issuing' && status === 'False')
  const lastError = lastFailureTime === undefined ? undefined : failed?.reason
  return Object.fromEntries(
    Object.entries({ notBefore, notAfter, renewsAt, lastError }).filter(([, value]) => value !== undefined),
  )
}

/** Returns the worst state; undefined without any. */
export function worstCertificateState(states: readonly CertificateState[]): CertificateState | undefined {
  return STATES.findLast((state) => states.includes(state))
}

/**
 * Deletes the Secrets of certificates that are about to be deleted, because cert-manager leaves them behind. The
 * Secrets first: after a crash, nothing would know of them without their Certificates.
 */
export async function removeUnwantedCertSecrets(
  { children, workloads }: Pick<Pass, 'children' | 'workloads'>,
  kept: readonly string[],
): Promise<void> {
  for (const { metadata } of children.owned(certificate)) {
    const { name, namespace } = metadata
    if (kept.includes(name) || metadata.deletionTimestamp !== undefined) continue
    await ignoreMissingRights(() => workloads.client.remove(secret, { namespace, name }))
  }
}
