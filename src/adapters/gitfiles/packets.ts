import { SourceError } from '../sources/port.ts'

/** Lines of Git's protocols (gitprotocol-common): their length in four hexadecimal digits, and what they say. */
export const FLUSH = '0000'
export const DELIMITER = '0001'

export function packet(text: string): string {
  return `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`
}

/** A line, or one of the marks between lines: `flush`, `delimiter`, `end`. */
export type Packet = Buffer | 'flush' | 'delimiter' | 'end'

const MARKS: Readonly<Record<number, Packet>> = { 0: 'flush', 1: 'delimiter', 2: 'end' }

/** @throws SourceError Unreachable for what is not made of lines */
export function* packetsOf(bytes: Buffer, host: string): Generator<Packet> {
  for (let at = 0; at < bytes.length; ) {
    const digits = bytes.subarray(at, at + 4).toString('latin1')
    const length = /^[0-9a-f]{4}$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
    const mark = MARKS[length]
    const end = at + (mark === undefined ? length : 4)
    if (!(end <= bytes.length) || length === 3) throw unreadable(host)
    if (mark === undefined) yield bytes.subarray(at + 4, end)
    else yield mark
    at = end
  }
}

/** A line without the end of line that it may have. */
export const textOf = (line: Buffer): string => line.toString('utf8').replace(/\n$/, '')

export function unreadable(host: string): SourceError {
  return new SourceError('Unreachable', `${host} answers in a form that is not of Git's protocol.`)
}
