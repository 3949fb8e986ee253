import { Readable } from 'node:stream'
import type { FileAnswer, FileRequest, VolumeFolder } from '../../contracts/files.ts'
import { END, Frames, frame } from './frames.ts'

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

/** Reads the answer, and hands on the bytes behind it. Both fail if the end that the program sends does not come. */
export async function received(chunks: AsyncIterable<Uint8Array>): Promise<{ answer: FileAnswer; bytes: Readable }> {
  const reader = chunks[Symbol.asyncIterator]()
  const frames = new Frames({ [Symbol.asyncIterator]: () => reader })
  const head = await frames.whole()
  if (head === undefined) throw new Error('The pod beside the volume gave no answer.')
  const answer = JSON.parse(head.toString()) as FileAnswer
  if (!('file' in answer || 'archive' in answer)) {
    await frames.whole()
    void reader.return?.()
    return { answer, bytes: Readable.from([]) }
  }
  const bytes = Readable.from(frames.bytes(), { objectMode: false })
  // Also if nobody reads them.
  bytes.once('close', () => void reader.return?.())
  return { answer, bytes }
}
