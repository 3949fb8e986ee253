import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Folders of a bucket's data in versitygw. scripts/objectstore/start.ts passes them as flags. */
const PARTS = ['objects', 'versions', 'metadata'] as const
/** On the same file system, so that a rename moves a bucket here. */
const REMOVED_FOLDER = 'removed'

/** A safe path component: never leads to another folder. */
const NAME = /^[a-z0-9](?!.*\.\.)[a-z0-9.-]*$/
export const isFolderName = (name: string) => NAME.test(name)

/** The folders of a store on this machine. Removing them deletes a bucket whatever its keys are. */
export type StoreFolders = {
  /** Whether the removal of this owner's bucket has begun. */
  isLeaving(bucket: string, owner: string): Promise<boolean>
  /** Whether the store keeps this bucket here. */
  has(bucket: string): Promise<boolean>
  /** Idempotent: continues after a crash at any step. */
  remove(bucket: string, owner: string): Promise<void>
}

export function storeFolders(root: string): StoreFolders {
  const leaving = (bucket: string, owner: string) =>
    join(root, REMOVED_FOLDER, `${requireFolderName(bucket)}_${requireFolderName(owner)}`)
  return {
    isLeaving: async (bucket, owner) => pathExists(leaving(bucket, owner)),
    has: async (bucket) => pathExists(join(root, PARTS[0], requireFolderName(bucket))),
    async remove(bucket, owner) {
      const place = leaving(bucket, owner)
      await mkdir(place, { recursive: true, mode: 0o700 })
      // Writes in flight may recreate the folders. Once none is left, no write finds the bucket any more.
      while (await moveAway(root, bucket, place));
      await rm(place, { recursive: true, force: true })
    },
  }
}

/** Moves the objects first, so that the store no longer knows the bucket. Returns whether anything was moved. */
async function moveAway(root: string, bucket: string, place: string): Promise<boolean> {
  let moved = false
  for (const part of PARTS) {
    const from = join(root, part, requireFolderName(bucket))
    if (!(await pathExists(from))) continue
    await rename(from, join(place, `${part}-${crypto.randomUUID()}`))
    moved = true
  }
  return moved
}

/** @throws Error for an invalid name of a bucket or owner */
function requireFolderName(name: string): string {
  if (!isFolderName(name)) throw new Error(`"${name}" is no name of a folder.`)
  return name
}

async function pathExists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
