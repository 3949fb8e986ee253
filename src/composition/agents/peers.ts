import { X509Certificate } from 'node:crypto'
import { AGENT_PEER_SECRET } from '../../contracts/clusters.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { type CertificatePair, DAY_MS, issueCertificate } from '../certificates.ts'
import { readTexts, storeTexts } from '../secretTexts.ts'

/** Common name in the certificate with which replicas of the platform enter each other's tunnels. */
export const PEER_NAME = 'freehold-peer'
/** Replaced by a facade that starts, once it is good for less than this. */
const RENEW_BELOW = 180 * DAY_MS

type Peer = { certificate: string; key: string; authority: string }

/** @throws KubeError NotFound before any facade with a gate has started */
export async function readPeer(client: Pick<KubeClient, 'get'>): Promise<Peer> {
  const texts = await readTexts(client, AGENT_PEER_SECRET)
  return { certificate: texts['tls.crt'] ?? '', key: texts['tls.key'] ?? '', authority: texts['ca.crt'] ?? '' }
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
  try {
    const texts = { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': authority.certPem }
    await storeTexts(client, AGENT_PEER_SECRET, texts)
  } catch (error) {
    // Another replica was first; what it made is as good.
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
}

const isGood = (certificate: string, now: Date) =>
  Date.parse(new X509Certificate(certificate).validTo) - now.getTime() > RENEW_BELOW
