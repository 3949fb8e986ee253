import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

describe('read', () => {
  it('takes names in the place of what stands in braces', async () => {
    const asked: string[] = []
    const commands = await CommandsAtServer.start(({ url = '' }, response) => {
      asked.push(url.split('/resources/')[1] ?? '')
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    const read = (...words: string[]) => commands.freehold('read', 'app', 'shop', ...words, '-b', 'b', '-g', 'g')
    expect(await read('revisions/1/diff/2'), commands.said).to.equal(0)
    expect(await read('revisions'), commands.said).to.equal(0)
    expect(await read('deployments/config'), commands.said).to.equal(0)
    expect(asked).to.deep.equal([
      'apps/shop/revisions/1/diff/2',
      'apps/shop/revisions?pageSize=500',
      'apps/shop/deployments/config',
    ])
    expect(await read('revisions/1/diff')).to.equal(2)
    await commands.stop()
  })
})

describe('read of a list', () => {
  const items = [
    { name: 'a', status: 'Running' },
    { name: 'b', status: 'Failed' },
  ]
  const pagination = { page: 1, pageSize: 2, totalItems: 3, totalPages: 2, hasNextPage: true, hasPreviousPage: false }
  const told = async (page: object, ...words: string[]) => {
    const commands = await CommandsAtServer.start((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
    })
    expect(await commands.freehold('read', 'app', 'shop', 'deployments', '-b', 'b', '-g', 'g', ...words)).to.equal(0)
    await commands.stop()
    return commands.said
  }

  for (const format of ['table', 'wide'])
    it(`is a table of what is in it: ${format}`, async () => {
      const said = await told({ items, pagination }, '-o', format)
      expect(said).to.include('NAME  STATUS\na     Running\nb     Failed\n').and.not.include('pagination')
      expect(said).to.include('2 of 3 items.')
    })
  it('is what came as JSON, and the names alone as names', async () => {
    expect(JSON.parse(await told({ items, pagination }, '-o', 'json'))).to.deep.equal({ items, pagination })
    expect(await told({ items, pagination: { ...pagination, hasNextPage: false } }, '-o', 'name')).to.equal('a\nb\n')
  })
  it('says that nothing is in it', async () => {
    const none = { ...pagination, totalItems: 0, hasNextPage: false }
    expect(await told({ items: [], pagination: none }, '-o', 'table')).to.equal('No items found.\n')
  })
  it('is no list where a record has items beside its own fields', async () => {
    expect(await told({ name: 'a', items }, '-o', 'table')).to.match(/^name +a$/m)
  })
})

describe('logs', () => {
  it('say how the parts are found that have one each', async () => {
    const commands = await CommandsAtServer.start((_request, response) => response.end('{}'))
    expect(await commands.freehold('logs', 'cti', 'shop', '-b', 'b', '-g', 'g')).to.equal(2)
    expect(commands.said).to.include('name one; `freehold list crates -p name=shop` lists them.')
    await commands.stop()
  })
})
