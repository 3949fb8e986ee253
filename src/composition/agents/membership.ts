import { X509Certificate } from 'node:crypto'
import { MEMBERSHIP_SECRET } from '../../contracts/clusters.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent } from '../../kube/errors.ts'
import { readSecretTexts, storeSecretTexts } from '../secretTexts.ts'

/** An agent's certificate, key and authority; PEM. */
export type Membership = { clusterId: string; certificate: string; key: string; authority: string }

export type StoredMembership = {
  membership: Membership
  issuedAt: number
  /** Whether the agent joined with this token, which cannot be used again. */
  isOf(token: string): boolean
}

export async function readMembership(client: Pick<KubeClient, 'get'>): Promise<StoredMembership | undefined> {
  const texts = await readSecretTexts(client, MEMBERSHIP_SECRET).catch(absent)
  const text = (name: string) => texts?.[name] ?? ''
  const membership = {
    clusterId: text('cluster-id'),
    certificate: text('tls.crt'),
    key: text('tls.key'),
    authority: text('ca.crt'),
  }
  if (membership.certificate === '') return undefined
  return {
    membership,
    issuedAt: Date.parse(new X509Certificate(membership.certificate).validFrom),
    isOf: (token) => sha256(token) === text('token-hash'),
  }
}

/** @param token the token that was used to join; a renewal keeps the previous one */
export async function storeMembership(
  client: Pick<KubeClient, 'create' | 'mergePatch'>,
  { clusterId, certificate, key, authority }: Membership,
  token?: string,
): Promise<void> {
  await storeSecretTexts(client, MEMBERSHIP_SECRET, {
    'cluster-id': clusterId,
    'tls.crt': certificate,
    'tls.key': key,
    'ca.crt': authority,
    ...(token !== undefined && { 'token-hash': sha256(token) }),
  })
}
