import { X509Certificate } from 'node:crypto'
import { AGENT_PEER_SECRET } from '../../contracts/clusters.ts'
import { ACTIVATOR_TUNNEL_SECRET } from '../../contracts/farCopies.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, alreadyThere } from '../../kube/errors.ts'
import { type CertificatePair, DAY_MS, issueCertificate } from '../certificates.ts'
import { remembered } from '../remembered.ts'
import { readTexts, storeTexts } from '../secretTexts.ts'

/** Common name in the certificate with which replicas of the platform enter each other's tunnels. */
export const PEER_NAME = 'freehold-peer'
/** That of the activator, which may enter for copies of functions only. */
export const ACTIVATOR_NAME = 'freehold-activator'

/** Each in a Secret of its own: whoever may read one has no other. */
const CERTIFICATES = [
  [AGENT_PEER_SECRET, PEER_NAME],
  [ACTIVATOR_TUNNEL_SECRET, ACTIVATOR_NAME],
] as const
/** Replaced by a facade that starts, once it is good for less than this. */
const RENEW_BELOW = 180 * DAY_MS

export type Peer = { certificate: string; key: string; authority: string }

/** @throws KubeError NotFound before any facade with a gate has started */
export async function readPeer(client: Pick<KubeClient, 'get'>, secret: string = AGENT_PEER_SECRET): Promise<Peer> {
  const texts = await readTexts(client, secret)
  return { certificate: texts['tls.crt'] ?? '', key: texts['tls.key'] ?? '', authority: texts['ca.crt'] ?? '' }
}

/** Milliseconds after which it is read again. */
const KEPT = 60_000

/**
 * Its Secret is replaced before the certificate ends, and by hand. While the API server is away, the one before is as good
 * as ever.
 */
export function currentPeer(client: () => Pick<KubeClient, 'get'> | undefined, kept = KEPT): () => Promise<Peer> {
  let last: Peer | undefined
  return remembered(async () => {
    const reader = client()
    if (reader === undefined) throw new Error('No API server is known yet.')
    try {
      last = await readPeer(reader)
    } catch (error) {
      if (last === undefined) throw error
    }
    return last
  }, kept)
}

type Keeping = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>

/** Makes the certificates of processes of the platform. Apart from what signs: none of these processes signs anything. */
export async function keepPeers(client: Keeping, authority: CertificatePair, now: Date): Promise<void> {
  await Promise.all(
    CERTIFICATES.map(([secret, commonName]) => keepPeer(client, authority, now, { secret, commonName })),
  )
}

async function keepPeer(
  client: Keeping,
  authority: CertificatePair,
  now: Date,
  { secret, commonName }: { secret: string; commonName: string },
): Promise<void> {
  const stored = await readPeer(client, secret).catch(absent)
  if (stored?.authority === authority.certPem && isGood(stored.certificate, now)) return
  const { certPem, keyPem } = await issueCertificate(authority, { commonName, purpose: 'client' }, now)
  const texts = { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': authority.certPem }
  // Where another replica was first, what it made is as good.
  await storeTexts(client, secret, texts).catch(alreadyThere)
}

const isGood = (certificate: string, now: Date) =>
  Date.parse(new X509Certificate(certificate).validTo) - now.getTime() > RENEW_BELOW
