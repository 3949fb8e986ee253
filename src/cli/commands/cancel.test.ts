import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

const PLACE = ['-b', 'b', '-g', 'g']

describe('freehold cancel', () => {
  let commands: CommandsAtServer
  let writes: string[]
  let items: { id: string; phase: string; source?: string }[]

  beforeEach(async () => {
    writes = []
    items = []
    commands = await CommandsAtServer.start(({ method = '', url = '' }, response) => {
      const { pathname } = new URL(url, 'http://localhost')
      if (method !== 'GET') writes.push(`${method} ${pathname.split('/resources/')[1]}`)
      const body = method === 'GET' ? { items } : { phase: 'Cancelled' }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  afterEach(() => commands.stop())

  const cancel = (...words: string[]) => commands.freehold('cancel', ...words, ...PLACE)

  it('cancels a job by its own route', async () => {
    expect(await cancel('job', 'report'), commands.said).to.equal(0)
    expect(writes).to.deep.equal(['POST jobs/report/cancel'])
    expect(await cancel('job', 'report', 'd')).to.equal(2)
  })

  it('cancels the newest deployment under way, or the given one', async () => {
    items = [
      { id: 'newest', phase: 'Failed' },
      { id: 'open', phase: 'Building' },
      { id: 'older', phase: 'Queued' },
    ]
    expect(await cancel('app', 'shop'), commands.said).to.equal(0)
    expect(await cancel('staticwebapp', 'docs', 'older'), commands.said).to.equal(0)
    expect(writes).to.deep.equal(['DELETE apps/shop/deployments/open', 'DELETE staticwebapps/docs/deployments/older'])
  })

  it('cancels the deployment of the given function only', async () => {
    items = [
      { id: 'other', phase: 'Building', source: 'functions/other' },
      { id: 'own', phase: 'Queued', source: 'functions/hello' },
    ]
    expect(await cancel('function', 'hello', '-p', 'namespaceName=calls'), commands.said).to.equal(0)
    expect(writes).to.deep.equal(['DELETE functionnamespaces/calls/deployments/own'])
  })

  it('says that no deployment is under way, or that the kind cannot be cancelled', async () => {
    items = [{ id: 'newest', phase: 'Succeeded' }]
    expect(await cancel('app', 'shop')).to.equal(1)
    expect(commands.said).to.include('No deployment of app shop waits or is being built.')
    expect(await cancel('vectorcluster', 'products')).to.equal(2)
    expect(commands.said).to.include('vectorclusters have nothing that can be cancelled.')
    expect(writes).to.deep.equal([])
  })
})
