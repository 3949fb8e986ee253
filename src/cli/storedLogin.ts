import { z } from 'zod'
import { localFailure } from './failure.ts'
import { readPrivate, removeFile, writePrivate } from './files.ts'
import { withLock } from './lock.ts'

const StoredLogin = z.strictObject({
  issuer: z.string(),
  clientId: z.string(),
  accessToken: z.string(),
  /** Absent if the provider gave none: then the login ends with its access token. */
  refreshToken: z.string().optional(),
  /** Path of a dev.json with the secret of a service account, instead of a refresh token. The secret is not copied. */
  credentialsFile: z.string().optional(),
  /** Milliseconds since the epoch. */
  obtainedAt: z.number(),
  expiresAt: z.number(),
})
export type StoredLogin = z.output<typeof StoredLogin>

export interface LoginStore {
  readonly path: string
  /** @throws CommandFailure (local) if others can read the file */
  read(): Promise<StoredLogin | undefined>
  write(login: StoredLogin): Promise<void>
  remove(): Promise<void>
  /** Runs `work` under a lock between processes: a refresh reads, calls the provider and writes. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Longer than a renewal may take: two requests of thirty seconds. */
const LOCK_TIMEOUT_MS = 70_000

export function loginStore(path: string): LoginStore {
  return {
    path,
    async read() {
      const text = await readPrivate(path)
      if (text === undefined) return undefined
      try {
        return StoredLogin.parse(JSON.parse(text))
      } catch {
        throw localFailure(`${path} is not what \`freehold login\` writes: run \`freehold login\` again.`)
      }
    },
    write: (login) => writePrivate(path, `${JSON.stringify(login)}\n`),
    remove: () => removeFile(path),
    exclusively: (work) => withLock(`${path}.lock`, LOCK_TIMEOUT_MS, work),
  }
}

const EXPIRY_MARGIN_MS = 60_000

/** Whether a token expires within a minute, or within a fifth of its lifetime if that is shorter. */
export function needsRefresh({ obtainedAt, expiresAt }: StoredLogin, now: number): boolean {
  return now >= expiresAt - Math.min(EXPIRY_MARGIN_MS, (expiresAt - obtainedAt) / 5)
}
