import { X509Certificate } from 'node:crypto'
import { AGENT_PEER_SECRET } from '../../contracts/clusters.ts'
import { ACTIVATOR_TUNNEL_SECRET } from '../../contracts/farCopies.ts'
import { DAY_MS } from '../../core/clock.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, alreadyThere } from '../../kube/errors.ts'
import { type CertificatePair, issueCertificate } from '../certificates.ts'
import { remembered } from '../remembered.ts'
import { readTexts, storeTexts } from '../secretTexts.ts'

/** Common name of the certificate with which replicas use each other's tunnels. */
export const PEER_NAME = 'freehold-peer'
/** Common name of the activator's certificate, which only allows to reach copies of functions. */
export const ACTIVATOR_NAME = 'freehold-activator'

/** One Secret each, so that access to one does not give the other. */
const CERTIFICATES = [
  [AGENT_PEER_SECRET, PEER_NAME],
  [ACTIVATOR_TUNNEL_SECRET, ACTIVATOR_NAME],
] as const
/** A starting facade replaces a certificate with less than this left, in milliseconds. */
const RENEW_BELOW = 180 * DAY_MS

export type Peer = { certificate: string; key: string; authority: string }

/** @throws KubeError NotFound before any facade with a gate has started */
export async function readPeer(client: Pick<KubeClient, 'get'>, secret: string = AGENT_PEER_SECRET): Promise<Peer> {
  const texts = await readTexts(client, secret)
  return { certificate: texts['tls.crt'] ?? '', key: texts['tls.key'] ?? '', authority: texts['ca.crt'] ?? '' }
}

/** Milliseconds for which the certificate is cached. */
const KEPT = 60_000

/**
 * Returns the current certificate. Its Secret is replaced before it expires, or by hand; while the API server is
 * unreachable, the last one is used.
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

/** Issues certificates for the platform's processes, stored apart from the authority, which these do not need. */
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
  // Another replica was first, and its certificate is just as good.
  await storeTexts(client, secret, texts).catch(alreadyThere)
}

const isGood = (certificate: string, now: Date) =>
  Date.parse(new X509Certificate(certificate).validTo) - now.getTime() > RENEW_BELOW
