import type { Readable, Writable } from 'node:stream'
import { Readable as ReadableStream } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import {
  type FileAnswer,
  type FileRequest,
  joinPath,
  pathSegments,
  type VolumeFolder,
} from '../../../contracts/files.ts'
import { END_FRAME, encodeFrame, FrameReader } from '../frames.ts'
import { assertDepth, readByteRange, streamTar } from './archive.ts'
import { entryOf, type OpenEntry } from './openEntry.ts'
import { list, makeDirectory, move, remove, resolveByteRange } from './operations.ts'
import { Refused, refusalOf } from './refused.ts'
import { Tree } from './tree.ts'
import { upload } from './upload.ts'

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
