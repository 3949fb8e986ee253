/** Lines of the Git protocol (gitprotocol-common, "pkt-line"): four hexadecimal digits of length, then so many bytes less four. */

export const FLUSH = '0000'
export const DELIMITER = '0001'

export function line(text: string): string {
  const length = Buffer.byteLength(text) + 5
  return `${length.toString(16).padStart(4, '0')}${text}\n`
}

/** What a flush, a delimiter and an end have for a length. They say nothing but that what was before is whole. */
const MARKS = 2

/** Of one answer. A host sends packs in lines of some 1,000 bytes at least; millions of empty ones are made to cost time. */
const MOST = 50_000

/** @throws RangeError if the bytes are no such lines */
export function* linesIn(bytes: Buffer): Generator<Buffer> {
  for (let at = 0, count = 1; at < bytes.length; count += 1) {
    if (count > MOST) throw new RangeError(`There are more than ${MOST} lines.`)
    const digits = bytes.toString('latin1', at, at + 4)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new RangeError('The length of a line is not four hexadecimal digits.')
    const length = Number.parseInt(digits, 16)
    if (length <= MARKS) {
      at += 4
      continue
    }
    if (length < 4 || at + length > bytes.length) throw new RangeError('A line is longer than the rest of the answer.')
    yield bytes.subarray(at + 4, at + length)
    at += length
  }
}

export const textOf = (bytes: Buffer): string => bytes.toString('utf8').replace(/\n$/, '')
