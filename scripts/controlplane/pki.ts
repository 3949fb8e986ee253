import { generateKeyPair, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  type CertificatePair,
  createAuthority,
  issueCertificate,
  type LeafRequest,
} from '../../src/composition/certificates.ts'
import { DAY_MS } from '../../src/core/clock.ts'
import { readIfThere, readOrCreate, writePrivate } from './files.ts'

export type { CertificatePair, LeafRequest } from '../../src/composition/certificates.ts'

/** Renewed at startup when less time than this is left; a run of more than a month must be restarted in between. */
const RENEW_DAYS = { authority: 400, leaf: 30 }

/**
 * Why a certificate must be issued again, or undefined. If its authority is replaced, a certificate is issued again too.
 */
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

/** A certificate authority that lives in two files. */
export class Authority {
  readonly certPem: string
  readonly keyPem: string
  readonly #now: () => Date

  constructor(pair: CertificatePair, now: () => Date) {
    this.certPem = pair.certPem
    this.keyPem = pair.keyPem
    this.#now = now
  }

  /** Opens the authority `<folder>/<name>.{crt,key}`, or makes it when it is missing or near its end. */
  static async open(folder: string, name: string, now: () => Date = () => new Date()): Promise<Authority> {
    const found = await readPair(folder, name)
    const known = found && describe(found.certPem, new X509Certificate(found.certPem))
    if (found !== undefined && renewalReason(known, { names: [], kind: 'authority' }, now()) === undefined) {
      return new Authority(found, now)
    }
    const created = await createAuthority(`freehold ${name}`, now())
    await writePair(folder, name, created)
    return new Authority(created, now)
  }

  issue(request: LeafRequest): Promise<CertificatePair> {
    return issueCertificate(this, request, this.#now())
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
