import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, closeSync, constants, createReadStream, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Readable, Readable as ReadableStream, type Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack as newPack, type Pack } from 'tar-stream'
import {
  type FileAnswer,
  type FileRequest,
  isFileName,
  joinPath,
  pathSegments,
  type VolumeFolder,
} from '../../../contracts/files.ts'
import { END_FRAME, encodeFrame, FrameReader } from '../frames.ts'
import { entryOf, type Name, type OpenEntry } from './openEntry.ts'
import {
  entryIn,
  ignoreMissing,
  list,
  listEntryNames,
  listFolderNames,
  makeDirectory,
  move,
  remove,
  renameIfAbsent,
  renameOver,
  resolveByteRange,
  withOpenFolder,
} from './operations.ts'
import { Refused, refusalOf } from './refused.ts'
import { type Slot, Tree } from './tree.ts'

export type ServedRequest = { volumes: VolumeFolder[]; request: FileRequest }

/** An answer, and the bytes that follow it. */
type ServedAnswer = { answer: FileAnswer; bytes?: Readable | AsyncIterable<Buffer> }

/**
 * Answers one request about the mounted volumes.
 *
 * @param root prefix of all paths, for tests
 * @throws Error for defects and lost connections
 */
export async function serve(input: AsyncIterable<Uint8Array>, output: Writable, root = ''): Promise<void> {
  const frames = new FrameReader(input)
  const { volumes, request } = JSON.parse(((await frames.whole()) ?? '').toString()) as ServedRequest
  const tree = new Tree(volumes.map(({ path, folder }) => ({ path, folder: `${root}${folder}` })))
  try {
    const { answer, bytes } = await answerRequest(tree, request, frames).catch(refusalAnswer)
    await pipeline(ReadableStream.from(frameAnswer(answer, bytes), { objectMode: false }), output)
  } finally {
    tree.close()
  }
}

function refusalAnswer(error: unknown): ServedAnswer {
  const refusal = refusalOf(error)
  if (refusal === undefined) throw error
  const { reason: refused, sizeBytes } = refusal
  return { answer: sizeBytes === undefined ? { refused } : { refused, sizeBytes } }
}

async function* frameAnswer(answer: FileAnswer, bytes: ServedAnswer['bytes']): AsyncGenerator<Buffer> {
  yield Buffer.concat(encodeFrame(Buffer.from(JSON.stringify(answer))))
  for await (const chunk of bytes ?? []) if (chunk.length > 0) yield* encodeFrame(chunk as Buffer)
  yield END_FRAME
}

async function answerRequest(tree: Tree, request: FileRequest, frames: FrameReader): Promise<ServedAnswer> {
  switch (request.op) {
    case 'list':
      return { answer: list(tree, request) }
    case 'makeDirectory':
      return { answer: makeDirectory(tree, request) }
    case 'move':
      return { answer: move(tree, request) }
    case 'remove':
      return { answer: remove(tree, request) }
    case 'upload':
      return { answer: await upload(tree, request, refuseIncomplete(frames.bytes())) }
    case 'download':
      return download(tree, request)
    case 'archive':
      return archive(tree, request)
  }
}

async function* refuseIncomplete(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* bytes
  } catch {
    throw new Refused('Incomplete')
  }
}

function download(tree: Tree, { path, range }: Extract<FileRequest, { op: 'download' }>): ServedAnswer {
  const held = requireEntry(tree, path)
  const { stats } = held
  if (stats.isDirectory()) throw new Refused('IsDirectory')
  if (!stats.isFile()) throw new Refused('NotAllowed')
  const part = resolveByteRange(range, stats.size)
  return { answer: { file: entryOf(stats, normalizePath(path)), ...part }, bytes: readByteRange(held, part) }
}

function archive(tree: Tree, { path }: Extract<FileRequest, { op: 'archive' }>): ServedAnswer {
  const held = requireEntry(tree, path)
  if (!held.stats.isDirectory() && !held.stats.isFile()) throw new Refused('NotAllowed')
  if (held.stats.isDirectory()) assertDepth(held)
  const name = normalizePath(path).split('/').at(-1) ?? ''
  const tar = streamTar(held, name)
  const zip = createGzip({ level: 1 })
  pipeline(tar, zip).catch(() => {})
  return { answer: { archive: name }, bytes: zip }
}

function requireEntry(tree: Tree, path: string): OpenEntry {
  const found = tree.find(path)
  if (found.kind === 'virtual') throw new Refused('IsDirectory')
  return found.held
}

const normalizePath = (path: string) => joinPath(pathSegments(path) ?? [])

/**
 * Writes to a temporary file and renames it, so that the file is either complete or absent. A hard link to a replaced
 * file keeps the previous content.
 */
async function upload(
  tree: Tree,
  { path, name, overwrite }: Omit<Extract<FileRequest, { op: 'upload' }>, 'op'>,
  bytes: AsyncIterable<Buffer>,
): Promise<FileAnswer> {
  if (!isFileName(name)) throw new Refused('NotAllowed')
  const segments = [...(pathSegments(path) ?? []), name]
  tree.folder(path)
  const target = tree.slot(joinPath(segments))
  const before = ignoreMissing(() => target.folder.statsOf(name))
  if (before !== undefined && (!overwrite || before.isDirectory())) throw new Refused('AlreadyExists')
  const partial: Slot = { ...target, name: `.upload-${randomUUID()}` }
  let isMoved = false
  try {
    await write(partial, before?.isFile() === true ? before.mode & 0o777 : undefined, bytes)
    if (overwrite) renameOver(partial, target)
    else renameIfAbsent(partial, target)
    isMoved = true
  } finally {
    if (!isMoved) ignoreMissing(() => unlinkSync(partial.folder.at(partial.name)))
  }
  return { entry: entryIn(target), isNew: before === undefined }
}

async function write({ folder, name }: Slot, mode: number | undefined, bytes: AsyncIterable<Buffer>): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const file = await open(folder.at(name), flags, 0o664)
  try {
    if (mode !== undefined) await file.chmod(mode)
    for await (const part of bytes) for (let at = 0; at < part.length; ) at += (await file.write(part, at)).bytesWritten
  } finally {
    await file.close()
  }
}

/** Maximum depth: each level keeps a folder open and takes a stack frame. */
const MAX_DEPTH = 1_000

/** Checks the depth first, because a response that has begun cannot be refused any more. @throws Refused TooDeep */
function assertDepth(folder: OpenEntry, depth = 0): void {
  if (depth > MAX_DEPTH) throw new Refused('TooDeep')
  if (mayRead(folder))
    for (const name of listFolderNames(folder)) withOpenFolder(folder, name, (one) => assertDepth(one, depth + 1))
}

/**
 * Streams a tar of a folder, or of one file. Leaves out FIFOs, devices, sockets, and what may not be read, such as the
 * `lost+found` of a file system. Links are stored as links.
 */
function streamTar(held: OpenEntry, name: string): Pack {
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
async function* readByteRange(
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
