import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { activityServices } from './activity.ts'
import { type FacadeSetup, ShutdownHooks } from './setup.ts'

const HOUR = 3_600_000

describe('records of activity whose time is over', () => {
  for (const [title, hours, looks] of [
    ['are looked for by a process that is replaced before a day is over', 2, 1],
    ['are looked for again and again', 24 * 8, 5],
  ] as const) {
    it(title, async () => {
      const clock = new ManualClock()
      const client = new FakeKubeClient()
      const closing = new ShutdownHooks()
      activityServices({ client, onStop: closing.onStop } as unknown as FacadeSetup, clock)
      for (let hour = 0; hour < hours; hour += 1) await clock.advance(HOUR)
      await closing.stop()
      expect(client.calls.length).to.be.at.least(looks)
      const before = client.calls.length
      await clock.advance(24 * 8 * HOUR)
      expect(client.calls.length, 'after the end').to.equal(before)
    })
  }
})
