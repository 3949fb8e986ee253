import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { VERBS } from '../../src/cli/collection.ts'
import { chooseRoute, deriveCollections, findCollection } from '../../src/cli/collections.ts'
import { type Command, type Input, parseCommandLine } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands/index.ts'
import { findSubresourceRoute, listSubresourceRoutes } from '../../src/cli/requests.ts'
import { parsePairs } from '../../src/cli/text.ts'
import { RESOURCE_KINDS } from '../../src/client/index.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const COLLECTIONS = deriveCollections()

const pages = [
  'README.md',
  'examples/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('adr'))
    .map((path) => join('docs', path)),
]

/** A command line, and whether it is in a sentence, which may leave out context. */
type Found = { readonly line: string; readonly isMention: boolean }

function commandsIn(text: string): Found[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.replaceAll('\\\n', ' '))
  const outside = text.replaceAll(/```[\s\S]*?```/g, '')
  const inBlocks = blocks.flatMap(
    (block) => block.match(/(?<=^|[;&|(] *)freehold (?:'[^']*'|"[^"]*"|[^\n;&|)>'"])*/gm) ?? [],
  )
  const inline = [...outside.matchAll(/`(freehold [^`]+)`/g)].map(([, found = '']) => found)
  return [
    ...inBlocks.map((line) => ({ line: line.trim(), isMention: false })),
    ...inline.map((line) => ({ line: line.trim(), isMention: true })),
  ]
}

/** Split as by a shell, for what pages need. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replaceAll(/['"]/g, ''))

/** Replaces what the reader must insert. */
const isPlaceholder = (word = '') => /^(KIND|NAME|WHAT|\.\.\.)$/.test(word) || /^\[|^\$/.test(word)

/** @throws for a command line that the command line itself would reject */
function judge({ line, isMention }: Found): void {
  const [, name = '', ...words] = wordsOf(line.replaceAll(/\s\[[A-Z ]+\]/g, ''))
  if (/^[A-Z]+$|^\.\.\.$/.test(name)) return
  const command = findCommand(name === '--version' ? 'version' : name)
  const input = inputOf(command, words, isMention)
  const at = command.positionals?.findIndex(({ offers }) => offers === 'kinds') ?? -1
  const kind = input?.positionals[at]
  if (input === undefined || kind === undefined || isPlaceholder(kind)) return
  const collection = findCollection(kind, COLLECTIONS)
  if (name === 'read') judgeRead(input, collection)
}

function inputOf(command: Command, words: readonly string[], isMention: boolean): Input | undefined {
  try {
    return parseCommandLine(command, words)
  } catch (error) {
    if (isMention && /is missing\. Usage: |argument missing/.test((error as Error).message)) return undefined
    throw error
  }
}

function judgeRead(input: Input, collection: ReturnType<typeof findCollection>): void {
  const [, thing, what] = input.positionals
  if (what === undefined || isPlaceholder(what)) return
  const parameters = Object.fromEntries(parsePairs('param', input.all('param')))
  const target = chooseRoute(collection, 'get', { name: thing, boundary: 'b', group: 'g', parameters })
  const there = listSubresourceRoutes(target, 'GET')
  if (findSubresourceRoute(there, what) !== undefined) return
  throw new Error(`there is no "${what}" of ${collection.noun}, only ${there.map(({ words }) => words).join(', ')}`)
}

describe('commands that pages name', () => {
  it('are read by the command line, name kinds that there are, and what can be read of them', () => {
    const all = pages.flatMap((page) =>
      commandsIn(readFileSync(join(ROOT, page), 'utf8')).map((found) => ({ page, found })),
    )
    expect(all.length).to.be.greaterThan(120)
    const wrong = all.flatMap(({ page, found }) => {
      try {
        judge(found)
        return []
      } catch (error) {
        return [`${page}: ${found.line}: ${(error as Error).message}`]
      }
    })
    expect(wrong).to.deep.equal([])
  })

  it('are refused where they are wrong', () => {
    for (const line of [
      'freehold gt vc x',
      'freehold get vcc x',
      'freehold get vc x --al',
      'freehold read relc x connectioninfo',
    ])
      expect(() => judge({ line, isMention: true }), line).to.throw()
  })

  it('have a name for each kind that REST has', () => {
    for (const kind of RESOURCE_KINDS)
      if ('collection' in kind && VERBS.length > 0 && COLLECTIONS.some(({ noun }) => noun === kind.collection))
        expect(findCollection(kind.kind, COLLECTIONS).noun).to.equal(kind.collection)
  })
})
