import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Where versitygw keeps a bucket: its own flags name the folders, scripts/objectstore/start.ts starts it with them. */
const PARTS = ['objects', 'versions', 'metadata'] as const
/** Beside them, so that a bucket is moved there in one step. */
const REMOVED = 'removed'

/** A component of a path of ours, and never another folder. */
const NAME = /^[a-z0-9](?!.*\.\.)[a-z0-9.-]*$/
export const isFolderName = (name: string) => NAME.test(name)

/** The folders of a store on this machine, in which buckets are removed whatever their objects are called. */
export type StoreFolders = {
  /** Whether the removal of this owner's bucket has begun. */
  isLeaving(bucket: string, owner: string): Promise<boolean>
  /** Whether the store keeps the bucket in here. */
  has(bucket: string): Promise<boolean>
  /** May be repeated: after whatever step a process died, the next call goes on. */
  remove(bucket: string, owner: string): Promise<void>
}

export function storeFolders(home: string): StoreFolders {
  const leaving = (bucket: string, owner: string) => join(home, REMOVED, `${checked(bucket)}_${checked(owner)}`)
  return {
    isLeaving: async (bucket, owner) => isThere(leaving(bucket, owner)),
    has: async (bucket) => isThere(join(home, PARTS[0], checked(bucket))),
    async remove(bucket, owner) {
      const place = leaving(bucket, owner)
      await mkdir(place, { recursive: true, mode: 0o700 })
      // Writes that were under way may make folders anew; once there are none, no other write finds the bucket.
      while (await moveAway(home, bucket, place));
      await rm(place, { recursive: true, force: true })
    },
  }
}

/** First the objects, so that the store knows no such bucket from then on. Whether there was anything. */
async function moveAway(home: string, bucket: string, place: string): Promise<boolean> {
  let moved = false
  for (const part of PARTS) {
    const from = join(home, part, checked(bucket))
    if (!(await isThere(from))) continue
    await rename(from, join(place, `${part}-${crypto.randomUUID()}`))
    moved = true
  }
  return moved
}

/** @throws Error for what is no name of a bucket or owner */
function checked(name: string): string {
  if (!isFolderName(name)) throw new Error(`"${name}" is no name of a folder.`)
  return name
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
