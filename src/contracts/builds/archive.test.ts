import { expect } from 'chai'
import { type ArchiveEntry, ArchiveRefusedError, ArchiveValidator } from './archive.ts'

const LIMITS = { files: 5, fileBytes: 100, bytes: 150 }
const file = (path: string, size = 1): ArchiveEntry => ({ path, type: 'file', size })
const folder = (path: string): ArchiveEntry => ({ path, type: 'directory', size: 0 })
const link = (path: string, target: string): ArchiveEntry => ({ path, type: 'symlink', size: 0, target })
const of = (type: string): ArchiveEntry => ({ path: 'a', type, size: 0, target: 'b' })

function verdict(entries: readonly ArchiveEntry[]): string {
  const judge = new ArchiveValidator(LIMITS)
  try {
    return entries.map((entry) => judge.admit(entry).path).join(' ')
  } catch (error) {
    if (error instanceof ArchiveRefusedError) return `refused: ${error.message}`
    throw error
  }
}

describe('ArchiveValidator', () => {
  const admitted: [sentence: string, entries: ArchiveEntry[], paths: string][] = [
    ['accepts files and folders', [folder('a/'), file('a/b')], 'a a/b'],
    ['accepts a file without an entry for its folder', [file('a/b/c')], 'a/b/c'],
    ['accepts a folder twice', [folder('a'), folder('a/')], 'a a'],
    ['accepts an entry for its root', [folder('./'), file('./a')], ' a'],
    ['accepts a link to a sibling', [file('a/b'), link('a/c', 'b')], 'a/b a/c'],
    ['accepts a link to a parent folder inside of the archive', [link('a/b', '../c')], 'a/b'],
    ['accepts a link to its root', [link('a/b', '..')], 'a/b'],
    ['accepts a link to a missing file', [link('a', 'nothing')], 'a'],
    ['accepts the largest allowed archive', [file('a', 100), file('b', 50)], 'a b'],
  ]
  for (const [sentence, entries, paths] of admitted) it(sentence, () => expect(verdict(entries)).to.equal(paths))

  const out = ['../a', 'a/../../b', '..', 'a/..', './../a', 'a/b/../../../c']
  const absolute = ['/a', '//a', 'C:\\a', 'c:/a']
  const odd = [
    'a\\b',
    'a\0b',
    'a\nb',
    'a\u001bb',
    '..\\a',
    `${'a'.repeat(256)}`,
    'a/'.repeat(65),
    'a'.repeat(1025),
    'é'.repeat(128),
    'a\u202egnp.js',
    'inde\u200bx.js',
    '\ufeffindex.js',
    'a/ /b',
  ]
  const types = ['link', 'character-device', 'block-device', 'fifo', 'socket', 'gnu-long-path', 'whatever']
  const targets = [
    '/etc/passwd',
    '..',
    '../a',
    'a/../../b',
    './..',
    'a/..',
    'a/b/../c',
    '',
    '\0',
    'x'.repeat(1025),
    '../../../run/build',
  ]
  const sizes = [-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 60, 101]
  const clashes: ArchiveEntry[][] = [
    [file('a'), file('a')],
    [file('a'), file('A')],
    [file('é'), file('e\u0301')],
    [folder('a'), file('a')],
    [file('a'), folder('a')],
    [file('a/b'), file('A/c')],
    [folder('a'), folder('A')],
    [file('a'), file('./a')],
    [file('a'), file('a/b')],
    [link('a', 'b'), file('a/c')],
    [link('a', 'b'), file('a')],
    [link('a', 'b'), folder('a/c')],
    [link('a', 'b'), link('a', 'c')],
    [file('a'), link('a', 'b')],
    [link('A', 'b'), file('a/c')],
  ]
  const many: ArchiveEntry[][] = [
    [1, 2, 3, 4, 5, 6].map((number) => file(`f${number}`)),
    [1, 2, 3, 4, 5, 6].map(() => folder('a')),
    [file('a', 100), file('b', 51)],
  ]
  const chains: ArchiveEntry[][] = [
    [link('a/b/c', '../..'), link('d', 'a/b/c/../x')],
    [link('a', '.'), link('b', 'a/..')],
    [link('a', 'b'), link('b', 'a'), file('a/x')],
  ]
  const hostile: [what: string, entries: ArchiveEntry[]][] = [
    ...[...out, ...absolute, ...odd].map((path): [string, ArchiveEntry[]] => [
      `a file ${JSON.stringify(path.slice(0, 20))} of ${path.length} characters`,
      [file(path)],
    ]),
    ...[...out, ...absolute].map((path): [string, ArchiveEntry[]] => [
      `a folder ${JSON.stringify(path)}`,
      [folder(path)],
    ]),
    ...[...out, ...absolute].map((path): [string, ArchiveEntry[]] => [
      `a link at ${JSON.stringify(path)}`,
      [link(path, 'b')],
    ]),
    ...types.map((type): [string, ArchiveEntry[]] => [`a ${type}`, [of(type)]]),
    ...targets.map((target): [string, ArchiveEntry[]] => [
      `a link to ${JSON.stringify(target.slice(0, 20))}`,
      [link('l', target)],
    ]),
    ...targets
      .slice(1, 5)
      .map((target): [string, ArchiveEntry[]] => [`a link below to ${target}`, [link('d/l', `../${target}`)]]),
    ...sizes.map((size): [string, ArchiveEntry[]] => [`a file of ${size} bytes`, [file('a', size)]]),
    ...clashes.map((entries): [string, ArchiveEntry[]] => [
      `${entries.map(({ path, type }) => `${type} ${path}`).join(', then ')}`,
      entries,
    ]),
    ...many.map((entries): [string, ArchiveEntry[]] => [
      `${entries.length} entries such as ${entries[0]?.path}`,
      entries,
    ]),
    ...chains.map((entries): [string, ArchiveEntry[]] => [
      `a chain of links, the last to ${entries.at(-1)?.target ?? 'a file'}`,
      entries,
    ]),
  ]
  for (const [what, entries] of hostile) {
    it(`rejects ${what}`, () => expect(verdict(entries)).to.match(/^refused: \S.{8,}\.$/s))
  }
})
