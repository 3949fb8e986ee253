import { randomUUID } from 'node:crypto'
import { access, constants, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file that only its owner may read, whole or not at all. */
export async function writePrivate(path: string, content: string, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID()}.new`
  await writeFile(temporary, content, { mode })
  await rename(temporary, path)
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Reads a file, or makes its content once: for keys that must outlive a restart. */
export async function readOrCreate(path: string, make: () => string | Promise<string>): Promise<string> {
  const found = await readIfThere(path)
  if (found !== undefined) return found
  const content = await make()
  await writePrivate(path, content)
  return content
}

/** @param mode the access to check; existence only if absent */
export function exists(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
