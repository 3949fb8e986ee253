import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { waitUntil } from './request.ts'

describe('waitUntil', () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const { now } = Date
  afterEach(() => {
    Date.now = now
  })

  it('measures its timeout independently of the system clock', async () => {
    let looks = 0
    Date.now = () => now() + looks * 3_600_000
    await waitUntil('it', 60_000, async () => ++looks === 3, new Promise<never>(() => {}))
    expect(looks).to.equal(3)
  })

  it('rejects when it becomes pointless, and leaves no timer', async () => {
    const pointless = Promise.withResolvers<never>()
    // Mocha sets a timer after a test has returned its promise.
    await turn()
    const before = timers()
    const waiting = waitUntil('the answer', 60_000, async () => false, pointless.promise)
    await turn()
    expect(timers()).to.equal(before + 1)
    pointless.reject(new Error('The start was interrupted.'))
    expect(await waiting.catch(({ message }: Error) => message)).to.equal('The start was interrupted.')
    expect(timers()).to.equal(before)
  })

  it('rejects at the deadline with the last error', async () => {
    const check = () => Promise.reject(new Error('connect ECONNREFUSED'))
    const seen = await waitUntil('the answer', 1, check, new Promise<never>(() => undefined)).catch(String)
    expect(seen).to.include('the answer did not come').and.include('connect ECONNREFUSED')
  })
})
