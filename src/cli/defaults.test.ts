import { readFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`

describe('default boundary and group of the CLI', () => {
  let commands: CommandsAtServer
  /** GET of paths below this one is answered with 404. */
  let gone: string

  beforeEach(async () => {
    gone = 'nothing'
    const listener: RequestListener = ({ url = '', method }, response) => {
      const isGone = method === 'GET' && url.startsWith(gone)
      const item = { items: [{ name: 'shop' }], pagination: { hasNextPage: false } }
      response
        .writeHead(isGone ? 404 : 200)
        .end(JSON.stringify(isGone ? { error: 'Not there.', code: 'NOT_FOUND' } : item))
    }
    commands = await CommandsAtServer.start(listener, { setup: () => ['-b', BOUNDARY, '-g', 'shop'] })
  })
  afterEach(() => commands.stop())

  const freehold = (...words: string[]) => commands.freehold(...words)
  const settings = async () => JSON.parse(await readFile(join(commands.home, '.config/freehold/config.json'), 'utf8'))

  it('are named in the error, with the command that clears them, if they no longer exist', async () => {
    gone = GROUP
    expect(await freehold('get', 'vc', 'x')).to.equal(1)
    expect(commands.said).to.match(
      /default resource group "shop" no longer exists: `freehold use --group ''` clears it/,
    )
    gone = `/boundaries/${BOUNDARY}`
    expect(await freehold('get', 'vc', 'x')).to.equal(1)
    expect(commands.said).to.match(
      /default boundary .* no longer exists, or you may see nothing in it: ask one of its Owners/,
    )
  })

  it('are not named in the error if only the resource is missing', async () => {
    gone = `${GROUP}/resources/vectorclusters/x`
    expect(await freehold('get', 'vc', 'x')).to.equal(1)
    expect(commands.said).to.not.include('default')
  })

  it('are not named in the error if the command line names the place', async () => {
    gone = GROUP
    expect(await freehold('get', 'vc', 'x', '-b', BOUNDARY, '-g', 'shop')).to.equal(1)
    expect(commands.said).to.not.include('default')
  })

  it('are cleared when the boundary or group itself is deleted', async () => {
    await freehold('delete', 'rg', 'other')
    expect(await settings()).to.include({ boundary: BOUNDARY, group: 'shop' })
    await freehold('delete', 'rg', 'shop')
    expect(commands.said).to.include('It was your default resource group')
    expect(await settings())
      .to.include({ boundary: BOUNDARY })
      .and.to.not.have.property('group')
    await freehold('delete', 'boundary', BOUNDARY, '--yes')
    expect(await settings()).to.not.have.property('boundary')
  })
})
