import { type EncodedDocument, encodeDocument } from './encodedDocument.ts'

/**
 * Generates the complete document at the first request and keeps it: it takes seconds of CPU time, and the route is
 * public. A failure is not kept.
 * @param make generates the text on another thread
 */
export function wholeDocument(make: () => Promise<string>): () => Promise<EncodedDocument> {
  let made: Promise<EncodedDocument> | undefined
  return () => {
    made ??= make()
      .then(encodeDocument)
      .catch((error: unknown) => {
        made = undefined
        throw error
      })
    return made
  }
}
