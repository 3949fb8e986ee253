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

/** A command line; a mention in a sentence may be incomplete. */
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

/** Splits like a shell, as far as the pages need it. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replaceAll(/['"]/g, ''))

/** A placeholder that the reader replaces. */
const isPlaceholder = (word = '') => /^(KIND|NAME|WHAT|\.\.\.)$/.test(word) || /^\[|^\$/.test(word)

/** @throws if the CLI rejects the command line */
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

describe('freehold commands on documentation pages', () => {
  it('are valid, with kinds and subresources that exist', () => {
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

  it('are rejected by the check if they are wrong', () => {
    for (const line of [
      'freehold gt vc x',
      'freehold get vcc x',
      'freehold get vc x --al',
      'freehold read relc x connectioninfo',
    ])
      expect(() => judge({ line, isMention: true }), line).to.throw()
  })

  it('may use the name of every kind that has a collection', () => {
    for (const kind of RESOURCE_KINDS)
      if ('collection' in kind && VERBS.length > 0 && COLLECTIONS.some(({ noun }) => noun === kind.collection))
        expect(findCollection(kind.kind, COLLECTIONS).noun).to.equal(kind.collection)
  })
})
