// @peculiar/x509 asks for this polyfill to be loaded before it.
import 'reflect-metadata'
import { generateKeyPair, randomBytes, type webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { readIfThere, readOrCreate, writePrivate } from './files.ts'

/** PEM texts of a certificate and of its key (PKCS #8). */
export type CertificatePair = { certPem: string; keyPem: string }
export type Purpose = 'server' | 'client' | 'peer'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
const BACKDATE_MS = 5 * 60_000
const LIFETIME_DAYS = { authority: 3650, leaf: 365 }
/** Renewed at start when less than this is left; a run that lasts longer than a month is restarted before. */
const RENEW_DAYS = { authority: 400, leaf: 30 }
const PURPOSES: Record<Purpose, string[]> = {
  server: ['1.3.6.1.5.5.7.3.1'],
  client: ['1.3.6.1.5.5.7.3.2'],
  peer: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'],
}

/** Why a certificate is made anew, or undefined when it may stay. An authority that expires first takes its leaves along. */
export function renewalReason(
  found: { validTo: Date; names: readonly string[]; signedByAuthority: boolean } | undefined,
  wanted: { names: readonly string[]; kind: 'authority' | 'leaf' },
  now: Date,
): string | undefined {
  if (found === undefined) return 'missing'
  if (!found.signedByAuthority) return 'signed by another authority'
  if (found.validTo.getTime() - now.getTime() < RENEW_DAYS[wanted.kind] * DAY_MS) return 'near expiry'
  const missing = wanted.names.filter((name) => !found.names.includes(name))
  return missing.length > 0 ? `does not name ${missing.join(', ')}` : undefined
}

export type LeafRequest = {
  commonName: string
  organizations?: readonly string[]
  purpose: Purpose
  /** DNS names and addresses of a server. */
  names?: readonly string[]
}

/** A certificate authority that lives in two files. */
export class Authority {
  readonly certPem: string
  readonly keyPem: string
  readonly #certificate: X509Certificate
  readonly #now: () => Date

  constructor(pair: CertificatePair, now: () => Date) {
    this.certPem = pair.certPem
    this.keyPem = pair.keyPem
    this.#certificate = new X509Certificate(pair.certPem)
    this.#now = now
  }

  /** Opens the authority `<folder>/<name>.{crt,key}`, or makes it when it is missing or near its end. */
  static async open(folder: string, name: string, now: () => Date = () => new Date()): Promise<Authority> {
    const found = await readPair(folder, name)
    const known = found && describe(found.certPem, new X509Certificate(found.certPem))
    if (found !== undefined && renewalReason(known, { names: [], kind: 'authority' }, now()) === undefined) {
      return new Authority(found, now)
    }
    const made = await createAuthority(`freehold ${name}`, now())
    await writePair(folder, name, made)
    return new Authority(made, now)
  }

  async issue(request: LeafRequest): Promise<CertificatePair> {
    const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
    const names = (request.names ?? []).map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const)
    const certificate = await X509CertificateGenerator.create({
      ...validity(this.#now(), LIFETIME_DAYS.leaf),
      subject: [
        { CN: [request.commonName] },
        ...(request.organizations ?? []).map((organization) => ({ O: [organization] })),
      ],
      issuer: [{ CN: [commonNameOf(this.#certificate)] }],
      publicKey: keys.publicKey,
      signingKey: await importKey(this.keyPem),
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension(PURPOSES[request.purpose]),
        await AuthorityKeyIdentifierExtension.create(await publicKeyOf(this.#certificate)),
        ...(names.length > 0 ? [new SubjectAlternativeNameExtension(names)] : []),
      ],
    })
    return { certPem: `${certificate.toString('pem')}\n`, keyPem: await exportKey(keys.privateKey) }
  }

  /** A certificate kept in `<folder>/<name>.{crt,key}`, issued again only when `renewalReason` gives one. */
  async keep(folder: string, name: string, request: LeafRequest): Promise<CertificatePair> {
    const found = await readPair(folder, name)
    const known = found && describe(this.certPem, new X509Certificate(found.certPem))
    const wanted = { names: request.names ?? [], kind: 'leaf' } as const
    if (found !== undefined && renewalReason(known, wanted, this.#now()) === undefined) return found
    const issued = await this.issue(request)
    await writePair(folder, name, issued)
    return issued
  }
}

/** The key that signs service account tokens: RSA, which everyone who checks such tokens understands. */
export async function keepServiceAccountKey(folder: string): Promise<string> {
  const path = join(folder, 'service-account.key')
  await readOrCreate(path, async () => {
    const { privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    return privateKey
  })
  return path
}

function describe(authorityPem: string, certificate: X509Certificate) {
  return {
    validTo: new Date(certificate.validTo),
    names: (certificate.subjectAltName ?? '').split(', ').map((entry) => entry.replace(/^(DNS|IP Address):/, '')),
    signedByAuthority: certificate.verify(new X509Certificate(authorityPem).publicKey),
  }
}

async function createAuthority(commonName: string, now: Date): Promise<CertificatePair> {
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
  // The top bit cleared: a serial number is a positive integer (RFC 5280 4.1.2.2).
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

async function readPair(folder: string, name: string): Promise<CertificatePair | undefined> {
  const [certPem, keyPem] = await Promise.all(
    ['crt', 'key'].map((type) => readIfThere(join(folder, `${name}.${type}`))),
  )
  return certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem }
}

async function writePair(folder: string, name: string, pair: CertificatePair): Promise<void> {
  await writePrivate(join(folder, `${name}.key`), pair.keyPem)
  await writePrivate(join(folder, `${name}.crt`), pair.certPem)
}
