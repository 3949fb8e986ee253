import { randomBytes } from 'node:crypto'
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'

/** One platform key: 256 bits that wrap data keys (RFC 7517, key type `oct`). */
export type PlatformKey = { readonly id: string; readonly bytes: Uint8Array }

/** The platform keys in force. */
export type KeyRing = {
  /** The key that wraps; undefined if none is configured. */
  newest(): PlatformKey | undefined
  find(id: string): PlatformKey | undefined
}

/**
 * - `NoPlatformKey`: no platform key is configured;
 * - `UnknownPlatformKey`: the data key was wrapped by a key that is no longer configured;
 * - `Broken`: the envelope was altered, or belongs to another place than the one it was found in.
 */
export type EnvelopeFault = 'NoPlatformKey' | 'UnknownPlatformKey' | 'Broken'

/** An envelope could not be opened. Reveals nothing of its content. */
export class EnvelopeError extends Error {
  readonly fault: EnvelopeFault
  /** Id of the missing platform key. */
  readonly keyId: string | undefined

  constructor(fault: EnvelopeFault, keyId?: string, cause?: unknown) {
    super(`The envelope does not open: ${fault}.`, { cause })
    this.name = 'EnvelopeError'
    this.fault = fault
    this.keyId = keyId
  }
}

const ENCRYPTION = 'A256GCM'
/** AES key wrap (RFC 3394) needs no nonce: a platform key may wrap any number of data keys. */
const KEY_WRAP = 'A256KW'
export const KEY_BYTES = 32

export function newDataKey(): Uint8Array {
  return randomBytes(KEY_BYTES)
}

/**
 * Wraps a data key as a compact JWE (RFC 7516): a fresh key encrypts it, and is wrapped by the newest platform key,
 * whose id is in the header. `context` says where the data key belongs, and is authenticated with it.
 *
 * @throws EnvelopeError NoPlatformKey
 */
export async function wrapDataKey(dataKey: Uint8Array, ring: KeyRing, context: string): Promise<string> {
  const key = ring.newest()
  if (key === undefined) throw new EnvelopeError('NoPlatformKey')
  return new CompactEncrypt(dataKey)
    .setProtectedHeader({ alg: KEY_WRAP, enc: ENCRYPTION, kid: key.id, ctx: context })
    .encrypt(key.bytes)
}

/** Returns the context that an envelope claims, before it is verified; undefined if it has none. */
export function claimedContextOf(text: string): string | undefined {
  try {
    const { ctx } = decodeProtectedHeader(text)
    return typeof ctx === 'string' ? ctx : undefined
  } catch {
    return undefined
  }
}

/** Returns the id of the platform key that a wrapped data key needs. @throws EnvelopeError Broken */
export function wrappingKeyId(wrapped: string): string {
  try {
    return decodeProtectedHeader(wrapped).kid ?? ''
  } catch (error) {
    throw new EnvelopeError('Broken', undefined, error)
  }
}

/** @throws EnvelopeError UnknownPlatformKey, Broken */
export async function unwrapDataKey(wrapped: string, ring: KeyRing, context: string): Promise<Uint8Array> {
  const keyId = wrappingKeyId(wrapped)
  const key = ring.find(keyId)
  if (key === undefined) throw new EnvelopeError('UnknownPlatformKey', keyId)
  return decrypt(wrapped, key.bytes, KEY_WRAP, context)
}

/** Encrypts a value with a data key, as a compact JWE. */
export async function sealValue(value: string, dataKey: Uint8Array, context: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(value, 'utf8'))
    .setProtectedHeader({ alg: 'dir', enc: ENCRYPTION, ctx: context })
    .encrypt(dataKey)
}

/** @throws EnvelopeError Broken */
export async function openValue(sealed: string, dataKey: Uint8Array, context: string): Promise<string> {
  return Buffer.from(await decrypt(sealed, dataKey, 'dir', context)).toString('utf8')
}

async function decrypt(text: string, key: Uint8Array, algorithm: string, context: string): Promise<Uint8Array> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(text, key, {
      keyManagementAlgorithms: [algorithm],
      contentEncryptionAlgorithms: [ENCRYPTION],
    })
    if (protectedHeader.ctx === context) return plaintext
  } catch (error) {
    throw new EnvelopeError('Broken', undefined, error)
  }
  throw new EnvelopeError('Broken')
}
