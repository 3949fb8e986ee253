import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip as gzipWith } from 'node:zlib'

const gzip = promisify(gzipWith)

/** The OpenAPI document of everything, as it is sent. */
export type EncodedDocument = { readonly json: Buffer; readonly gzip: Buffer; readonly etag: string }

/**
 * The document of everything, made when it is first asked for and kept: it takes seconds of a processor, and anybody may
 * ask. A failure is not kept.
 *
 * @param make the text, beside the main thread
 */
export function wholeDocument(make: () => Promise<string>): () => Promise<EncodedDocument> {
  let made: Promise<EncodedDocument> | undefined
  return () => {
    made ??= make()
      .then(encoded)
      .catch((error: unknown) => {
        made = undefined
        throw error
      })
    return made
  }
}

async function encoded(text: string): Promise<EncodedDocument> {
  const json = Buffer.from(text)
  const etag = `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"`
  return { json, gzip: await gzip(json), etag }
}
