import { Readable } from 'node:stream'
import type { FileAnswer, FileRequest, VolumeFolder } from '../../contracts/files.ts'
import { END, frame } from './frames.ts'

/** What is sent to the side of the volumes: the request, then what is to be written, and the end. */
export async function* sent(
  volumes: readonly VolumeFolder[],
  request: FileRequest,
  body: AsyncIterable<Uint8Array> | undefined,
): AsyncGenerator<Buffer> {
  yield Buffer.concat(frame(Buffer.from(JSON.stringify({ volumes, request }))))
  for await (const bytes of body ?? []) if (bytes.length > 0) yield* frame(bytes)
  yield END
}

/** The first line of an answer is JSON. Longer ones are nobody's: 5000 entries with long paths. */
const LONGEST_HEAD = 64 * 1024 * 1024

/** Reads the answer, and hands on the bytes behind it. @throws Error if the bytes end before */
export async function received(chunks: AsyncIterable<Uint8Array>): Promise<{ answer: FileAnswer; bytes: Readable }> {
  const reader = chunks[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  for (let size = 0; size < LONGEST_HEAD; ) {
    const { done, value } = await reader.next()
    if (done === true) break
    const end = value.indexOf(10)
    if (end < 0) {
      head.push(value)
      size += value.length
      continue
    }
    head.push(value.subarray(0, end))
    const answer = JSON.parse(Buffer.concat(head).toString()) as FileAnswer
    const bytes = Readable.from(rest(value.subarray(end + 1), reader), { objectMode: false })
    // Also if nobody reads them.
    bytes.once('close', () => void reader.return?.())
    if (!('file' in answer || 'archive' in answer)) bytes.destroy()
    return { answer, bytes }
  }
  throw new Error('The side of the volumes gave no answer.')
}

async function* rest(first: Uint8Array, reader: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) yield next.value
}
