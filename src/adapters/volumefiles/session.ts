import { Readable } from 'node:stream'
import { type FileAnswer, type FileRequest, MAX_FILE_ANSWER_BYTES, type VolumeFolder } from '../../contracts/files.ts'
import { readAnswer } from './answer.ts'
import { END_FRAME, encodeFrame, FrameReader } from './frames.ts'

/** Yields the request, then the content to write, then the end. */
export async function* encodeFileRequest(
  volumes: readonly VolumeFolder[],
  request: FileRequest,
  body: AsyncIterable<Uint8Array> | undefined,
): AsyncGenerator<Buffer> {
  yield Buffer.concat(encodeFrame(Buffer.from(JSON.stringify({ volumes, request }))))
  for await (const bytes of body ?? []) if (bytes.length > 0) yield* encodeFrame(bytes)
  yield END_FRAME
}

/** Reads the answer and returns the bytes that follow. Both fail if the stream ends without the end marker. */
export async function decodeFileAnswer(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ answer: FileAnswer; bytes: Readable }> {
  const reader = chunks[Symbol.asyncIterator]()
  const frames = new FrameReader({ [Symbol.asyncIterator]: () => reader })
  const head = await frames.whole(MAX_FILE_ANSWER_BYTES)
  if (head === undefined) throw new Error('The pod beside the volume gave no answer.')
  const answer = readAnswer(head.toString())
  if (!('file' in answer || 'archive' in answer)) {
    await frames.whole(0)
    void reader.return?.()
    return { answer, bytes: Readable.from([]) }
  }
  const content = 'file' in answer ? requireLength(answer.last - answer.first + 1, frames.bytes()) : frames.bytes()
  const bytes = Readable.from(content, { objectMode: false })
  // Ends the stream below even if nobody reads the bytes.
  bytes.once('close', () => void reader.return?.())
  return { answer, bytes }
}

/** Enforces the announced length: further bytes would become part of the next HTTP response. @throws Error */
async function* requireLength(count: number, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = count
  for await (const part of bytes) {
    left -= part.length
    if (left < 0) break
    yield part
  }
  if (left !== 0) throw new Error('The file has another number of bytes than announced.')
}
