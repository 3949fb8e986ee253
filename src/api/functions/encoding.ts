import { z } from 'zod'
import { unreadableFields } from '../../core/errors.ts'

/** How JSON represents bytes. */
export const Encoding = z.enum(['Utf8', 'Base64'])
type Encoding = z.output<typeof Encoding>

/** @throws PlatformError MODEL_BINDING_FAILED */
export function decodeContent(content: string, encoding: Encoding | null | undefined, field: string): Buffer {
  if (encoding !== 'Base64') return Buffer.from(content, 'utf8')
  const bytes = Buffer.from(content, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') === content.replace(/=+$/, '')) return bytes
  throw unreadableFields([{ field, message: 'is not Base64' }])
}

/**
 * Returns the bytes as text if they are valid UTF-8.
 * @param isBeginning whether more bytes follow: then an incomplete last character is dropped
 */
export function encodeContent(bytes: Buffer, isBeginning: boolean): { text: string; encoding: Encoding } {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return { text: decoder.decode(bytes, { stream: isBeginning }), encoding: 'Utf8' }
  } catch {
    return { text: bytes.toString('base64'), encoding: 'Base64' }
  }
}
