import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { limitPasswords, limitSecrets } from './guessLimiter.ts'

const ADDRESS = '192.0.2.1'
const OTHER_ADDRESS = '198.51.100.7'
const ID = '11111111-1111-4111-8111-111111111111'
const right = async () => 'yes'
const wrong = async () => undefined

describe('limitSecrets', () => {
  it('checks only 3 of 20 concurrent wrong secrets with a limit of 3', async () => {
    const guesses = limitSecrets(3, new ManualClock())
    let looked = 0
    const look = async () => {
      looked += 1
      return undefined
    }
    const judged = await Promise.all(Array.from({ length: 20 }, () => guesses.judge(ADDRESS, ID, look)))
    expect([looked, judged.filter((each) => 'blockedFor' in each).length]).to.deep.equal([3, 17])
  })

  it('checks 20 concurrent right secrets with a limit of 1', async () => {
    const guesses = limitSecrets(1, new ManualClock())
    const judged = await Promise.all(Array.from({ length: 20 }, () => guesses.judge(ADDRESS, ID, right)))
    expect(judged).to.deep.equal(Array(20).fill({ value: 'yes' }))
  })

  it('does not count a check that failed', async () => {
    const guesses = limitSecrets(1, new ManualClock())
    const fails = () => guesses.judge(ADDRESS, ID, () => Promise.reject(new Error('away')))
    const results = await Promise.allSettled([fails(), fails(), fails()])
    expect(results.map(({ status }) => status)).to.deep.equal(Array(3).fill('rejected'))
    expect(await guesses.judge(ADDRESS, ID, right)).to.deep.equal({ value: 'yes' })
  })

  it('accepts again a minute after the first wrong secret', async () => {
    const clock = new ManualClock()
    const guesses = limitSecrets(2, clock)
    await guesses.judge(ADDRESS, ID, wrong)
    await clock.advance(20_000)
    await guesses.judge(ADDRESS, ID, wrong)
    expect(await guesses.judge(ADDRESS, ID, right)).to.deep.equal({ blockedFor: 40 })
    await clock.advance(40_000)
    expect(await guesses.judge(ADDRESS, ID, right)).to.deep.equal({ value: 'yes' })
  })

  it('limits each address and account separately, and unknown ids together', async () => {
    const guesses = limitSecrets(1, new ManualClock())
    for (const id of [ID, 'no-such-id']) await guesses.judge(ADDRESS, id, wrong)
    expect(await guesses.judge(OTHER_ADDRESS, ID, right)).to.deep.equal({ value: 'yes' })
    expect(await guesses.judge(ADDRESS, ID.replaceAll('1', '2'), right)).to.deep.equal({ value: 'yes' })
    expect(await guesses.judge(ADDRESS, 'another', right)).to.have.property('blockedFor')
  })
})

describe('limitPasswords', () => {
  const limits = { perNameAndAddress: 2, perName: 4, perAddress: 6 }

  it('limits per name and address, per name and per address, ignoring case and spaces', async () => {
    const guesses = limitPasswords(limits, new ManualClock())
    for (const name of ['ada', ' ADA ']) await guesses.judge(ADDRESS, name, wrong)
    expect(await guesses.judge(ADDRESS, 'Ada', right)).to.have.property('blockedFor')
    for (const address of ['203.0.113.1', '203.0.113.2']) await guesses.judge(address, 'ada', wrong)
    expect(await guesses.judge('203.0.113.3', 'ada', right)).to.have.property('blockedFor')
    for (const name of ['bob', 'carl', 'dora', 'emil']) await guesses.judge(ADDRESS, name, wrong)
    expect(await guesses.judge(ADDRESS, 'fritz', right)).to.deep.equal({ blockedFor: 300 })
  })

  it('resets the count after the right password, and never counts right ones', async () => {
    const guesses = limitPasswords(limits, new ManualClock())
    for (let time = 0; time < 3; time += 1) {
      await guesses.judge(ADDRESS, 'ada', wrong)
      expect(await guesses.judge(ADDRESS, 'ada', right)).to.deep.equal({ value: 'yes' })
    }
    for (let time = 0; time < 10; time += 1)
      expect(await guesses.judge(OTHER_ADDRESS, 'bob', right)).to.deep.equal({ value: 'yes' })
  })
})
