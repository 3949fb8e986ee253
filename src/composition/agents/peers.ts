import { X509Certificate } from 'node:crypto'
import { AGENT_PEER_SECRET } from '../../contracts/clusters.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { type CertificatePair, DAY_MS, issueCertificate } from '../certificates.ts'

/** Common name in the certificate with which replicas of the platform enter each other's tunnels. */
export const PEER_NAME = 'freehold-peer'
/** Replaced by a facade that starts, once it is good for less than this. */
const RENEW_BELOW = 180 * DAY_MS

type SecretObject = KubeObject & { data?: Record<string, string> }
type Peer = { certificate: string; key: string; authority: string }

const ref = { namespace: SYSTEM_NAMESPACE, name: AGENT_PEER_SECRET }

/** @throws KubeError NotFound before any facade with a gate has started */
export async function readPeer(client: Pick<KubeClient, 'get'>): Promise<Peer> {
  const { data } = await client.get<SecretObject>(secret, ref)
  const text = (name: string) => Buffer.from(data?.[name] ?? '', 'base64').toString()
  return { certificate: text('tls.crt'), key: text('tls.key'), authority: text('ca.crt') }
}

/** Makes the certificate that all processes of the platform share. Apart from what signs: the controllers sign nothing. */
export async function keepPeer(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
  authority: CertificatePair,
  now: Date,
): Promise<void> {
  const stored = await readPeer(client).catch((error: unknown) => {
    if (isKubeError(error, 'NotFound')) return undefined
    throw error
  })
  if (stored?.authority === authority.certPem && isGood(stored.certificate, now)) return
  const { certPem, keyPem } = await issueCertificate(authority, { commonName: PEER_NAME, purpose: 'client' }, now)
  const texts = { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': authority.certPem }
  const entries = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')])
  const data = Object.fromEntries(entries)
  if (stored !== undefined) return void (await client.mergePatch(secret, ref, { data }))
  const metadata = { ...ref, labels: { 'app.kubernetes.io/part-of': 'freehold' } }
  try {
    await client.create<SecretObject>(secret, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data })
  } catch (error) {
    // Another replica was first; what it made is as good.
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
}

const isGood = (certificate: string, now: Date) =>
  Date.parse(new X509Certificate(certificate).validTo) - now.getTime() > RENEW_BELOW
