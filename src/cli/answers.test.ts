import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'
import { OPERATIONS, type Operation } from '../client/index.ts'
import type { CollectionRoute, GivenArguments } from './collection.ts'
import { chooseRoute, deriveCollections, findCollection, literalsOf } from './collections.ts'

const ZIP = Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe, 0x80, 0])
const FUNCTION = ['function', 'web1', '-b', 'b', '-g', 'g', '-p', 'namespaceName=hooks']

describe('freehold with responses that are not JSON', () => {
  let commands: CommandsAtServer
  let asked: string[]

  beforeEach(async () => {
    asked = []
    const listener: RequestListener = ({ url = '' }, response) => {
      asked.push(url)
      if (url.endsWith('/source')) response.writeHead(200, { 'content-type': 'application/zip' }).end(ZIP)
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"web1","status":"Running"}')
    }
    commands = await CommandsAtServer.start(listener)
  })
  afterEach(() => commands.stop())

  it('leaves them out of `describe` and names the command that reads them', async () => {
    expect(await commands.freehold('describe', ...FUNCTION), commands.said).to.equal(0)
    expect(commands.said).to.include('freehold read function web1 source -b b -g g -p namespaceName=hooks > FILE')
    expect(asked.filter((url) => url.endsWith('/source'))).to.deep.equal([])
  })

  for (const words of [
    ['read', 'function', 'web1', 'source', ...FUNCTION.slice(2)],
    ['call', 'GET', '/x/source'],
  ]) {
    it(`writes the bytes unchanged: \`${words[0]}\``, async () => {
      expect(await commands.freehold(...words), commands.said).to.equal(0)
      expect(Buffer.from(commands.said, 'latin1')).to.deep.equal(ZIP)
    })

    it(`rejects \`-o yaml\`: \`${words[0]}\``, async () => {
      expect(await commands.freehold(...words, '-o', 'yaml')).to.equal(2)
      expect(commands.said).to.equal('The answer is application/zip: --output is for records.\n')
    })

    it(`refuses to write to a terminal: \`${words[0]}\``, async () => {
      expect(await commands.atTerminal(...words)).to.equal(2)
      expect(commands.said).to.equal('The answer is application/zip, which is not for a terminal: add `> FILE`.\n')
    })
  }
})

describe('-o name', () => {
  for (const [sentence, words, said] of [
    ['prints the ids of the items of a page', ['call', 'GET', '/boundaries', '-o', 'name'], 'one\ntwo\n'],
    [
      'prints the name of the resource after `scale`',
      ['scale', 'vc', 'r1', '2', '-b', 'b', '-g', 'g', '-o', 'name'],
      'r1\n',
    ],
  ] as const) {
    it(sentence, async () => {
      const commands = await CommandsAtServer.start(({ url = '' }, response) => {
        const items = [{ id: 'one' }, { id: 'two' }]
        response.end(JSON.stringify(url.endsWith('/scale') ? { targetScale: 2 } : { items }))
      })
      expect(await commands.freehold(...words), commands.said).to.equal(0)
      expect(commands.said).to.equal(said)
      await commands.stop()
    })
  }
})

describe('freehold describe, with secrets', () => {
  const collections = deriveCollections()
  const operations: readonly Operation[] = Object.values(OPERATIONS)
  const operationAt = (path: string) => operations.find((each) => each.method === 'GET' && isAt(each.path, path))
  const isAt = (template: string, path: string) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)

  /** Every response except lists contains a secret: routes of data are marked by `isData`, all others by `no-store`. */
  const listener: RequestListener = ({ url = '' }, response) => {
    const path = url.split('?')[0] ?? ''
    const operation = operationAt(path)
    const isList =
      operation?.paged === true || collections.some(({ routes }) => routes.some((route) => isListAt(route, path)))
    const mark = isList || operation?.isData === true ? {} : { 'cache-control': 'no-store' }
    response.writeHead(200, { 'content-type': 'application/json', ...mark })
    response.end(JSON.stringify(isList ? { items: [{ name: 'x', id: 'x' }] } : { name: 'x', id: 'x', value: 'hush' }))
  }
  const isListAt = ({ verb, path }: CollectionRoute, at: string) => verb === 'list' && isAt(path, at)

  it('never prints the secret of any route that it reads', async () => {
    const commands = await CommandsAtServer.start(listener)
    let described = 0
    for (const { noun, routes } of collections) {
      for (const route of routes.filter(({ verb }) => verb === 'get')) {
        const outer = route.parameters.filter((name) => name !== route.nameParameter)
        const word = [literalsOf(route.path)[0], noun].filter(Boolean).join('/')
        const given = outer.flatMap((name) => ['-p', `${name}=p`])
        const code = await commands.freehold('describe', word, 'x', ...given)
        expect(code, `${word}: ${commands.said}`).to.be.oneOf([0, 2])
        expect(commands.said, word).to.not.include('hush')
        if (code === 0) described += 1
      }
    }
    await commands.stop()
    expect(described).to.be.greaterThan(40)
  })

  it('names the command that prints the secret', async () => {
    const commands = await CommandsAtServer.start(listener)
    const secret = ['secret', 'x', '-b', 'b', '-g', 'g', '-p', 'resourceName=v']
    expect(await commands.freehold('describe', ...secret), commands.said).to.equal(0)
    expect(commands.said).to.include(`freehold get ${secret.join(' ')}`)
    await commands.stop()
  })
})

describe('chooseRoute with a kind that exists in several collections', () => {
  it('chooses the same collection for create, patch and delete', () => {
    const collections = deriveCollections()
    const given: GivenArguments = { boundary: 'b', group: 'g', name: 'n' }
    const found = findCollection('sources', collections)
    for (const verb of ['create', 'patch', 'delete'] as const)
      expect(() => chooseRoute(found, verb, given)).to.throw(
        /cannot .* sources[;.].* did you mean blueprints\/sources\?/s,
      )
    const { route } = chooseRoute(findCollection('blueprints/sources', collections), 'create', { boundary: 'b' })
    expect(route.path).to.equal('/boundaries/{boundaryId}/resources/blueprints/sources')
  })
})
