import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { blocksOf, unseenLine } from '../pages/blocks.ts'
import { hiddenTags } from '../pages/markdown.ts'
import { pagesWithCommands, ROOT } from '../pages/pages.ts'

/** A line that begins with a program that our pages call. */
const PROGRAM_CALL = /^ *(crane|curl|docker|freehold|helm|kubectl|npm|npx|podman|velero) /m

describe('command blocks of documentation pages', () => {
  it('are parsed with their output and the reason why they are not run', () => {
    const page = [
      '```sh',
      'first',
      '```',
      'It prints:',
      '',
      '```text',
      'one',
      '```',
      '   <!-- not run: it needs a printer -->',
      '',
      '   ```sh',
      '   second',
      '     indented',
      '   ```',
      '',
      '<!-- not run: not above the block -->',
      'words',
      '```sh',
      'third',
      '```',
      '```yaml',
      'no: command',
      '```',
    ].join('\n')
    expect(blocksOf(page)).to.deep.equal([
      { line: 2, commands: 'first', seen: ['one'], notRun: undefined },
      { line: 12, commands: 'second\n  indented', seen: [], notRun: 'it needs a printer' },
      { line: 19, commands: 'third', seen: [], notRun: undefined },
    ])
    expect(() => blocksOf('```sh\nopen')).to.throw(/not closed/)
  })

  for (const [what, seen, output, missing] of [
    ['all lines, with others between them', ['a', 'c'], 'a\nb\nc', undefined],
    ['lines in another order', ['c', 'a'], 'a\nb\nc', 'a'],
    ['parts that vary', ['id  …', '…', 'x'], 'id    123\nx', undefined],
    ['wider columns', ['NAME  STATUS'], 'NAME       STATUS', undefined],
    ['characters with a meaning in regular expressions', ['a.b (c)'], 'a.b (c)', undefined],
    ['only part of a line', ['running'], 'not running', 'running'],
  ] as const) {
    it(`are compared with their output: ${what}`, () => expect(unseenLine(seen, output)).to.equal(missing))
  }

  it('are run for more than half of the blocks', () => {
    const all = pagesWithCommands().flatMap(({ blocks }) => blocks)
    // Some are pasted by a test of their own.
    const run = all.filter(({ notRun = 'pastes it' }) => notRun.includes('pastes it'))
    console.log(`      ${run.length} blocks of commands are run, ${all.length - run.length} say why not`)
    expect(run.length).to.be.greaterThan(all.length / 2)
  })

  it('are labelled sh, or no test would see them', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'packages/*/*.md'], { cwd: ROOT })
    const unlabelled = pages.flatMap((path) => {
      const blocks = readFileSync(join(ROOT, path), 'utf8').matchAll(/^( *)```\w*\n([\s\S]*?)^\1```$/gm)
      return [...blocks].flatMap(([block]) =>
        /^ *```(sh)?\n/.exec(block)?.[1] === undefined && PROGRAM_CALL.test(block) ? [`${path}: ${block}`] : [],
      )
    })
    expect(unlabelled).to.deep.equal([])
  })

  it('contain no comments, which zsh would run as words', () => {
    const commented = pagesWithCommands().flatMap(({ path, blocks }) =>
      blocks.filter(({ commands }) => /(^|\s)# /m.test(commands)).map(({ line }) => `${path}:${line}`),
    )
    expect(commented).to.deep.equal([])
  })
})

describe('placeholders of documentation pages', () => {
  for (const [text, hidden] of [
    ['as <collection>/<name> here', ['<collection>', '<name>']],
    ['as `<collection>/<name>` here, at < 5 and > 3', []],
    ['`kubectl -n <namespace>\nwait`', []],
    ['```sh\nkubectl get <kind>\n```\n<!-- not run: why -->', []],
    ['```text\nopen\n```\n<id>\n```text\n```', ['<id>']],
  ] as const) {
    it(`are found as HTML tags outside of code: ${JSON.stringify(text)}`, () =>
      expect(hiddenTags(text)).to.deep.equal(hidden))
  }

  it('are not rendered as HTML tags on any page', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'packages/*/*.md'], { cwd: ROOT })
    const lost = pages.flatMap((path) =>
      hiddenTags(readFileSync(join(ROOT, path), 'utf8')).map((tag) => `${path}: ${tag}`),
    )
    expect(pages.length).to.be.greaterThan(50)
    expect(lost).to.deep.equal([])
  })
})
