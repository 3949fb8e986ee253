import { refusedFields } from '../../core/errors.ts'
import type { BUG_MEDIA_TYPES } from '../../crds/bugreports.ts'

export const ATTACHMENT_BYTES_MAX = 512 * 1024

type MediaType = (typeof BUG_MEDIA_TYPES)[number]
export type SentAttachment = { readonly fileName: string; readonly mediaType: MediaType; readonly content: string }
export type DecodedAttachment = { readonly fileName: string; readonly mediaType: MediaType; readonly bytes: Buffer }

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const JPEG = Buffer.from('ffd8ff', 'hex')
const beginsWith = (bytes: Buffer, magic: Buffer) => bytes.subarray(0, magic.length).equals(magic)

/** Checks that the content is what its media type says, so that opening it is safe. */
const CONTENT_CHECKS: Readonly<Record<MediaType, (bytes: Buffer) => boolean>> = {
  'image/png': (bytes) => beginsWith(bytes, PNG),
  'image/jpeg': (bytes) => beginsWith(bytes, JPEG),
  'text/plain': (bytes) => !bytes.includes(0) && Buffer.from(bytes.toString('utf8')).equals(bytes),
}

/** @throws PlatformError BAD_REQUEST */
export function readAttachments(sent: readonly SentAttachment[]): DecodedAttachment[] {
  const read = sent.map(({ fileName, mediaType, content }, index) => {
    const field = `attachments.${index}.content`
    const bytes = Buffer.from(content, 'base64')
    if (bytes.toString('base64').replace(/=+$/, '') !== content.replace(/=+$/, ''))
      throw refused(field, 'is not base64')
    if (!CONTENT_CHECKS[mediaType](bytes)) throw refused(field, `is not ${mediaType}`)
    return { fileName, mediaType, bytes }
  })
  const totalBytes = read.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (totalBytes > ATTACHMENT_BYTES_MAX)
    throw refused('attachments', `have ${totalBytes} bytes together; at most ${ATTACHMENT_BYTES_MAX} are accepted`)
  return read
}

const refused = (field: string, message: string) => refusedFields([{ field, message }])
