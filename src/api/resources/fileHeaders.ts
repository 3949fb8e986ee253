import type { ByteRange, FileEntry } from '../../contracts/files.ts'

/**
 * Returns the range that a Range header requests (RFC 9110 section 14.2). Undefined, which means the whole file,
 * without the header, for several ranges, for a malformed one, and with If-Range, as files have no ETag.
 */
export function byteRange(header: string | undefined, ifRange: string | undefined): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (ifRange !== undefined || (first === '' && last === '')) return undefined
  if (first === '') return { suffix: Number(last) }
  if (last === '') return { first: Number(first) }
  return Number(last) < Number(first) ? undefined : { first: Number(first), last: Number(last) }
}

/** @param part the bytes that are sent, if not the whole file */
export function downloadHeaders(
  { name, sizeBytes, modifiedAt }: FileEntry,
  part: { first: number; last: number } | undefined,
  length: number,
): Record<string, string> {
  return {
    'content-type': 'application/octet-stream',
    'content-length': String(length),
    'accept-ranges': 'bytes',
    'last-modified': new Date(modifiedAt).toUTCString(),
    ...(part !== undefined && { 'content-range': `bytes ${part.first}-${part.last}/${sizeBytes}` }),
    ...attachment(name),
  }
}

/** The header for saving a file under this name, in both spellings of RFC 6266. */
export function attachment(name: string): Record<string, string> {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return { 'content-disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}` }
}
