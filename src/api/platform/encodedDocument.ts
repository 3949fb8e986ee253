import { promisify } from 'node:util'
import { gzip as gzipWith } from 'node:zlib'
import Negotiator from 'negotiator'
import type { Answer } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { contentTag } from '../http/etag.ts'

const gzip = promisify(gzipWith)

/** A document that is requested often, encoded once. */
export type EncodedDocument = { readonly plain: Buffer; readonly gzip: Buffer; readonly etag: string }

export async function encodeDocument(text: string): Promise<EncodedDocument> {
  const plain = Buffer.from(text)
  return { plain, gzip: await gzip(plain), etag: contentTag(plain) }
}

/** Returns the response, without encoding again, or 304 for a client that has it (RFC 9110, section 13.1.2). */
export function documentAnswer(
  { plain, gzip, etag }: EncodedDocument,
  context: Pick<Context, 'header'>,
  headers: Readonly<Record<string, string>>,
): Answer<never> {
  const accepted = new Negotiator({ headers: { 'accept-encoding': context.header('accept-encoding') } })
  const isGzip = accepted.encoding(['gzip', 'identity']) === 'gzip'
  // A strong tag names these very bytes, so each encoding has its own (RFC 9110 section 8.8.3.3).
  const own = isGzip ? etag.replace(/"$/, '-gzip"') : etag
  const known = { ...headers, etag: own, vary: 'Accept-Encoding' }
  if (matchesEtag(context.header('if-none-match'), own)) return { status: 304, headers: known }
  if (!isGzip) return { status: 200, headers: known, bytes: plain }
  return { status: 200, headers: { ...known, 'content-encoding': 'gzip' }, bytes: gzip }
}

/** Compressing proxies turn a strong tag into a weak one. */
function matchesEtag(tags: string | undefined, etag: string): boolean {
  return tags?.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim())) ?? false
}
