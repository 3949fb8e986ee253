import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

describe('freehold read', () => {
  it('fills in the parameters of a subresource from its words', async () => {
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

describe('freehold read of a list', () => {
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
    it(`prints a table of the items: ${format}`, async () => {
      const said = await told({ items, pagination }, '-o', format)
      expect(said).to.include('NAME  STATUS\na     Running\nb     Failed\n').and.not.include('pagination')
      expect(said).to.include('2 of 3 items.')
    })
  it('prints the response as JSON, or only the names', async () => {
    expect(JSON.parse(await told({ items, pagination }, '-o', 'json'))).to.deep.equal({ items, pagination })
    expect(await told({ items, pagination: { ...pagination, hasNextPage: false } }, '-o', 'name')).to.equal('a\nb\n')
  })
  it('prints "No items found." for an empty list', async () => {
    const none = { ...pagination, totalItems: 0, hasNextPage: false }
    expect(await told({ items: [], pagination: none }, '-o', 'table')).to.equal('No items found.\n')
  })
  it('prints a record that has items and other fields as a record', async () => {
    expect(await told({ name: 'a', items }, '-o', 'table')).to.match(/^name +a$/m)
  })
})

describe('freehold logs', () => {
  it('names the command that lists the components if none is given', async () => {
    const commands = await CommandsAtServer.start((_request, response) => response.end('{}'))
    expect(await commands.freehold('logs', 'cti', 'shop', '-b', 'b', '-g', 'g')).to.equal(2)
    expect(commands.said).to.include('name one; `freehold list crates -p name=shop` lists them.')
    await commands.stop()
  })
})
