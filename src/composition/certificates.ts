// @peculiar/x509 requires this polyfill to be loaded first.
import { DAY_MS } from '../core/clock.ts'
import 'reflect-metadata'
import { randomBytes, type webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** A certificate and its key (PKCS #8); PEM. */
export type CertificatePair = { certPem: string; keyPem: string }
export type CertificatePurpose = 'server' | 'client' | 'peer'

export type LeafRequest = {
  commonName: string
  organizations?: readonly string[]
  purpose: CertificatePurpose
  /** DNS names and addresses of a server. */
  names?: readonly string[]
  /** Validity in days; 365 by default. */
  days?: number
}

/** Validity in days. */
export const LIFETIME_DAYS = { authority: 3650, leaf: 365 }
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
/** The clock of a reader, such as the agent in another cluster, may be behind by hours. */
const BACKDATE_MS = DAY_MS
const PURPOSES: Record<CertificatePurpose, string[]> = {
  server: ['1.3.6.1.5.5.7.3.1'],
  client: ['1.3.6.1.5.5.7.3.2'],
  peer: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'],
}

/** Issues a certificate for a new key, valid for a year by default (RFC 5280). */
export async function issueCertificate(
  authority: CertificatePair,
  request: LeafRequest,
  now: Date,
): Promise<CertificatePair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const key = { publicKey: keys.publicKey, ...validity(now, request.days ?? LIFETIME_DAYS.leaf) }
  const certPem = await signCertificate(authority, request, key)
  return { certPem, keyPem: await exportKey(keys.privateKey) }
}

type Key = Pick<Parameters<typeof X509CertificateGenerator.create>[0], 'publicKey'>

/** Signs a certificate for a key; PEM. */
async function signCertificate(
  authority: CertificatePair,
  { commonName, organizations = [], purpose, names = [] }: LeafRequest,
  key: Key & ReturnType<typeof validity>,
): Promise<string> {
  const signer = new X509Certificate(authority.certPem)
  const named = names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const)
  const certificate = await X509CertificateGenerator.create({
    ...key,
    subject: [{ CN: [commonName] }, ...organizations.map((organization) => ({ O: [organization] }))],
    issuer: [{ CN: [commonNameOf(signer)] }],
    signingKey: await importKey(authority.keyPem),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(PURPOSES[purpose]),
      await AuthorityKeyIdentifierExtension.create(await publicKeyOf(signer)),
      ...(named.length > 0 ? [new SubjectAlternativeNameExtension(named)] : []),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

/** Creates a key and a certificate signing request (RFC 2986); PEM. */
export async function requestCertificate(commonName: string): Promise<{ keyPem: string; requestPem: string }> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ALGORITHM,
  })
  return { keyPem: await exportKey(keys.privateKey), requestPem: `${request.toString('pem')}\n` }
}

/**
 * Signs the key of a request. Everything else in the request is ignored.
 *
 * @throws Error if the request is invalid, or not signed with its own key
 */
export async function signRequest(
  authority: CertificatePair,
  requestPem: string,
  { commonName, organization, days }: { commonName: string; organization: string; days: number },
  now: Date,
): Promise<string> {
  const request = new Pkcs10CertificateRequest(requestPem)
  if (!(await request.verify())) throw new Error('The request is not signed with its own key.')
  // Not backdated: the time is compared with that of a revocation.
  const key = { publicKey: request.publicKey, ...validity(now, days), notBefore: now }
  return signCertificate(authority, { commonName, organizations: [organization], purpose: 'client' }, key)
}

/** Creates a certificate authority that is valid for ten years. */
export async function createAuthority(commonName: string, now: Date): Promise<CertificatePair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const name = [{ CN: [commonName] }]
  const certificate = await X509CertificateGenerator.create({
    ...validity(now, LIFETIME_DAYS.authority),
    subject: name,
    issuer: name,
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certPem: `${certificate.toString('pem')}\n`, keyPem: await exportKey(keys.privateKey) }
}

function validity(now: Date, days: number) {
  // Clears the top bit, because a serial number is a positive integer (RFC 5280 4.1.2.2).
  const serial = randomBytes(16)
  serial[0] = (serial[0] ?? 0) & 0x7f || 1
  return {
    serialNumber: serial.toString('hex'),
    notBefore: new Date(now.getTime() - BACKDATE_MS),
    notAfter: new Date(now.getTime() + days * DAY_MS),
  }
}

const commonNameOf = (certificate: X509Certificate) => /CN=(.*)/.exec(certificate.subject)?.[1] ?? ''

async function publicKeyOf(certificate: X509Certificate): Promise<webcrypto.CryptoKey> {
  const der = certificate.publicKey.export({ type: 'spki', format: 'der' })
  return crypto.subtle.importKey('spki', new Uint8Array(der), ALGORITHM, true, ['verify'])
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = PemConverter.decodeFirst(pem)
  return crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign'])
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
}
