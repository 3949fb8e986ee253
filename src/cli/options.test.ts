import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'
import { optionsOf } from './command.ts'
import { COMMANDS } from './commands/index.ts'

/** Values that are used only after the request. */
const WRONG: Readonly<Record<string, string>> = { timeout: 'soon', output: 'jsonpath={.status' }

describe('invalid options of commands', () => {
  const cases = COMMANDS.flatMap((command) =>
    optionsOf(command).flatMap(({ long, check }) => (check === undefined ? [] : [{ command, long }])),
  )

  for (const { command, long } of cases) {
    it(`are rejected before any request: ${command.name} --${long}`, async () => {
      let requests = 0
      const commands = await CommandsAtServer.start((_request, response) => {
        requests += 1
        response.end('{}')
      })
      const words = (command.positionals ?? []).map(({ name }) => (name === 'REPLICAS' ? '2' : 'x'))
      expect(await commands.freehold(command.name, ...words, `--${long}`, WRONG[long] ?? ''), commands.said).to.equal(2)
      expect(commands.said).to.match(/a time such as|unmatched brace/)
      expect(requests).to.equal(0)
      await commands.stop()
    })
  }

  it('are checked for all commands that write', () => {
    const names = cases.map(({ command, long }) => `${command.name} ${long}`)
    expect(names).to.include.members([
      'create timeout',
      'create output',
      'scale output',
      'apply timeout',
      'delete timeout',
    ])
  })

  it('include a path whose parameters have no value', async () => {
    const commands = await CommandsAtServer.start((_request, response) => response.end('{}'))
    expect(await commands.freehold('call', 'GET', '/boundaries/{boundaryId}/members')).to.equal(2)
    expect(commands.said).to.equal(
      'Write a value for {boundaryId}: only {boundary} and {group} have one, that of `freehold use`.\n',
    )
    await commands.stop()
  })

  it('include --data with a GET', async () => {
    const commands = await CommandsAtServer.start((_request, response) => response.end('{}'))
    expect(await commands.freehold('call', 'GET', '/boundaries', '-d', '{}')).to.equal(2)
    expect(commands.said).to.equal('GET takes no body: leave --data out.\n')
    await commands.stop()
  })
})
