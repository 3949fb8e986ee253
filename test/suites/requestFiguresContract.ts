import { expect } from 'chai'
import type { FakeRequest } from '../../src/adapters/prometheus/fake.ts'
import type { RequestFigures, RoutedService } from '../../src/adapters/prometheus/port.ts'

/** A past time, in seconds since the epoch. */
const BEGIN = Date.parse('2026-11-20T12:00:00Z') / 1000
const at = (seconds: number, code: number, duration: number, bytes: Partial<FakeRequest> = {}): FakeRequest => ({
  at: BEGIN + seconds,
  code,
  seconds: duration,
  ...bytes,
})

const SHOP: RoutedService = { namespace: 'shop-0123456789', route: 'papp-shop', service: 'papp-shop--app' }
const IDLE: RoutedService = { ...SHOP, route: 'papp-idle', service: 'papp-idle--app' }
/** Its name starts with the other's, as Traefik writes it. */
const ALIKE: RoutedService = { ...SHOP, route: 'papp-shop-gw-x-ep-y', service: 'papp-shop-gw-x-ep-y--app' }
const ELSEWHERE: RoutedService = { ...SHOP, namespace: 'shop-9876543210' }

/** Counters of a Gateway that was measured for a while, and restarted in between. */
export const PLAYED = {
  bounds: [0.1, 1],
  measured: { from: BEGIN + 60, to: BEGIN + 1800 },
  restartedAt: BEGIN + 905,
  requests: [
    [SHOP, [at(30, 200, 0.05), at(61, 200, 0.05), at(118, 200, 0.5, { bytesIn: 10, bytesOut: 100 })]],
    [SHOP, [at(130, 404, 0.05, { bytesOut: 7 }), at(890, 500, 3), at(920, 200, 0.05), at(925, 200, 0.05)]],
    [ALIKE, [at(130, 200, 0.05)]],
    [ELSEWHERE, [at(130, 200, 0.05)]],
  ] as readonly (readonly [RoutedService, readonly FakeRequest[]])[],
}

/** What every source of a Gateway's figures must do after these requests. */
export function requestFiguresContract(open: () => RequestFigures) {
  const of = (routed: RoutedService, from: number, to: number, stepSeconds: number) =>
    open().of(routed, { from: BEGIN + from, to: BEGIN + to, stepSeconds })
  const nothing = { codes: {}, bytesIn: 0, bytesOut: 0, seconds: 0, durations: [] }

  it('returns codes, bytes and durations of each step', async () => {
    const { isComplete, steps = [] } = (await of(SHOP, 60, 180, 60)) ?? {}
    const rounded = steps.map((step) => ({ ...step, seconds: Math.round(step.seconds * 1000) / 1000 }))
    expect({ isComplete, steps: rounded }).to.deep.equal({
      isComplete: true,
      steps: [
        {
          at: BEGIN + 60,
          codes: { 200: 2 },
          bytesIn: 10,
          bytesOut: 100,
          seconds: 0.55,
          durations: [
            [0.1, 1],
            [1, 2],
            [Number.POSITIVE_INFINITY, 2],
          ],
        },
        {
          at: BEGIN + 120,
          codes: { 404: 1 },
          bytesIn: 0,
          bytesOut: 7,
          seconds: 0.05,
          durations: [
            [0.1, 1],
            [1, 1],
            [Number.POSITIVE_INFINITY, 1],
          ],
        },
      ],
    })
  })

  it('counts across a restart of the Gateway', async () => {
    const { isComplete, steps = [] } = (await of(SHOP, 840, 960, 30)) ?? {}
    expect(isComplete).to.equal(true)
    expect(steps.map(({ codes }) => codes)).to.deep.equal([{}, { 500: 1 }, { 200: 2 }, {}])
  })

  it('counts only the service of the route', async () => {
    const requests = async (routed: RoutedService) => {
      const { steps = [] } = (await of(routed, 60, 1800, 60)) ?? {}
      return steps.reduce((total, { codes }) => total + (codes[200] ?? 0), 0)
    }
    expect([await requests(SHOP), await requests(ALIKE), await requests(ELSEWHERE)]).to.deep.equal([4, 1, 1])
  })

  it('returns zeros for a service without requests', async () => {
    expect(await of(IDLE, 60, 180, 60)).to.deep.equal({
      isComplete: true,
      steps: [60, 120].map((second) => ({ at: BEGIN + second, ...nothing })),
    })
  })

  it('ends with a shorter step if the time span is no multiple of the step', async () => {
    const { isComplete, steps = [] } = (await of(SHOP, 60, 135, 60)) ?? {}
    expect([isComplete, steps.map((step) => [step.at - BEGIN, step.codes])]).to.deep.equal([
      true,
      [
        [60, { 200: 2 }],
        [120, { 404: 1 }],
      ],
    ])
  })

  it('returns isComplete false for times before and after the measurement', async () => {
    const before = (await of(SHOP, 0, 180, 60)) ?? { isComplete: true, steps: [] }
    expect([before.isComplete, before.steps.map(({ codes }) => codes)]).to.deep.equal([
      false,
      [{}, { 200: 2 }, { 404: 1 }],
    ])
    const after = (await of(SHOP, 1740, 4800, 60)) ?? { isComplete: true, steps: [] }
    expect([after.isComplete, after.steps[0]]).to.deep.equal([false, { at: BEGIN + 1740, ...nothing }])
  })
}
