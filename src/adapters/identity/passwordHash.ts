import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'

/** A password as it is kept: scrypt (RFC 7914) with its parameters, so that these can be raised for new ones. */
export type PasswordRecord = {
  readonly algorithm: 'scrypt'
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  /** Base64. */
  readonly salt: string
  /** Base64. */
  readonly hash: string
  /** RFC 3339. */
  readonly changedAt: string
}

/** 32 MiB and about 0.1 s of one core for a password. */
const PARAMETERS = { cost: 32_768, blockSize: 8, parallelization: 1 } as const
const HASH_BYTES = 32

export async function hashPassword(password: string, changedAt: string): Promise<PasswordRecord> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, PARAMETERS)
  return {
    algorithm: 'scrypt',
    ...PARAMETERS,
    salt: salt.toString('base64'),
    hash: hash.toString('base64'),
    changedAt,
  }
}

/** Costs the same without a record, so that the time does not tell whether there is one. */
export async function isPassword(password: string, record: PasswordRecord | undefined): Promise<boolean> {
  const salt = Buffer.from(record?.salt ?? 'AAAAAAAAAAAAAAAAAAAAAA==', 'base64')
  const found = await derive(password, salt, record ?? PARAMETERS)
  const wanted = Buffer.from(record?.hash ?? '', 'base64')
  return wanted.length === found.length && timingSafeEqual(wanted, found)
}

/** Undefined for what no version of ours wrote. */
export function readPasswordRecord(text: string): PasswordRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<PasswordRecord>
    return record.algorithm === 'scrypt' && typeof record.hash === 'string' ? (record as PasswordRecord) : undefined
  } catch {
    return undefined
  }
}

type Parameters = Pick<PasswordRecord, 'cost' | 'blockSize' | 'parallelization'>

function derive(password: string, salt: Buffer, { cost, blockSize, parallelization }: Parameters): Promise<Buffer> {
  const options: ScryptOptions = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
  // One spelling of each text: a password typed on another system may come composed otherwise (RFC 8265 section 4.2).
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)))
  })
}
