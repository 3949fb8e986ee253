import { gzipSync } from 'node:zlib'
import { paxRecord, type RawEntry, rawTar, SPELLINGS } from '../../make/tar.ts'
import { BOMBS } from './bombs.ts'
import type { HostileArchive } from './hostileArchive.ts'

type Spelling = keyof typeof SPELLINGS
const EVERY = Object.keys(SPELLINGS) as Spelling[]
const AFTER_HEADERS = EVERY.filter((spelling) => spelling !== 'header')

const OUT = /leads out of the archive/
const ABSOLUTE = /is not a relative path/
const ODD = /contains a control character or a backslash/

const PATHS: readonly [path: string, says: RegExp, spellings?: readonly Spelling[]][] = [
  ['../canary.txt', OUT],
  ['a/../../canary.txt', OUT],
  ['./../canary.txt', OUT],
  ['a/b/../../../canary.txt', OUT],
  ['..', OUT],
  ['/tmp/canary.txt', ABSOLUTE],
  ['//tmp/canary.txt', ABSOLUTE],
  ['C:/canary.txt', ABSOLUTE],
  ['..\\canary.txt', ODD],
  ['a\ncanary.txt', ODD],
  ['a\u001b[2J', ODD],
  ['..\u0000/canary.txt', ODD, ['pax records', 'pax records for all']],
  ['..\u202e/../txt.yranac', OUT],
  [`${'a/'.repeat(64)}a`, /deeper than 64 folders/, AFTER_HEADERS],
  ['n'.repeat(256), /name longer than 255 bytes/, AFTER_HEADERS],
  ['é'.repeat(128), /name longer than 255 bytes/, AFTER_HEADERS],
  [`${'d'.repeat(200)}/`.repeat(6), /longer than 1024 characters/, AFTER_HEADERS],
]
const KINDS: readonly [kind: string, entry: Partial<RawEntry> & { type: string }][] = [
  ['file', { type: '0', content: 'x' }],
  ['folder', { type: '5' }],
  ['link', { type: '2', target: 'b' }],
]

const TARGETS = [
  '/etc/passwd',
  '..',
  '../canary.txt',
  'a/../../canary.txt',
  './..',
  'a/..',
  '../../run/build/order.json',
]

const TYPES: readonly [kind: string, type: string][] = [
  ['hard link', '1'],
  ['character device', '3'],
  ['block device', '4'],
  ['pipe', '6'],
  ['sparse file', 'S'],
  ['volume label', 'V'],
  ['part of a multi-volume archive', 'M'],
  ['directory dump', 'D'],
  ['entry of an unknown type', 'Z'],
]

const file = (name: string, content = 'x'): RawEntry => ({ name, type: '0', content })
const link = (name: string, target: string): RawEntry => ({ name, type: '2', target })
const folder = (name: string): RawEntry => ({ name, type: '5' })

const TWICE = /appears twice|only in letter case/
const BELOW = /below a path that is not a folder/
const CLASHES: readonly [sentence: string, entries: readonly RawEntry[], says: RegExp][] = [
  ['a file below an internal link', [link('a', 'b'), file('a/canary.txt')], BELOW],
  ['a folder below a link', [link('a', 'b'), folder('a/c')], BELOW],
  ['a link below a link', [link('a', 'b'), link('a/c', 'd')], BELOW],
  ['a file in the place of a link', [link('a', 'b'), file('a')], TWICE],
  ['a link in the place of a file', [file('a'), link('a', 'b')], TWICE],
  ['a link in the place of a folder', [file('a/b'), link('a', 'c')], TWICE],
  ['a link in the place of a link', [link('a', 'b'), link('a', 'c')], TWICE],
  ['a duplicate file', [file('a'), file('./a')], TWICE],
  ['files that differ in letter case', [file('Dockerfile'), file('dockerfile')], TWICE],
  ['a link whose neighbour differs in letter case', [link('A', 'b'), file('a/c')], BELOW],
  ['folders that differ in letter case', [file('a/b'), file('A/c')], /only in letter case/],
  ['files that differ in Unicode form', [file('é'), file('e\u0301')], TWICE],
  ['a file in the place of the root', [file('.')], /not a file name/],
  ['a link in the place of the root', [link('./.', 'a')], /not a file name/],
  ['a link without a target', [link('a', '')], OUT],
  ['a link through a link', [link('a/b/c', '../..'), link('d', 'a/b/c/../../x')], OUT],
]

