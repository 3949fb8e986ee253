import { gzipSync } from 'node:zlib'
import { paxRecord, type RawEntry, rawEntry } from '../../make/tar.ts'
import type { HostileArchive } from './hostileArchive.ts'

const MIB = 1024 ** 2
const PIECE = 16 * MIB

/** Concatenated gzip files are one file: a compressed block can be sent any number of times. */
const packed = (bytes: Buffer) => gzipSync(bytes, { level: 1 })
function* repeated(first: Buffer, again: Buffer, times: number): Generator<Buffer> {
  if (first.length > 0) yield packed(first)
  const once = packed(again)
  for (let time = 0; time < times; time += 1) yield once
}

const zeros = () => Buffer.alloc(PIECE)
const file = (name: string, size: number): RawEntry => ({ name, type: '0', size })
const many = (count: number, entry: (at: number) => RawEntry | readonly RawEntry[]) =>
  Buffer.concat(
    Array.from({ length: count }, (_, at) => [entry(at)].flat().map((one) => rawEntry(one as RawEntry))).flat(),
  )

/** As many records that apply to all entries as fit. */
const records = (bytes: number) => {
  const each = Array.from({ length: Math.floor(bytes / 14) }, (_, at) =>
    paxRecord(at.toString(36).padStart(5, '0'), 'abc'),
  )
  return each.join('').slice(0, bytes)
}
const pax = (type: 'x' | 'g', content: string): RawEntry => ({ name: 'pax', type, content })
/** Long names of folders, all different. */
const deep = (at: number) => Array.from({ length: 60 }, (_, level) => `${at}-${level}`.padEnd(15, 'x')).join('/')

const HEADERS = /more than 32768 bytes of headers before one entry/
const MANY = /more than 50000 files and folders/

export const BOMBS: readonly HostileArchive[] = [
  {
    sentence: 'a file of 257 MiB of zeros in a few KiB',
    bytes: () => repeated(rawEntry(file('zeros', 257 * MIB)), zeros(), 17),
    says: /"zeros" is longer than the 268435456 bytes that one file may have/,
  },
  {
    sentence: 'a file with a header size of 8 EiB',
    bytes: () => [packed(rawEntry({ name: 'huge', type: '0', size: '\u0080\0\0\0\u0070\0\0\0\0\0\0\0' }))],
    says: /"huge" (has an invalid size|is longer)|not a whole tar\.gz/,
  },
  {
    sentence: 'files of 1.1 GiB together',
    bytes: function* () {
      for (let at = 0; at < 5; at += 1) yield* repeated(rawEntry(file(`zeros${at}`, 224 * MIB)), zeros(), 14)
    },
    says: /Unpacked it is longer than 1073741824 bytes/,
    isOnlyJudged: true,
  },
  {
    sentence: 'zeros without end',
    bytes: () => repeated(rawEntry({ name: 'a', type: '0', content: 'x' }), zeros(), 1_000_000),
    says: /more than 1048576 bytes that belong to no entry/,
  },
  {
    sentence: 'a link with a size of 8 GiB',
    bytes: () => repeated(rawEntry({ name: 'l', type: '2', target: 'a', size: 0o77777777777 }), zeros(), 1_000_000),
    says: /^"l" is longer than the 268435456 bytes that one file may have\.$/,
  },
  {
    sentence: '50001 empty files',
    bytes: () => [packed(many(50_001, (at) => ({ name: `f${at}`, type: '0' })))],
    says: MANY,
    isOnlyJudged: true,
  },
  {
    sentence: 'the same folder 50001 times',
    bytes: () => [packed(many(50_001, () => ({ name: 'd', type: '5' })))],
    says: MANY,
    isOnlyJudged: true,
  },
  {
    sentence: 'three million implicit folders',
    bytes: function* () {
      for (let from = 0; from < 50_000; from += 1_000)
        yield packed(
          many(1_000, (at) => [pax('x', paxRecord('path', `${deep(from + at)}/f`)), { name: 'f', type: '0' }]),
        )
    },
    says: MANY,
    isOnlyJudged: true,
  },
  {
    sentence: 'pax records that are copied for each entry',
    bytes: () => {
      const global = rawEntry(pax('g', records(3 * MIB)))
      return repeated(
        global,
        many(1_000, (at) => pax('x', paxRecord('comment', `${at}`))),
        1_000,
      )
    },
    says: HEADERS,
  },
  {
    sentence: 'headers without an entry',
    bytes: () =>
      repeated(
        Buffer.alloc(0),
        many(1_000, () => pax('x', paxRecord('comment', 'none'))),
        2_000,
      ),
    says: HEADERS,
  },
  {
    sentence: 'a name of 3 MiB',
    bytes: () => [
      packed(
        Buffer.concat([rawEntry({ name: 'long', type: 'L', content: 'n'.repeat(3 * MIB) }), rawEntry(file('a', 0))]),
      ),
    ],
    says: HEADERS,
  },
  {
    sentence: 'a header of 2 MiB of attributes',
    bytes: () => [packed(Buffer.concat([rawEntry(pax('x', records(2 * MIB))), rawEntry(file('a', 0))]))],
    says: HEADERS,
  },
  {
    sentence: 'a thousand empty gzip members',
    bytes: () => repeated(Buffer.alloc(0), Buffer.alloc(0), 1_000),
    says: /^It contains no file\.$/,
  },
]
