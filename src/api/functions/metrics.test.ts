import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'

const SHOP = groupNamespace(B, 'shop')

describe('metrics of a function', () => {
  it('name all that there may be, and say that nothing keeps it', async () => {
    const server = await startShop()
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs' }, SHOP)
    const spec = { namespaceName: 'home', functionName: 'hello', handler: 'index' }
    server.put(ServerlessFunction, 'home.hello', spec, SHOP)
    const base = `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/home/functions`
    const ask = (path: string) => server.ask('get', `${base}/${path}`)
    const { status, body } = await ask('hello/metrics?step=5m')
    const missing = await ask('nobody/metrics')
    const twice = await ask('hello/metrics?step=5m&stepSeconds=300')
    await server.stop()
    expect(status, JSON.stringify(body)).to.equal(200)
    expect([body.isComplete, body.stepSeconds]).to.deep.equal([false, 300])
    const shown = body.series.map((one: { name: string; unit: string }) => `${one.name} ${one.unit}`)
    expect(shown).to.deep.equal([
      ...['Invocations 1/s', 'Errors 1/s', 'Throttles 1/s'],
      ...['DurationP50 ms', 'DurationP95 ms', 'DurationP99 ms'],
      ...['ColdStarts 1/s', 'Replicas count', 'CpuUsage cores', 'MemoryUsage bytes'],
    ])
    const values = body.series.map(({ points }: { points: { value: number }[] }) => points[0]?.value ?? null)
    expect(values).to.deep.equal([null, null, null, null, null, null, null, 0, null, null])
    expect([missing.status, twice.status]).to.deep.equal([404, 400])
  })
})
