import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const PLACE = ['-b', BOUNDARY, '-g', 'shop']

describe('freehold start and stop --wait', () => {
  let commands: CommandsAtServer
  /** The response to the action. */
  let answer: { changed: boolean; status: string }
  let reads: number

  const listener: RequestListener = ({ method }, response) => {
    if (method === 'GET') reads += 1
    const body = method === 'PUT' ? answer : { name: 'one', status: 'Running' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  before(async () => {
    commands = await CommandsAtServer.start(listener)
  })
  after(() => commands.stop())

  const run = (action: string, answered: typeof answer) => {
    answer = answered
    reads = 0
    return commands.freehold(action, 'cti', 'one', ...PLACE, '--wait', '--timeout', '30s')
  }

  it('wait for the accepted change', async () => {
    expect(await run('start', { changed: true, status: 'Updating' }), commands.said).to.equal(0)
    expect(commands.said).to.match(/^cti one: start was accepted\.\ncti one: Running\n/)
  })

  it('wait for a change that was already under way', async () => {
    expect(await run('start', { changed: false, status: 'Updating' }), commands.said).to.equal(0)
    expect(commands.said).to.match(/^cti one: start changed nothing; it is Updating\.\ncti one: Running\n/)
  })

  it('do not wait if the status is already reached', async () => {
    expect(await run('stop', { changed: false, status: 'Stopped' }), commands.said).to.equal(0)
    expect([commands.said, reads]).to.deep.equal(['cti one: stop changed nothing; it is Stopped.\n', 0])
  })

  it('fail at once if nothing is under way', async () => {
    expect(await run('start', { changed: false, status: 'Stopped' }), commands.said).to.equal(6)
    expect(commands.said).to.include('start changed nothing').and.to.include('has not become Running: it is Stopped')
    expect(reads).to.equal(0)
  })
})