const UNREADABLE = /^It is not a whole tar\.gz\.$/
const whole = () => rawTar(file('a', 'x'.repeat(5_000)))
const BROKEN: readonly [sentence: string, bytes: () => Buffer][] = [
  ['an empty body', () => Buffer.alloc(0)],
  ['text', () => Buffer.from('#!/bin/sh\ntouch /tmp/canary.txt\n')],
  ['a ZIP archive', () => Buffer.from('504b0506'.padEnd(44, '0'), 'hex')],
  ['an uncompressed tar', whole],
  ['a tar compressed twice', () => gzipSync(gzipSync(whole()))],
  ['a bzip2 file', () => Buffer.from('425a683931415926535900000000', 'hex')],
  ['a zstd file', () => Buffer.from('28b52ffd0000', 'hex')],
  ['half of a tar', () => gzipSync(whole()).subarray(0, 40)],
  ['a tar truncated within a file', () => gzipSync(whole().subarray(0, 2_000))],
  [
    'a tar with a wrong checksum',
    () => gzipSync(Buffer.concat([whole().subarray(0, 1), Buffer.from('z'), whole().subarray(2)])),
  ],
  ['a tar with a wrong gzip checksum', () => Buffer.concat([gzipSync(whole()).subarray(0, -8), Buffer.alloc(8)])],
  ['a tar of an unknown format', () => gzipSync(rawTar({ ...file('a'), magic: 'strange\0' as never }))],
  [
    'a tar with a negative file size',
    () => gzipSync(rawTar({ name: 'pax', type: 'x', content: paxRecord('size', '-1') }, file('a'))),
  ],
  [
    'a tar with a file size that is not a number',
    () => gzipSync(rawTar({ name: 'pax', type: 'x', content: paxRecord('size', 'many') }, file('a'))),
  ],
]

/** Kinds of entries by paths and spellings, links by targets and spellings, then single cases. */
export const HOSTILE_ARCHIVES: readonly HostileArchive[] = [
  ...PATHS.flatMap(([path, says, spellings = EVERY]) =>
    KINDS.flatMap(([kind, entry]) =>
      spellings.map((spelling) => ({
        sentence: `a ${kind} at ${JSON.stringify(path.slice(0, 24))} in ${spelling}`,
        bytes: () => gzipSync(rawTar(...SPELLINGS[spelling]({ ...entry, name: path }))),
        says,
      })),
    ),
  ),
  ...TARGETS.flatMap((target) =>
    EVERY.map((spelling) => ({
      sentence: `a link to ${target} in ${spelling}`,
      bytes: () => gzipSync(rawTar(...SPELLINGS[spelling](link('l', target)))),
      says: /^The link "l" leads out of the archive\.$/,
    })),
  ),
  ...TYPES.map(([kind, type]) => ({
    sentence: `a ${kind}`,
    bytes: () => gzipSync(rawTar({ name: 'a', type, target: '/tmp/canary.txt' })),
    says: /^"a" is neither a file, nor a folder, nor a symbolic link\.$/,
  })),
  ...CLASHES.map(([sentence, entries, says]) => ({ sentence, bytes: () => gzipSync(rawTar(...entries)), says })),
  {
    sentence: 'an entry after the end of the archive',
    bytes: () => gzipSync(Buffer.concat([rawTar(file('a')), rawTar(file('../canary.txt'))])),
    says: OUT,
  },
  ...BROKEN.map(([sentence, bytes]) => ({ sentence: `not an archive: ${sentence}`, bytes, says: UNREADABLE })),
  ...BOMBS,
]
