import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'

const ID = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const OTHER = '0e5b1f0c-8a53-4e1a-b7d6-3f7a2c9d4e11'

describe('a boundary given by its display name', () => {
  let commands: CommandsAtServer
  let seen: object[]
  beforeEach(async () => {
    seen = [
      { id: ID, displayName: 'Colleagues' },
      { id: OTHER, displayName: 'Others' },
    ]
    commands = await CommandsAtServer.start(({ url = '' }, response) => {
      const isList = /^\/boundaries(\?.*)?$/.test(url)
      response.writeHead(isList ? 200 : 403, { 'content-type': 'application/json' })
      const refusal = { error: 'The permission boundaries/read is missing at /.', code: 'FORBIDDEN' }
      response.end(JSON.stringify(isList ? { items: seen } : refusal))
    })
  })
  afterEach(() => commands.stop())

  const lines: string[][] = [
    ['get', 'boundary', 'colleagues'],
    ['describe', 'boundary', 'Colleagues'],
    ['get', 'resourcegroups', '-b', 'Colleagues'],
    ['get', 'vc', 'x', '-b', 'Colleagues', '-g', 'shop'],
    ['create', 'resourcegroup', 'shop', '-b', 'Colleagues'],
  ]
  for (const words of lines)
    it(`is answered with its id: ${words.join(' ')}`, async () => {
      await commands.freehold(...words)
      expect(commands.said).to.include(`Boundaries are named by their ids; did you mean ${ID} (Colleagues)?`)
    })

  it('suggests no id if two boundaries have the name or an id was given', async () => {
    seen = seen.map((each) => ({ ...each, displayName: 'Colleagues' }))
    await commands.freehold('get', 'boundary', 'Colleagues')
    expect(commands.said).to.not.include('did you mean')
    await commands.freehold('get', 'boundary', ID)
    expect(commands.said).to.not.include('named by their ids')
  })

  it('is rejected with exit code 2 by `kubeconfig` and `namespaces`', async () => {
    await commands.freehold('setup', '--kubernetes-url', 'https://k.example.com', '-b', 'Colleagues')
    expect(await commands.freehold('kubeconfig')).to.equal(2)
    expect(commands.said).to.match(/^"Colleagues" is not the id of a boundary.*`freehold get boundaries`/)
    expect(await commands.freehold('namespaces', '-b', 'Colleagues')).to.equal(2)
  })

  it('is reported as missing or hidden if `use` receives 404 for its id', async () => {
    seen = []
    const hidden = await CommandsAtServer.start(({ url = '' }, response) => {
      const isList = /^\/boundaries(\?.*)?$/.test(url)
      response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isList ? { items: [] } : { error: 'Not there.', code: 'NOT_FOUND' }))
    })
    expect(await hidden.freehold('use', '-b', ID, '-g', 'shop')).to.equal(2)
    expect(hidden.said).to.match(
      /does not exist, or you may see nothing in it; ask one of its Owners .*create boundary/,
    )
    await hidden.stop()
  })
})
