import { randomBytes } from 'node:crypto'
import { uuidOf } from './ids.ts'
import { sha256 } from './names.ts'

/**
 * Tokens of links that are sent by mail: the ids of what the link is for, and 256 random bits. With the ids the object is
 * found by name, so that a guess costs one look-up, not a search; the bits prove that the holder got the mail. Only the
 * SHA-256 of the whole is stored.
 */
const SECRET_BYTES = 32
const ID_BYTES = 16

export type LinkToken = { token: string; hash: string }

/** @param ids uuids, in the order in which `readLinkToken` returns them */
export function newLinkToken(ids: readonly string[]): LinkToken {
  const parts = ids.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'))
  const token = Buffer.concat([...parts, randomBytes(SECRET_BYTES)]).toString('base64url')
  return { token, hash: sha256(token) }
}

/** Returns the ids in a token and its hash; undefined for anything but the canonical encoding of `idCount` ids. */
export function readLinkToken(token: string, idCount: number): { ids: string[]; hash: string } | undefined {
  const length = idCount * ID_BYTES + SECRET_BYTES
  if (token.length !== Math.ceil((length * 4) / 3)) return undefined
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.toString('base64url') !== token) return undefined
  const ids = Array.from({ length: idCount }, (_, index) =>
    uuidOf(bytes.subarray(index * ID_BYTES, (index + 1) * ID_BYTES)),
  )
  return { ids, hash: sha256(token) }
}
