import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, createServer, type Server } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { BOUNDARY, connectTo, startActivator } from '../../test/worlds/activatorWorld.ts'
import type { RemoteCopy } from '../contracts/remoteCopies.ts'
import { messageOf } from '../core/errors.ts'
import { connectToCopy, limitClusterConnections } from './copyConnection.ts'

const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const triggers = [{ name: 'web', kind: 'Http' as const, path: '/echo', authLevel: 'Anonymous' as const }]
const echo: RequestListener = async (request, response) => void response.end((await text(request)).toUpperCase())

describe('calls of a function in another cluster', () => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })

  /** Also returns the copies to which connections were requested. */
  async function world(given: Parameters<typeof startActivator>[1] = {}) {
    const asked: RemoteCopy[] = []
    const reach = given.reach ?? connectTo
    const activator = await startActivator(echo, {
      ...{ startMilliseconds: 1, clusterId: CLUSTER, ...given },
      reach: (copy) => {
        asked.push(copy)
        return reach(copy)
      },
    })
    ends.push(() => activator.stop())
    return { activator, asked }
  }

  it('belong to the boundary of the function, or to its group while it is unknown', async () => {
    const { activator } = await world()
    expect(activator.switchboard.tenantOf('group/shop.echo')).to.equal('group')
    activator.put('echo', { spec: { triggers } })
    expect(activator.switchboard.tenantOf('group/shop.echo')).to.equal(BOUNDARY)
  })

  it('wake a copy and use one connection each to its pod', async () => {
    const { activator, asked } = await world()
    activator.put('echo', { spec: { triggers } })
    const answers = await Promise.all(
      ['one', 'two'].map((body) => activator.call('/echo', { method: 'POST', headers: {}, body })),
    )
    expect(answers.map((answer) => [answer.status, answer.text])).to.deep.equal([
      [200, 'ONE'],
      [200, 'TWO'],
    ])
    expect(asked).to.have.length(2)
    expect(asked[0]).to.deep.include({ namespace: 'group', name: 'shop.echo', clusterId: CLUSTER })
  })

  it('are retried if the connection to the copy failed before anything was sent', async () => {
    let isAway = true
    const { activator, asked } = await world({
      async reach(copy) {
        if (!isAway) return connectTo(copy)
        isAway = false
        throw new Error('The agent of the cluster is not connected.')
      },
    })
    activator.put('echo', { spec: { triggers } })
    const answer = await activator.call('/echo', { method: 'POST', body: 'words' })
    expect([answer.status, answer.text, asked.length]).to.deep.equal([200, 'WORDS', 2])
  })

  it('receive 504 if the cluster does not answer within timeoutSeconds', async () => {
    const { activator } = await world({ reach: () => new Promise(() => {}) })
    activator.put('echo', { spec: { triggers, timeoutSeconds: 1 } })
    expect((await activator.call('/echo')).status).to.equal(504)
  })

  it('receive 502 and are not retried if the connection breaks after they were sent', async () => {
    const breaking = createServer((socket) => socket.once('data', () => socket.destroy()))
    await listening(breaking)
    const { port } = breaking.address() as { port: number }
    const { activator, asked } = await world({ reach: async () => connect(port, '127.0.0.1') })
    activator.put('echo', { spec: { triggers } })
    expect((await activator.call('/echo')).status).to.equal(502)
    expect(asked).to.have.length(1)
    breaking.close()
  })

  it('open no connection without a valid token', async () => {
    const { activator, asked } = await world()
    activator.put('echo', { spec: { triggers: [{ ...triggers[0], authLevel: 'Platform' }] as never } })
    expect((await activator.call('/echo')).status).to.equal(401)
    expect([asked, activator.asked]).to.deep.equal([[], []])
  })

  it('close a connection that opened after the call was aborted', async () => {
    const server = createServer()
    await listening(server)
    const { port } = server.address() as { port: number }
    const late = Promise.withResolvers<void>()
    const socket = connect(port, '127.0.0.1')
    const over = new AbortController()
    const way = connectToCopy(
      `/functions/group/shop.echo/copies/${CLUSTER}/pod-1`,
      () => late.promise.then(() => socket),
      over.signal,
    )
    over.abort(new Error('The caller has gone.'))
    expect(await way.catch((error: Error) => error.message)).to.contain('gone')
    late.resolve()
    await until('it is closed', () => socket.destroyed)
    server.close()
  })
})

describe('limitClusterConnections in the activator', () => {
  const copy = { namespace: 'group', name: 'shop.echo', clusterId: CLUSTER, pod: 'pod-1' }
  const ownTenant = ({ namespace }: RemoteCopy) => namespace
  const said = (opening: Promise<unknown>) => opening.then(() => 'opened', messageOf)

  it('limits the connections to one cluster until one closes', async () => {
    const reach = limitClusterConnections(async () => new PassThrough(), ownTenant, 2)
    const other = { ...copy, namespace: 'other' }
    const [first] = await Promise.all([reach(copy), reach(other)])
    expect(await said(reach({ ...copy, namespace: 'third' }))).to.contain('2 calls to cluster')
    expect(await said(reach({ ...copy, clusterId: 'another' }))).to.equal('opened')
    const closed = once(first as PassThrough, 'close')
    first?.destroy()
    await closed
    expect(await said(reach(copy))).to.equal('opened')
  })

  it('leaves room for other tenants although one tenant has many groups and calls', async () => {
    const tenantOf = ({ namespace }: RemoteCopy) => namespace.replace(/-.*/, '')
    const reach = limitClusterConnections(async () => new PassThrough(), tenantOf, 10)
    const opened = async (namespace: string) => {
      const all = await Promise.all(Array.from({ length: 20 }, () => said(reach({ ...copy, namespace }))))
      return all.filter((each) => each === 'opened').length
    }
    const groups = ['greedy', 'greedy-second', 'greedy-third', 'second', 'third']
    const counts = []
    for (const group of groups) counts.push(await opened(group))
    expect(counts).to.deep.equal([5, 0, 0, 3, 1])
  })

  it('does not count a connection that could not be opened', async () => {
    const reach = limitClusterConnections(() => Promise.reject(new Error('away')), ownTenant, 1)
    expect([await said(reach(copy)), await said(reach(copy))]).to.deep.equal(['away', 'away'])
  })
})

async function listening(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
}
