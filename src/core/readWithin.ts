/**
 * Reads a whole stream that may never end.
 *
 * @throws the error of `tooLong` as soon as there are more than `maxBytes` bytes
 */
export async function readWithin(
  maxBytes: number,
  bytes: AsyncIterable<Uint8Array>,
  tooLong: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    length += chunk.length
    if (length > maxBytes) throw tooLong()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** Reads the first `maxBytes` bytes, and stops reading there. */
export async function readBeginning(maxBytes: number, bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= maxBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}
