import { createHash, X509Certificate } from 'node:crypto'
import { MEMBERSHIP_SECRET } from '../../contracts/clusters.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** What makes an agent a member of a platform. PEM. */
export type Membership = { clusterId: string; certificate: string; key: string; authority: string }

type SecretObject = KubeObject & { data?: Record<string, string> }
type Client = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>
export type StoredMembership = {
  membership: Membership
  issuedAt: number
  /** Whether it joined with this very token, which is good no more. */
  isOf(token: string): boolean
}

const ref = { namespace: SYSTEM_NAMESPACE, name: MEMBERSHIP_SECRET }
const hashOf = (token: string) => createHash('sha256').update(token).digest('hex')

export async function readMembership(client: Pick<Client, 'get'>): Promise<StoredMembership | undefined> {
  try {
    const { data } = await client.get<SecretObject>(secret, ref)
    const text = (name: string) => Buffer.from(data?.[name] ?? '', 'base64').toString()
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
      isOf: (token) => hashOf(token) === text('token-hash'),
    }
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined
    throw error
  }
}

/** @param token the one that it joined with; a renewal keeps the one before */
export async function storeMembership(client: Client, membership: Membership, token?: string): Promise<void> {
  const texts = {
    'cluster-id': membership.clusterId,
    'tls.crt': membership.certificate,
    'tls.key': membership.key,
    'ca.crt': membership.authority,
    ...(token !== undefined && { 'token-hash': hashOf(token) }),
  }
  const data = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  )
  try {
    await client.mergePatch(secret, ref, { data })
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
    const metadata = { ...ref, labels: { 'app.kubernetes.io/part-of': 'freehold' } }
    await client.create<SecretObject>(secret, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data })
  }
}
