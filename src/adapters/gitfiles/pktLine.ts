/** Lines of the Git protocol (gitprotocol-common, "pkt-line"): four hex digits for the whole length, then data. */

export const FLUSH_PKT = '0000'
export const DELIM_PKT = '0001'

export function encodePktLine(text: string): string {
  const length = Buffer.byteLength(text) + 5
  return `${length.toString(16).padStart(4, '0')}${text}\n`
}

/** Lengths up to this are flush, delimiter and end packets, which carry no data. */
const SPECIAL_LENGTH_MAX = 2

/** Lines per answer. Hosts send packs in lines of 1,000 bytes or more; millions of short ones are an attack. */
const MAX_LINES = 50_000

/** @throws RangeError for malformed lines */
export function* parsePktLines(bytes: Buffer): Generator<Buffer> {
  for (let at = 0, count = 1; at < bytes.length; count += 1) {
    if (count > MAX_LINES) throw new RangeError(`There are more than ${MAX_LINES} lines.`)
    const digits = bytes.toString('latin1', at, at + 4)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new RangeError('The length of a line is not four hexadecimal digits.')
    const length = Number.parseInt(digits, 16)
    if (length <= SPECIAL_LENGTH_MAX) {
      at += 4
      continue
    }
    if (length < 4 || at + length > bytes.length) throw new RangeError('A line is longer than the rest of the answer.')
    yield bytes.subarray(at + 4, at + length)
    at += length
  }
}

export const decodePktText = (bytes: Buffer): string => bytes.toString('utf8').replace(/\n$/, '')
