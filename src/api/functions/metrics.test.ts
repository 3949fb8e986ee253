import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
import type { CallFigures } from '../../adapters/calls/port.ts'
import { timestamp } from '../../core/clock.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'

const SHOP = groupNamespace(B, 'shop')

const BASE = `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/home/functions`
type Shown = { name: string; unit: string; points: { timestamp: string; value: number }[] }

async function startHome(calls?: CallFigures) {
  const nobody = localActivatorClient(() => undefined)
  const server = await startShop({}, { functions: { blobs: fakeBlobs(), calls: { ...nobody, ...calls } } })
  server.put(FunctionNamespace, 'home', { runtime: 'nodejs' }, SHOP)
  const spec = { namespaceName: 'home', functionName: 'hello', handler: 'index' }
  server.put(ServerlessFunction, 'home.hello', spec, SHOP)
  return { server, ask: (path: string) => server.ask('get', `${BASE}/${path}`) }
}

describe('metrics of a function', () => {
  it('lists all series as incomplete if no activator counted', async () => {
    const { server, ask } = await startHome()
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

  it('shows the counts of the activator, and whether they cover the whole time', async () => {
    const now = Math.floor(Date.now() / 1000)
    const at = now - (now % 15) - 60
    const queried: string[] = []
    const bucket = { at, invocations: 30, errors: 15, throttles: 3, coldStarts: 6, durations: [10, 20, 30] }
    const { server, ask } = await startHome({
      async of(...workload) {
        queried.push(workload.join(' '))
        return { since: at, until: now, buckets: [bucket] }
      },
    })
    const { status, body } = await ask(`hello/metrics?from=${at}&to=${at + 30}&step=15s`)
    const hour = await ask('hello/metrics')
    await ask('nobody/metrics')
    await server.stop()
    expect(status, JSON.stringify(body)).to.equal(200)
    expect([body.isComplete, hour.body.isComplete]).to.deep.equal([true, false])
    const valuesOf = ({ name, points }: Shown) => [name, points.map(({ value }) => value)]
    expect(Object.fromEntries(body.series.map(valuesOf))).to.deep.equal({
      ...{ Invocations: [2, 0], Errors: [1, 0], Throttles: [0.2, 0], ColdStarts: [0.4, 0] },
      ...{ DurationP50: [20], DurationP95: [30], DurationP99: [30] },
      ...{ Replicas: [], CpuUsage: [], MemoryUsage: [] },
    })
    expect(body.series[0].points[0].timestamp).to.equal(timestamp(at * 1000))
    expect(queried).to.deep.equal([`${SHOP} home.hello`, `${SHOP} home.hello`])
  })
})
