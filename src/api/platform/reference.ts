import { type EncodedDocument, encoded } from './encodedDocument.ts'

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
