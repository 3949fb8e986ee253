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
    expect(asked).to.deep.equal(['apps/shop/revisions/1/diff/2', 'apps/shop/revisions', 'apps/shop/deployments/config'])
    expect(await read('revisions/1/diff')).to.equal(2)
    await commands.stop()
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
