import { expect } from 'chai'
import { CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { type FakeRequest, FakeRequestFigures } from '../../adapters/prometheus/fake.ts'
import type { RequestFigures } from '../../adapters/prometheus/port.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { webMetrics } from './webMetrics.ts'

const SHOP = groupNamespace(B, 'shop')
const ROUTED = { namespace: SHOP, route: 'papp-web', service: 'papp-web--app' }
const EVER = { from: 0, to: Number.POSITIVE_INFINITY }
const MADE = Date.parse('2026-01-01T00:00:00Z') / 1000

describe('web metrics of an app', () => {
  const ask = async (requestFigures: RequestFigures, query = '', { isRouted = true } = {}) => {
    const server = await startShop({}, { requestFigures })
    try {
      const own = { displayName: 'Own', domain: 'example.test', isPlatform: true }
      server.put(PlatformCluster, CLUSTER, { ...own, ...(isRouted && { gateway: { namespace: 'g', name: 'p' } }) })
      server.put(PlatformApp, 'web', { sourceKind: 'Image', image: 'nginx:1' }, SHOP)
      const app = server.client.edit(PlatformApp.resource, { namespace: SHOP, name: 'web' }, ({ metadata }) => {
        metadata.creationTimestamp = new Date(MADE * 1000).toISOString()
      })
      server.caches.get(PlatformApp.resource).observeWrite(app)
      const path = `/boundaries/${B}/resourcegroups/shop/resources/apps/web/metrics/web${query}`
      return (await server.ask('get', path)).body
    } finally {
      await server.stop()
    }
  }
  const answered = (...requests: FakeRequest[]) => {
    const figures = new FakeRequestFigures([0.1, 1], EVER)
    figures.answered(ROUTED, ...requests)
    return figures
  }
  const recently = Math.floor(Date.now() / 1000) - 600

  it('contain totals, status codes and series', async () => {
    const figures = answered(
      { at: recently, code: 200, seconds: 0.05, bytesIn: 1, bytesOut: 20 },
      { at: recently, code: 404, seconds: 0.05, bytesOut: 4 },
      { at: recently, code: 500, seconds: 0.5, bytesOut: 1 },
    )
    const { isComplete, totals, statusCodes, series, topPaths } = await ask(figures)
    expect(isComplete).to.equal(true)
    expect(totals).to.deep.equal({
      ...{ requests: 3, errors4xx: 1, errors5xx: 1, bytesIn: 1, bytesOut: 25 },
      ...{ averageMilliseconds: 200, p95Milliseconds: 865 },
    })
    expect([statusCodes, topPaths]).to.deep.equal([{ 200: 1, 404: 1, 500: 1 }, []])
    const most = series.map(({ name, unit, points }: { name: string; unit: string; points: { value: number }[] }) => [
      `${name} ${unit}`,
      Math.max(...points.map(({ value }) => value)),
    ])
    expect(most).to.deep.equal([
      ...[
        ['Requests count', 3],
        ['Errors4xx count', 1],
        ['Errors5xx count', 1],
      ],
      ...[
        ['LatencyP50 ms', 75],
        ['LatencyP95 ms', 865],
        ['LatencyP99 ms', 973],
      ],
    ])
  })

  it('exclude requests before the app was created', async () => {
    const figures = answered({ at: MADE - 5, code: 200, seconds: 1 }, { at: MADE + 5, code: 200, seconds: 1 })
    const { isComplete, totals } = await ask(figures, `?from=${MADE - 60}&to=${MADE + 60}`)
    expect([isComplete, totals.requests]).to.deep.equal([true, 1])
    const before = await ask(figures, `?from=${MADE - 60}&to=${MADE - 1}`)
    expect([before.isComplete, before.totals.requests]).to.deep.equal([true, 0])
  })

  const unknown: [sentence: string, figures: RequestFigures, isRouted: boolean][] = [
    ['there are no measurements', Object.assign(answered(), { isGone: true }), true],
    ['the app has no Gateway', answered({ at: recently, code: 200, seconds: 1 }), false],
  ]
  for (const [sentence, figures, isRouted] of unknown) {
    it(`are incomplete if ${sentence}`, async () => {
      const { isComplete, totals, series } = await ask(figures, '', { isRouted })
      expect([isComplete, totals.requests, totals.averageMilliseconds]).to.deep.equal([false, 0, null])
      expect(series.flatMap(({ points }: { points: unknown[] }) => points)).to.deep.equal([])
    })
  }

  it('return the last bucket bound as P95 of slower requests', () => {
    const durations = [
      [0.1, 0],
      [Number.POSITIVE_INFINITY, 2],
    ] as const
    const step = { at: 0, codes: { 200: 2 }, bytesIn: 0, bytesOut: 0, seconds: 80, durations }
    const { averageMilliseconds, p95Milliseconds } = webMetrics({ isComplete: true, steps: [step] }).totals
    expect([averageMilliseconds, p95Milliseconds]).to.deep.equal([40_000, 100])
  })
})
