import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { activityServices, sweepActivity } from './activity.ts'
import { type FacadeSetup, ShutdownHooks } from './setup.ts'

const HOUR = 3_600_000

describe('removal of expired activity records', () => {
  for (const [title, hours, looks] of [
    ['runs within the first two hours of a process', 2, 1],
    ['runs at least 120 times in 8 days', 24 * 8, 24 * 5],
  ] as const) {
    it(title, async () => {
      const clock = new ManualClock()
      const client = new FakeKubeClient()
      const closing = new ShutdownHooks()
      const setup = { client, onStop: closing.onStop } as unknown as FacadeSetup
      sweepActivity(setup, { ...activityServices(setup), records: {} as never }, clock)
      for (let hour = 0; hour < hours; hour += 1) await clock.advance(HOUR)
      await closing.stop()
      expect(client.calls.length).to.be.at.least(looks)
      const before = client.calls.length
      await clock.advance(24 * 8 * HOUR)
      expect(client.calls.length, 'after the end').to.equal(before)
    })
  }
})
