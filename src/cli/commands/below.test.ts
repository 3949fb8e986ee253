import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

describe('logs', () => {
  it('say how the parts are found that have one each', async () => {
    const commands = await CommandsAtServer.start((_request, response) => response.end('{}'))
    expect(await commands.freehold('logs', 'cti', 'shop', '-b', 'b', '-g', 'g')).to.equal(2)
    expect(commands.said).to.include('name one; `freehold list crates -p name=shop` lists them.')
    await commands.stop()
  })
})
