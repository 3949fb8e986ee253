import { Readable } from 'node:stream'
import { expect } from 'chai'
import { vectorPorts } from './vector.ts'

describe('vectorPorts', () => {
  const peer = { namespace: 'shop', pod: 'vc-products-0', service: 'vc-products', keys: [] }

  it('send requests through the API server of the cluster with the database', async () => {
    const asked: string[] = []
    const clientOf = (cluster: string) => ({
      request: async ({ path }: { path: string }) => {
        asked.push(`${cluster} ${path}`)
        return { status: 200, body: Readable.from([]) }
      },
    })
    const { vectorEngine } = vectorPorts({
      configuration: { engines: 'real', engineAccess: 'proxy' },
      client: clientOf('own'),
      agents: { clientOf },
    } as never)
    expect(await vectorEngine.ready(peer)).to.equal(true)
    expect(await vectorEngine.ready({ ...peer, clusterId: 'other' })).to.equal(true)
    const path = '/api/v1/namespaces/shop/pods/http:vc-products-0:6333/proxy/readyz'
    expect(asked).to.deep.equal([`own ${path}`, `other ${path}`])
  })
})
