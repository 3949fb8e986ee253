import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { z } from 'zod'
import { tryParseJson } from '../core/tryParseJson.ts'

/** RFC 7518 section 3.1: every verifier of access tokens supports it, including the Kubernetes API server. */
export const SIGNING_ALGORITHM = 'RS256'
const MODULUS_BITS = 2048

const PrivateJwk = z.strictObject({
  kty: z.literal('RSA'),
  ...Object.fromEntries((['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const).map((name) => [name, z.base64url()])),
})
const StoredKey = z.strictObject({
  kid: z.string().min(1),
  /** When the key starts to sign. It is published earlier. */
  notBefore: z.iso.datetime(),
  jwk: PrivateJwk,
})

/** A key pair as a JSON Web Key (RFC 7517); `notBefore` in milliseconds since the epoch. */
export type SigningKey = { readonly kid: string; readonly notBefore: number; readonly jwk: Readonly<JwkMembers> }
type JwkMembers = { kty: 'RSA' } & Record<string, string>

/** All keys that verifiers may still need, ordered by their first use. */
export type KeyRing = readonly SigningKey[]

/** Durations in milliseconds. */
export type KeyTimes = {
  /** How long a key signs. */
  rotateAfter: number
  /** How long a key is published before it signs: longer than verifiers cache keys and replicas need to notice. */
  publishAhead: number
  /** How long a key stays published after its last signature: the token lifetime plus clock skew. */
  keepAfter: number
}

/** Returns the current signing key. Before the first key's time that key signs: an issuer needs one. */
export function signingKeyAt(ring: KeyRing, now: number): SigningKey | undefined {
  return ring.findLast((key) => key.notBefore <= now) ?? ring[0]
}

/** Returns when the next key must start to sign, or undefined if none is due. */
export function nextKeyDueAt(ring: KeyRing, now: number, times: KeyTimes): number | undefined {
  const latest = ring.at(-1)
  if (latest === undefined) return now
  const successorFrom = latest.notBefore + times.rotateAfter
  // If rotation is overdue (nothing was running), the new key is still published for the full time before it signs.
  return successorFrom - times.publishAhead <= now ? Math.max(successorFrom, now + times.publishAhead) : undefined
}

/** Returns the ring without the keys whose last tokens have expired. */
export function withoutExpired(ring: KeyRing, now: number, times: KeyTimes): KeyRing {
  return ring.filter((_, index) => {
    const successor = ring[index + 1]
    return successor === undefined || successor.notBefore + times.keepAfter > now
  })
}

export function withKey(ring: KeyRing, key: SigningKey): KeyRing {
  return [...ring, key].sort((first, second) => first.notBefore - second.notBefore)
}

/** Returns whether two rings contain the same keys. */
export function sameRing(first: KeyRing, second: KeyRing): boolean {
  const text = (ring: KeyRing) => ring.map(({ kid, notBefore }) => `${kid}@${notBefore}`).join()
  return text(first) === text(second)
}

/** The id is the RFC 7638 thumbprint, so no id ever refers to two keys. */
export async function generateSigningKey(notBefore: number): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true, modulusLength: MODULUS_BITS })
  const jwk = (await exportJWK(privateKey)) as JwkMembers
  return { kid: await calculateJwkThumbprint(jwk), notBefore, jwk }
}

/** Returns the text to store, which is secret. */
export function serializeRing(ring: KeyRing): string {
  const keys = ring.map(({ kid, notBefore, jwk }) => {
    const { kty, n, e, d, p, q, dp, dq, qi } = jwk
    return { kid, notBefore: new Date(notBefore).toISOString(), jwk: { kty, n, e, d, p, q, dp, dq, qi } }
  })
  return JSON.stringify(keys)
}

/** @throws Error for text that `serializeRing` did not write. The message does not quote it. */
export function parseRing(text: string): KeyRing {
  const parsed = z.array(StoredKey).min(1).max(16).safeParse(tryParseJson(text))
  if (!parsed.success) {
    const paths = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole')
    throw new Error(`The stored signing keys are not readable (${paths.join(', ')}).`)
  }
  const keys = parsed.data.map((key) => ({ ...key, jwk: key.jwk as JwkMembers, notBefore: Date.parse(key.notBefore) }))
  return keys.sort((first, second) => first.notBefore - second.notBefore)
}
