import { isUuid } from '../core/names.ts'

/** Prefix of the 16 bytes of a UUID, each a character. Any other uid is preceded by its length. */
const UUID_MARK = '!'
const UUID_END = UUID_MARK.length + 16

/** Joins a uid and a text to save memory: a string of its own takes 64 bytes of the heap, as a prefix 17. */
export function packUid(uid: string, text: string): string {
  if (!isUuid(uid)) return [uid.length, ':', uid, text].join('')
  return [UUID_MARK, Buffer.from(uid.replaceAll('-', ''), 'hex').toString('latin1'), text].join('')
}

export function unpackUid(kept: string): string {
  if (!kept.startsWith(UUID_MARK)) return kept.slice(kept.indexOf(':') + 1, endOf(kept))
  const digits = Buffer.from(kept.slice(UUID_MARK.length, UUID_END), 'latin1').toString('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export function unpackText(kept: string): string {
  return kept.slice(endOf(kept))
}

function endOf(kept: string): number {
  return kept.startsWith(UUID_MARK) ? UUID_END : kept.indexOf(':') + 1 + Number.parseInt(kept, 10)
}
