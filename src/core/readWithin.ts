/**
 * Reads all bytes of a sender that may never stop.
 *
 * @throws what `tooLong` makes, as soon as there are more than `most`
 */
export async function readWithin(
  most: number,
  bytes: AsyncIterable<Uint8Array>,
  tooLong: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    length += chunk.length
    if (length > most) throw tooLong()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}
