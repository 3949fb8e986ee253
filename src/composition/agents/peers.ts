import { X509Certificate } from 'node:crypto'
import { AGENT_PEER_SECRET } from '../../contracts/clusters.ts'
import { ACTIVATOR_TUNNEL_SECRET } from '../../contracts/remoteCopies.ts'
import { DAY_MS } from '../../core/clock.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import { type CertificatePair, issueCertificate } from '../certificates.ts'
import { memoizeWithTtl } from '../memoizeWithTtl.ts'
import { readSecretTexts, storeSecretTexts } from '../secretTexts.ts'

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
const RENEW_BEFORE_MS = 180 * DAY_MS

export type PeerCertificate = { certificate: string; key: string; authority: string }

/** @throws KubeError NotFound before any facade with a gate has started */
export async function readPeerCertificate(
  client: Pick<KubeClient, 'get'>,
  secret: string = AGENT_PEER_SECRET,
): Promise<PeerCertificate> {
  const texts = await readSecretTexts(client, secret)
  return { certificate: texts['tls.crt'] ?? '', key: texts['tls.key'] ?? '', authority: texts['ca.crt'] ?? '' }
}

/** Milliseconds for which the certificate is cached. */
const CACHE_TTL_MS = 60_000

/**
 * Returns the current certificate. Its Secret is replaced before it expires, or by hand; while the API server is
 * unreachable, the last one is used.
 */
export function currentPeerCertificate(
  client: () => Pick<KubeClient, 'get'> | undefined,
  ttl = CACHE_TTL_MS,
): () => Promise<PeerCertificate> {
  let last: PeerCertificate | undefined
  return memoizeWithTtl(async () => {
    const reader = client()
    if (reader === undefined) throw new Error('No API server is known yet.')
    try {
      last = await readPeerCertificate(reader)
    } catch (error) {
      if (last === undefined) throw error
    }
    return last
  }, ttl)
}

type Secrets = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>

/** Issues certificates for the platform's processes, stored apart from the authority, which these do not need. */
export async function ensurePeerCertificates(client: Secrets, authority: CertificatePair, now: Date): Promise<void> {
  await Promise.all(
    CERTIFICATES.map(([secret, commonName]) => ensurePeer(client, authority, now, { secret, commonName })),
  )
}

async function ensurePeer(
  client: Secrets,
  authority: CertificatePair,
  now: Date,
  { secret, commonName }: { secret: string; commonName: string },
): Promise<void> {
  const stored = await readPeerCertificate(client, secret).catch(absent)
  if (stored?.authority === authority.certPem && isLongValid(stored.certificate, now)) return
  const { certPem, keyPem } = await issueCertificate(authority, { commonName, purpose: 'client' }, now)
  const texts = { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': authority.certPem }
  // Another replica was first, and its certificate is just as good.
  await storeSecretTexts(client, secret, texts).catch(ignoreKubeAlreadyExists)
}

const isLongValid = (certificate: string, now: Date) =>
  Date.parse(new X509Certificate(certificate).validTo) - now.getTime() > RENEW_BEFORE_MS
