import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { localFailure } from './failure.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Paths of the client's files, by the XDG Base Directory Specification. */
export type ClientPaths = {
  /** Addresses and defaults; not secret. */
  readonly settings: string
  /** The stored login: secret. */
  readonly login: string
}

export function clientPathsFor(environment: Environment, home = homedir()): ClientPaths {
  // The specification requires relative paths to be ignored.
  const folder = (name: string, otherwise: string) => {
    const value = environment[name]
    return value?.startsWith('/') ? value : join(home, otherwise)
  }
  return {
    settings: join(folder('XDG_CONFIG_HOME', '.config'), 'freehold', 'config.json'),
    login: join(folder('XDG_STATE_HOME', '.local/state'), 'freehold', 'login.json'),
  }
}

/** Reads a file; undefined if it does not exist. @throws CommandFailure (local) if it cannot be read */
export async function readFileIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw localFailure(`${path} cannot be read.`, error)
  }
}

/**
 * Reads a file that only its owner may access; undefined if it does not exist.
 *
 * @throws CommandFailure (local) if others can read or change it: its content may be known or forged already
 */
export async function readPrivate(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { mode, uid } = await file.stat()
    const ownUid = process.getuid?.()
    if (ownUid !== undefined && (uid !== ownUid || (mode & 0o077) !== 0)) {
      throw localFailure(
        `${path} is readable by others (mode ${(mode & 0o777).toString(8)}): delete it and sign in again, or \`chmod 600\` it if nobody else uses this machine.`,
      )
    }
    return await file.readFile('utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    if (error instanceof Error && error.name === 'CommandFailure') throw error
    throw localFailure(`${path} cannot be read.`, error)
  } finally {
    await file?.close()
  }
}

/** Writes a file that only its owner can read. Atomic: readers see either the old text or the new one. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const temporaryPath = `${path}.${randomUUID()}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(temporaryPath, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporaryPath, path)
  } catch (error) {
    await rm(temporaryPath, { force: true }).catch(() => undefined)
    throw localFailure(`${path} cannot be written.`, error)
  }
}

export async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true })
  } catch (error) {
    throw localFailure(`${path} cannot be deleted.`, error)
  }
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
