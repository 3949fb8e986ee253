import type { RequestListener } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { callsCounted, connectTo, startActivator } from '../../test/worlds/activatorWorld.ts'
import { systemClock } from '../core/clock.ts'
import { silentLog } from '../core/log.ts'
import { createTimerHooks } from './timerRuns.ts'

const due = { key: 'group/shop.night', trigger: 'tick', scheduledAt: '2026-01-01T00:10:00.000Z' }

describe('timer runs', () => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })

  async function world(listener: RequestListener, isSimulated = false, clusterId?: string) {
    const activator = await startActivator(listener, { startMilliseconds: 1, ...(clusterId && { clusterId }) })
    ends.push(() => activator.stop())
    activator.put('night', { spec: { triggers: [{ name: 'tick', kind: 'Timer', schedule: '*/10 * * * *' }] } })
    const patches: unknown[] = []
    const client = { mergePatch: async (...given: unknown[]) => void patches.push(given) } as never
    const { switchboard, figures } = activator
    const runs = createTimerHooks({
      switchboard,
      client,
      statistics: figures,
      reach: connectTo,
      clock: systemClock,
      log: silentLog,
      isSimulated,
    })
    const counted = () => callsCounted(figures, due.key)
    return { activator, runs, patches, counted }
  }

  it('send a POST with X-Function-Event to the function, and are counted', async () => {
    const seen: unknown[] = []
    const { runs, counted } = await world(async (request, response) => {
      const { method, url, headers } = request
      seen.push([method, url, headers['x-function-event'], await json(request)])
      response.end()
    })
    await runs.call(due)
    const { trigger, scheduledAt } = due
    expect(seen).to.deep.equal([['POST', '/', 'timer', { trigger, scheduledAt }]])
    expect(counted()).to.deep.equal({ invocations: 1, errors: 0, coldStarts: 1 })
  })

  it('reach a function in another cluster', async () => {
    const seen: unknown[] = []
    const listener: RequestListener = (request, response) => {
      seen.push([request.method, request.headers['x-function-event']])
      response.end()
    }
    const { runs, counted } = await world(listener, false, '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77')
    await runs.call(due)
    expect(seen).to.deep.equal([['POST', 'timer']])
    expect(counted()).to.deep.equal({ invocations: 1, errors: 0, coldStarts: 1 })
  })

  for (const status of [302, 404, 500]) {
    it(`count ${status} as an error and follow no redirect`, async () => {
      const { runs, counted } = await world((_, response) => void response.writeHead(status, { location: '/' }).end())
      await runs.call(due)
      expect(counted()).to.deep.equal({ invocations: 1, errors: 1, coldStarts: 0 })
    })
  }

  it('scale a function with simulated pods, and call nothing', async () => {
    const seen: unknown[] = []
    const { runs, activator, counted } = await world((request) => void seen.push(request.url), true)
    await runs.call(due)
    expect([activator.asked[0], seen, counted()]).to.deep.equal([1, [], undefined])
  })

  it('store the schedules in the status of the function with its uid, and remove those of deleted timers', async () => {
    const { runs, patches } = await world(() => {})
    const timer = { schedule: '*/10 * * * * UTC', since: '2026-01-01T00:00:00Z' }
    await runs.recordSchedules(due.key, { tick: timer, gone: null })
    expect(patches.map((given) => (given as unknown[]).slice(1))).to.deep.equal([
      [
        { namespace: 'group', name: 'shop.night' },
        { status: { timers: { tick: timer, gone: null }, lastRuns: { gone: null } } },
        { subresource: 'status', uid: 'night' },
      ],
    ])
  })

  it('remove a last run in the future from the status', async () => {
    const { runs, patches, activator } = await world(() => {})
    activator.put('night', { status: { lastRuns: { tick: '2026-03-01T00:00:00.000Z' } } })
    const timer = { schedule: '*/10 * * * * UTC', since: '2026-01-01T00:00:00.000Z' }
    await runs.recordSchedules(due.key, { tick: timer })
    const [, , patch] = patches[0] as unknown[]
    expect(patch).to.deep.equal({ status: { timers: { tick: timer }, lastRuns: { tick: null } } })
  })

  it('store the last run in the status of the function with its uid', async () => {
    const { runs, patches } = await world(() => {})
    await runs.recordRun(due)
    expect(patches).to.have.length(1)
    const [, ref, patch, options] = patches[0] as unknown[]
    expect([ref, patch, options]).to.deep.equal([
      { namespace: 'group', name: 'shop.night' },
      { status: { lastRuns: { tick: due.scheduledAt } } },
      { subresource: 'status', uid: 'night' },
    ])
  })

  it('list the existing functions, disabled with their namespace', async () => {
    const { runs, activator } = await world(() => {})
    const enabled = () => runs.functions().map((each) => [each.key, each.enabled])
    expect(enabled()).to.deep.equal([[due.key, true]])
    activator.putNamespace({ running: false })
    expect(enabled()).to.deep.equal([[due.key, false]])
    activator.remove('night')
    expect(runs.functions()).to.deep.equal([])
    await runs.recordRun(due)
    await runs.call(due)
  })
})
