import { once } from 'node:events'
import { accessSync, closeSync, constants, createReadStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { pack as newPack, type Pack } from 'tar-stream'
import type { Name, OpenEntry } from './openEntry.ts'
import { ignoreMissing, listEntryNames, listFolderNames, withOpenFolder } from './operations.ts'
import { Refused } from './refused.ts'

/** Maximum depth: each level keeps a folder open and takes a stack frame. */
const MAX_DEPTH = 1_000

/** Checks the depth first, because a response that has begun cannot be refused any more. @throws Refused TooDeep */
export function assertDepth(folder: OpenEntry, depth = 0): void {
  if (depth > MAX_DEPTH) throw new Refused('TooDeep')
  if (mayRead(folder))
    for (const name of listFolderNames(folder)) withOpenFolder(folder, name, (one) => assertDepth(one, depth + 1))
}

/**
 * Streams a tar of a folder, or of one file. Leaves out FIFOs, devices, sockets, and what may not be read, such as the
 * `lost+found` of a file system. Links are stored as links.
 */
export function streamTar(held: OpenEntry, name: string): Pack {
  const pack = newPack()
  const write = async () => {
    if (held.stats.isDirectory()) await addFolder(pack, held, '', 0)
    else await addFile(pack, held, name)
    pack.finalize()
  }
  write().catch((error: unknown) => pack.destroy(error as Error))
  return pack
}

async function addFolder(pack: Pack, folder: OpenEntry, prefix: string, depth: number): Promise<void> {
  if (depth > MAX_DEPTH) throw new Refused('TooDeep')
  for (const name of listEntryNames(folder).sort(Buffer.compare)) await addEntry(pack, folder, name, prefix, depth)
}

async function addEntry(pack: Pack, folder: OpenEntry, name: Name, prefix: string, depth: number): Promise<void> {
  const path = `${prefix}${name}`
  const held = ignoreMissing(() => folder.child(name))
  if (held === undefined) return
  try {
    const { stats } = held
    const { mode, mtime } = stats
    if (stats.isDirectory()) {
      if (!mayRead(held)) return
      pack.entry({ name: path, type: 'directory', mode: mode & 0o7777, mtime })
      await addFolder(pack, held, `${path}/`, depth + 1)
    } else if (stats.isFile() && mayRead(held)) await addFile(pack, held, path)
    else if (stats.isSymbolicLink()) {
      const linkname = folder.linkOf(name)
      if (linkname !== undefined) pack.entry({ name: path, type: 'symlink', linkname, mtime })
    }
  } finally {
    held.close()
  }
}

function mayRead(held: OpenEntry): boolean {
  try {
    accessSync(held.self, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** The size is sent before the content: a file that grows meanwhile is cut, one that shrinks is padded with zeros. */
async function addFile(pack: Pack, held: OpenEntry, path: string): Promise<void> {
  const { size, mode, mtime } = held.stats
  const entry = pack.entry({ name: path, size, mode: mode & 0o7777, mtime })
  const ended = finished(entry)
  let left = size
  const put = async (bytes: Buffer) => {
    left -= bytes.length
    if (!entry.write(bytes)) await once(entry, 'drain')
  }
  for await (const chunk of readByteRange(held, { first: 0, last: size - 1 })) await put(chunk)
  while (left > 0) await put(Buffer.alloc(Math.min(left, 65_536)))
  ;(entry as NodeJS.WritableStream).end()
  await ended
}

/** Yields the bytes from `first` to `last`, both inclusive. */
export async function* readByteRange(
  held: OpenEntry,
  { first, last }: { first: number; last: number },
): AsyncGenerator<Buffer> {
  if (last < first) return
  const fd = held.read()
  try {
    const options = { fd, start: first, end: last, autoClose: false, highWaterMark: 256 * 1024 }
    for await (const chunk of createReadStream('', options)) yield chunk as Buffer
  } finally {
    closeSync(fd)
  }
}
