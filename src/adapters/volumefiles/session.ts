import { Readable } from 'node:stream'
import { z } from 'zod'
import {
  FILE_REFUSALS,
  type FileAnswer,
  type FileRequest,
  LISTED_ENTRIES_MAX,
  MAX_FILE_ANSWER_BYTES,
  type VolumeFolder,
} from '../../contracts/files.ts'
import { hasMoreValues } from '../../core/jsonValues.ts'
import { tryParseJson } from '../../core/tryParseJson.ts'
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

/** Validates answers from the pod, because an attacker may control the cluster that it runs in. */

/** JSON values per entry, counted by commas and brackets. */
const VALUES_PER_ENTRY = 8
/** JSON values of an answer without entries. */
const VALUES_OVERHEAD = 100

const Text = z.string().refine((text) => text.isWellFormed())
const Count = z.int().nonnegative()
const Entry = z.object({
  name: Text,
  path: Text,
  type: z.enum(['File', 'Directory', 'Link']),
  sizeBytes: Count,
  modifiedAt: z.iso.datetime(),
  mode: z.string().regex(/^[0-7]{1,6}$/),
  linkTarget: Text.nullable(),
})
const Answer: z.ZodType<FileAnswer> = z.union([
  z.object({ refused: z.enum(FILE_REFUSALS), sizeBytes: Count.exactOptional() }),
  z.object({ entries: z.array(Entry).max(LISTED_ENTRIES_MAX), truncated: z.boolean() }),
  z
    .object({ file: Entry, first: Count, last: z.int().min(-1) })
    .refine(({ file, first, last }) => last >= first - 1 && last < file.sizeBytes),
  z.object({ archive: Text }),
  z.object({ entry: Entry, isNew: z.boolean() }),
  z.object({ removed: z.literal(true) }),
])

/** @throws Error if the text is not a valid answer */
function readAnswer(text: string): FileAnswer {
  const isDense = hasMoreValues(text, LISTED_ENTRIES_MAX * VALUES_PER_ENTRY + VALUES_OVERHEAD)
  const read = Answer.safeParse(isDense ? undefined : tryParseJson(text))
  if (!read.success) throw new Error('The pod beside the volume said what is no answer.')
  return read.data
}
