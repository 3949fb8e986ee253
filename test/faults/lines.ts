/** The lines of a stream, each with its line feed; the remainder comes at the end as it is. */
export async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of body) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield rest.subarray(0, end + 1)
      rest = rest.subarray(end + 1)
    }
  }
  if (rest.length > 0) yield rest
}
