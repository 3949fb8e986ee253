/** One entry of a tar, valid or not. */
export type RawEntry = {
  readonly name: string | Buffer
  /** The letter of its kind. */
  readonly type: string
  readonly target?: string
  readonly content?: string | Buffer
  /** The length in the header, if it is not that of the content. */
  readonly size?: number | string
  readonly mode?: number
  readonly magic?: 'ustar\u000000' | 'ustar  \u0000'
}

const BLOCK = 512

function headerOf({
  name,
  type,
  target = '',
  content = '',
  size,
  mode = 0o644,
  magic = 'ustar\u000000',
}: RawEntry): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  const put = (text: string | Buffer, at: number, length: number) => Buffer.from(text).copy(header, at, 0, length)
  put(Buffer.from(name).subarray(0, 100), 0, 100)
  put(octal(mode, 8), 100, 8)
  put(octal(0, 8), 108, 8)
  put(octal(0, 8), 116, 8)
  put(typeof size === 'string' ? size : octal(size ?? Buffer.byteLength(content), 12), 124, 12)
  put(octal(0, 12), 136, 12)
  put(type, 156, 1)
  put(Buffer.from(target).subarray(0, 100), 157, 100)
  put(magic, 257, 8)
  put(' '.repeat(8), 148, 8)
  put(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
    8,
  )
  return header
}

const padded = (content: string | Buffer) => {
  const bytes = Buffer.from(content)
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)])
}

export const rawEntry = (entry: RawEntry) => Buffer.concat([headerOf(entry), padded(entry.content ?? '')])

/** Without its end marker, if more follows. */
export const rawTar = (...entries: readonly RawEntry[]) =>
  Buffer.concat([...entries.map(rawEntry), Buffer.alloc(2 * BLOCK)])

/** A record of an extended header: its length counts itself. */
export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  const digits = String(bytes + String(bytes).length).length
  return `${bytes + digits}${rest}`
}

/** The ways to express a path or target: in the header, in a preceding entry, as an attribute, for all entries. */
export const SPELLINGS = {
  header: (entry: RawEntry) => [entry],
  'GNU names': (entry: RawEntry): RawEntry[] => [
    { name: '././@LongLink', type: 'L', content: `${entry.name}\0` },
    ...(entry.target === undefined ? [] : [{ name: '././@LongLink', type: 'K', content: `${entry.target}\0` }]),
    { ...entry, name: 'plain', ...(entry.target !== undefined && { target: 'plain' }), magic: 'ustar  \u0000' },
  ],
  'pax records': (entry: RawEntry): RawEntry[] => [
    { name: 'pax', type: 'x', content: recordsOf(entry) },
    { ...entry, name: 'plain', ...(entry.target !== undefined && { target: 'plain' }) },
  ],
  'pax records for all': (entry: RawEntry): RawEntry[] => [
    { name: 'pax', type: 'g', content: recordsOf(entry) },
    { name: 'pax', type: 'x', content: paxRecord('comment', 'none') },
    { ...entry, name: 'plain', ...(entry.target !== undefined && { target: 'plain' }) },
  ],
} as const

const recordsOf = ({ name, target }: RawEntry) =>
  paxRecord('path', String(name)) + (target === undefined ? '' : paxRecord('linkpath', target))
