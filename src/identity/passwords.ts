import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { parsedJson } from '../core/parsedJson.ts'
import { type SecretObject, secretText } from '../core/secretData.ts'
import { Turns } from '../core/turns.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'

/** Tells whether a password is a user's. It works as long for users without a password, or who do not exist. */
export interface PasswordVerifier {
  /** @throws Error if the store does not answer or holds what is not readable */
  verify(userId: string, password: string): Promise<boolean>
  /** When it was set last: who signed in before that must do so again. */
  lastChange?(userId: string): Promise<PasswordChange | undefined>
}

export type PasswordChange = {
  /** Milliseconds since the epoch. */
  at: number
  /** The session in which the person changed it, as the `sid` of its tokens: it goes on. */
  keepSession: string | undefined
}

/** The entry of the Secret `user-<uuid>-password`. */
export const PASSWORD_ENTRY = 'password.json'
export const passwordSecretName = (userId: string) => `user-${userId}-password`

/** 128 * cost * blockSize bytes are used at once: 32 MiB here. */
const COST = { cost: 2 ** 15, blockSize: 8, parallelization: 1 } as const
const HASH_BYTES = 32

const StoredPassword = z.object({
  algorithm: z.literal('scrypt'),
  // A stored hash may ask for no more than four times the memory of ours.
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
/** RFC 7914 with its parameters. `salt` and `hash` are base64, `changedAt` is RFC 3339. */
export type StoredPassword = z.output<typeof StoredPassword>

const hashOnce = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** Hashes at a time: half of the threads that Node has for such work, which reads of files and names need as well. */
const LANES = 2
const lanes = new Turns()
let hashes = 0

function derive(...given: Parameters<typeof hashOnce>): Promise<Buffer> {
  hashes = (hashes + 1) % LANES
  return lanes.take(String(hashes), () => hashOnce(...given))
}

/** One spelling of each text: keyboards differ in which they send (RFC 8265 section 4.2). */
const normal = (password: string) => password.normalize('NFC')

/** @param change when it was set (RFC 3339), and the session that goes on */
export async function hashPassword(
  password: string,
  change: { changedAt?: string; keepSession?: string | undefined } = {},
): Promise<StoredPassword> {
  const { changedAt, keepSession } = change
  const salt = randomBytes(16)
  const hash = await derive(normal(password), salt, HASH_BYTES, limited(COST))
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
  const actual = await derive(normal(password), salt, expected.length, limited(stored))
  return timingSafeEqual(actual, expected)
}

type Cost = { cost: number; blockSize: number; parallelization: number }

function limited({ cost, blockSize, parallelization }: Cost): ScryptOptions {
  return { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
}

let decoys: Promise<StoredPassword> | undefined

/** Passwords as they lie in Secrets of the system namespace. */
export function secretPasswords(client: Pick<KubeClient, 'get'>): PasswordVerifier {
  // Made before the first sign-in, once for the process: who has no password takes as long as who has one.
  decoys ??= hashPassword(randomBytes(16).toString('base64'))
  const decoy = decoys
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
  const parsed = StoredPassword.safeParse(parsedJson(text))
  if (parsed.success) return parsed.data
  throw new Error(`The entry ${PASSWORD_ENTRY} of the Secret ${name} is not a scrypt hash as the platform writes them.`)
}
