import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { KeyedMutex } from '../core/keyedMutex.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type SecretObject, secretText } from '../core/secretData.ts'
import { tryParseJson } from '../core/tryParseJson.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'

/** Verifies passwords. It takes equally long for users without a password and for unknown users. */
export interface PasswordVerifier {
  /** @throws Error if the store does not answer or its content is unreadable */
  verify(userId: string, password: string): Promise<boolean>
  /** When the password was last set: earlier sign-ins are void. */
  lastChange?(userId: string): Promise<PasswordChange | undefined>
}

export type PasswordChange = {
  /** Milliseconds since the epoch. */
  at: number
  /** The session in which the person changed it (the `sid` of its tokens), which remains valid. */
  keepSession: string | undefined
}

/** The key in the Secret `user-<uuid>-password`. */
export const PASSWORD_ENTRY = 'password.json'
export const passwordSecretName = (userId: string) => `user-${userId}-password`

/** One hash needs 128 * cost * blockSize bytes: 32 MiB here. */
const COST = { cost: 2 ** 15, blockSize: 8, parallelization: 1 } as const
const HASH_BYTES = 32

const StoredPassword = z.object({
  algorithm: z.literal('scrypt'),
  // Bounds what a stored hash can demand: four times the memory of ours.
  cost: z
    .int()
    .min(2 ** 14)
    .max(2 ** 17),
  blockSize: z.literal(8),
  parallelization: z.int().min(1).max(4),
  salt: z.base64().min(1),
  hash: z.base64().min(1),
  changedAt: z.string().optional(),
  keepSession: z.string().max(64).optional(),
})
/** scrypt (RFC 7914) with its parameters. `salt` and `hash` are base64, `changedAt` is RFC 3339. */
export type StoredPassword = z.output<typeof StoredPassword>

const hashOnce = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** Concurrent hashes: half of Node's thread pool, which file and DNS operations need as well. */
const MAX_CONCURRENT_HASHES = 2
const hashLocks = new KeyedMutex()
let hashes = 0

function derive(...given: Parameters<typeof hashOnce>): Promise<Buffer> {
  hashes = (hashes + 1) % MAX_CONCURRENT_HASHES
  return hashLocks.take(String(hashes), () => hashOnce(...given))
}

/** Normalizes the spelling, because keyboards differ in what they send (RFC 8265 section 4.2). */
const toNfc = (password: string) => password.normalize('NFC')

/** @param change when it was set (RFC 3339), and the session that remains valid */
export async function hashPassword(
  password: string,
  change: { changedAt?: string; keepSession?: string | undefined } = {},
): Promise<StoredPassword> {
  const { changedAt, keepSession } = change
  const salt = randomBytes(16)
  const hash = await derive(toNfc(password), salt, HASH_BYTES, scryptOptions(COST))
  return {
    algorithm: 'scrypt',
    ...COST,
    salt: salt.toString('base64'),
    hash: hash.toString('base64'),
    ...(changedAt === undefined ? {} : { changedAt }),
    ...(keepSession === undefined ? {} : { keepSession }),
  }
}

export async function isPassword(password: string, stored: StoredPassword): Promise<boolean> {
  const expected = Buffer.from(stored.hash, 'base64')
  const salt = Buffer.from(stored.salt, 'base64')
  const actual = await derive(toNfc(password), salt, expected.length, scryptOptions(stored))
  return timingSafeEqual(actual, expected)
}

type Cost = { cost: number; blockSize: number; parallelization: number }

function scryptOptions({ cost, blockSize, parallelization }: Cost): ScryptOptions {
  return { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
}

let decoyPassword: Promise<StoredPassword> | undefined

/** Reads passwords from the Secrets in the system namespace. */
export function secretPasswords(client: Pick<KubeClient, 'get'>): PasswordVerifier {
  // A hash for users without a password, so that they take equally long. Computed once, before the first sign-in.
  decoyPassword ??= hashPassword(randomBytes(16).toString('base64'))
  const decoy = decoyPassword
  async function stored(userId: string): Promise<StoredPassword | undefined> {
    if (!isUuid(userId)) return undefined
    const name = passwordSecretName(userId)
    const found = await client.get<SecretObject>(builtin.secret, { namespace: SYSTEM_NAMESPACE, name }).catch(absent)
    return found && parsePassword(name, secretText(found.data, PASSWORD_ENTRY) ?? '')
  }
  return {
    async verify(userId, password) {
      const found = await stored(userId)
      const isRight = await isPassword(password, found ?? (await decoy))
      return found !== undefined && isRight
    },
    async lastChange(userId) {
      const found = await stored(userId)
      const at = Date.parse(found?.changedAt ?? '')
      return Number.isNaN(at) ? undefined : { at, keepSession: found?.keepSession }
    },
  }
}

function parsePassword(name: string, text: string): StoredPassword {
  const parsed = StoredPassword.safeParse(tryParseJson(text))
  if (parsed.success) return parsed.data
  throw new Error(`The entry ${PASSWORD_ENTRY} of the Secret ${name} is not a scrypt hash as the platform writes them.`)
}
