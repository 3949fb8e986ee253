import { createHmac, createPrivateKey, hkdfSync, randomUUID, X509Certificate } from 'node:crypto'
import { SignJWT } from 'jose'
import { DAY_MS } from '../../core/clock.ts'
import { isSameText } from '../../core/sameText.ts'
import { Credential, type RegistryKeys } from './port.ts'

/** PEM. */
export type PemKeyPair = { readonly certPem: string; readonly keyPem: string }

export type KeyOptions = {
  /** The authority in the registry's bundle of root certificates. */
  authority: PemKeyPair
  /** Makes a certificate that the authority signs. */
  certify: (authority: PemKeyPair, now: Date) => Promise<PemKeyPair>
  issuer: string
  service: string
}

/** Milliseconds after which the signing key is replaced. */
const KEY_ROTATION_MS = DAY_MS / 2
/** For clock skew; the registry itself tolerates a minute. */
const BACKDATED_SECONDS = 5

/**
 * Keys below one authority. Each process signs tokens with its own key, replaced twice a day. A token carries the
 * certificate of its key, which the registry verifies with the authority, so a rotation needs no change there.
 * Credentials that the token endpoint issues are signed with a secret derived from the authority's key.
 *
 * @see https://distribution.github.io/distribution/spec/auth/jwt/
 */
export function createRegistryKeys({ authority, certify, issuer, service }: KeyOptions): RegistryKeys {
  const secret = credentialSecret(authority.keyPem)
  let current: ReturnType<typeof make> | undefined
  let madeAt = 0

  async function make(now: number) {
    const { certPem, keyPem } = await certify(authority, new Date(now))
    const chain = [new X509Certificate(certPem).raw.toString('base64')]
    return { key: createPrivateKey(keyPem), chain }
  }
  function signer(now: number) {
    if (current === undefined || now - madeAt >= KEY_ROTATION_MS || now < madeAt) {
      madeAt = now
      current = make(now)
      // After a failure the next call tries again.
      current.catch(() => {
        madeAt = Number.POSITIVE_INFINITY
      })
    }
    return current
  }
  return {
    async token(subject, access, { now, seconds }) {
      const { key, chain } = await signer(now)
      const issued = Math.floor(now / 1000)
      return new SignJWT({ access })
        .setProtectedHeader({ alg: 'ES256', typ: 'JWT', x5c: chain })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(service)
        .setIssuedAt(issued)
        .setNotBefore(issued - BACKDATED_SECONDS)
        .setExpirationTime(issued + seconds)
        .setJti(randomUUID())
        .sign(key)
    },
    async issue(credential) {
      const content = Buffer.from(JSON.stringify(credential)).toString('base64url')
      return `${content}.${macOf(secret, content)}`
    },
    async read(text, now) {
      const [content = '', mac = '', ...rest] = text.split('.')
      if (rest.length > 0 || !isSameText(mac, macOf(secret, content))) return undefined
      const credential = Credential.parse(JSON.parse(Buffer.from(content, 'base64url').toString('utf8')))
      return credential.expiresAt > now ? credential : undefined
    },
  }
}

/** Synchronous: an asynchronous signature could let writes of Secrets overtake each other. */
function macOf(secret: Uint8Array, content: string): string {
  return createHmac('sha256', secret).update(content).digest('base64url')
}

function credentialSecret(keyPem: string): Uint8Array {
  const der = createPrivateKey(keyPem).export({ type: 'pkcs8', format: 'der' })
  return new Uint8Array(hkdfSync('sha256', der, new Uint8Array(), 'freehold registry credentials', 32))
}
