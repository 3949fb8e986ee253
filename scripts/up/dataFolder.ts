import { access, constants, mkdir, statfs } from 'node:fs/promises'

const MIB = 1024 * 1024
/** An empty platform writes a quarter of it. */
export const MIN_FREE_BYTES = 512 * MIB

/** Creates the folder. @throws Error if it cannot be written, or its disk has too little room for a start */
export async function prepareDataFolder(folder: string, freeBytes = freeBytesAt): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await access(folder, constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`The data folder ${folder} cannot be written (${code}): name another one with --data.`)
  }
  const free = await freeBytes(folder)
  if (free >= MIN_FREE_BYTES) return
  throw new Error(
    `The disk of the data folder ${folder} has ${Math.floor(free / MIB)} MiB left, and a start needs ${MIN_FREE_BYTES / MIB}: free some, or name a folder on another disk with --data.`,
  )
}

async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
