import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { isKubeError } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** Tells whether a password is a user's. It works as long for users without a password, or who do not exist. */
export interface PasswordVerifier {
  /** @throws Error where the store does not answer or holds what is not readable */
  verify(userId: string, password: string): Promise<boolean>
}

/** The entry of the Secret `user-<uuid>-password`. */
export const PASSWORD_ENTRY = 'password.json'
export const passwordSecretName = (userId: string) => `user-${userId}-password`

/** 128 * N * r bytes are used at once: 32 MiB here, and no stored hash may ask for more than four times that. */
const COST = { N: 2 ** 15, r: 8, p: 1 } as const
const MAX_MEMORY = 128 * 1024 * 1024
const HASH_BYTES = 32

const StoredPassword = z.object({
  algorithm: z.literal('scrypt'),
  N: z
    .int()
    .min(2 ** 14)
    .max(2 ** 17),
  r: z.int().min(1).max(16),
  p: z.int().min(1).max(4),
  salt: z.base64().min(1),
  hash: z.base64().min(1),
})
/** RFC 7914. `salt` and `hash` are base64. */
export type StoredPassword = z.output<typeof StoredPassword>

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** Unicode has several spellings of one character, and keyboards differ in which they send. */
const normal = (password: string) => password.normalize('NFKC')

export async function hashPassword(password: string): Promise<StoredPassword> {
  const salt = randomBytes(16)
  const hash = await derive(normal(password), salt, HASH_BYTES, { ...COST, maxmem: MAX_MEMORY + 1024 })
  return { algorithm: 'scrypt', ...COST, salt: salt.toString('base64'), hash: hash.toString('base64') }
}

export async function isPassword(password: string, { N, r, p, salt, hash }: StoredPassword): Promise<boolean> {
  const expected = Buffer.from(hash, 'base64')
  const options = { N, r, p, maxmem: 2 * MAX_MEMORY }
  const actual = await derive(normal(password), Buffer.from(salt, 'base64'), expected.length, options)
  return timingSafeEqual(actual, expected)
}

type SecretObject = KubeObject & { data?: Record<string, string> }

/** Passwords as they lie in Secrets of the system namespace. */
export function secretPasswords(
  client: Pick<KubeClient, 'get'>,
  namespace: string = SYSTEM_NAMESPACE,
): PasswordVerifier {
  const decoy = hashPassword(randomBytes(16).toString('base64'))
  async function stored(userId: string): Promise<StoredPassword | undefined> {
    if (!isUuid(userId)) return undefined
    try {
      const name = passwordSecretName(userId)
      const found = await client.get<SecretObject>(builtin.secret, { namespace, name })
      return parsePassword(name, Buffer.from(found.data?.[PASSWORD_ENTRY] ?? '', 'base64').toString('utf8'))
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    }
  }
  return {
    async verify(userId, password) {
      const found = await stored(userId)
      const isRight = await isPassword(password, found ?? (await decoy))
      return found !== undefined && isRight
    },
  }
}

function parsePassword(name: string, text: string): StoredPassword {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    content = undefined // The parser's own message would quote what it read.
  }
  const parsed = StoredPassword.safeParse(content)
  if (parsed.success) return parsed.data
  throw new Error(`The entry ${PASSWORD_ENTRY} of the Secret ${name} is not a scrypt hash as the platform writes them.`)
}
