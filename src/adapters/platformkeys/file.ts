import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { KEY_BYTES, type PlatformKey } from '../../contracts/vaults/envelope.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { tryParseJson } from '../../core/tryParseJson.ts'
import { MemoryKeyRing } from './memoryKeyRing.ts'
import type { PlatformKeys } from './port.ts'

/** A JWK set (RFC 7517) of symmetric keys, oldest first. */
const KeySet = z.object({
  keys: z
    .array(
      z.object({
        kty: z.literal('oct'),
        kid: z
          .string()
          .max(64)
          .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/),
        k: z.base64url(),
      }),
    )
    .min(1)
    .max(64)
    .refine((keys) => new Set(keys.map(({ kid }) => kid)).size === keys.length, 'each kid may appear once'),
})

export class PlatformKeysError extends Error {}

/**
 * Parses a key file. Errors repeat nothing of its content.
 *
 * @throws PlatformKeysError
 */
export function parsePlatformKeys(text: string, path: string): PlatformKey[] {
  const parsed = KeySet.safeParse(tryParseJson(text))
  if (!parsed.success) {
    const places = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole').join(', ')
    throw new PlatformKeysError(
      `${path} is not a JWK set of symmetric keys, each with kty "oct", kid and k: see ${places}.`,
    )
  }
  return parsed.data.keys.map(({ kid, k }) => {
    const bytes = Buffer.from(k, 'base64url')
    if (bytes.length !== KEY_BYTES)
      throw new PlatformKeysError(`${path}: key "${kid}" has ${bytes.length} bytes instead of ${KEY_BYTES}.`)
    return { id: kid, bytes }
  })
}

/** Milliseconds between reads of the file: file watches miss the replacement of a mounted Secret. */
const INTERVAL = 2_000

/**
 * Opens a key file and reloads it on change. If it becomes unreadable or invalid later, this is logged and the previous
 * keys stay in use: a mistake during rotation must not make all secrets unreadable.
 *
 * @throws PlatformKeysError if the file is not usable at the start
 */
export async function openKeyFile(path: string, { clock, log }: { clock: Clock; log: Log }): Promise<PlatformKeys> {
  const keys = new FileKeys(path, clock, log)
  await keys.load()
  keys.follow()
  return keys
}

class FileKeys extends MemoryKeyRing implements PlatformKeys {
  readonly #path: string
  readonly #clock: Clock
  readonly #log: Log
  #text: string | undefined
  #timer: Timer | undefined
  #isStopped = false

  constructor(path: string, clock: Clock, log: Log) {
    super()
    this.#path = path
    this.#clock = clock
    this.#log = log
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** @throws PlatformKeysError */
  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch((cause: unknown) => {
      throw new PlatformKeysError(`The platform keys cannot be read from ${this.#path}.`, { cause })
    })
    if (text === this.#text) return
    const keys = parsePlatformKeys(text, this.#path)
    this.#text = text
    this.#log.info({ keys: keys.map(({ id }) => id) }, 'The platform keys were read; the last one wraps.')
    this.replace(keys)
  }

  follow(): void {
    if (this.#isStopped) return
    this.#timer = this.#clock.setTimeout(() => void this.refresh().then(() => this.follow()), INTERVAL)
  }

  async refresh(): Promise<void> {
    try {
      await this.load()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#log.warn({ reason }, 'The changed platform keys are not usable; the previous ones stay in use.')
    }
  }
}

/** Used if no keys are configured: vaults then report that, and everything else works. */
export function noKeys(): PlatformKeys {
  return {
    newest: () => undefined,
    find: () => undefined,
    refresh: async () => {},
    onChange: () => () => {},
    stop: () => {},
  }
}
