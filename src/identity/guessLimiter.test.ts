import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { limitPasswords, limitSecrets } from './guessLimiter.ts'

const ADDRESS = '192.0.2.1'
const OTHER_ADDRESS = '198.51.100.7'
const ID = '11111111-1111-4111-8111-111111111111'
const right = async () => 'yes'
const wrong = async () => undefined

describe('guesses at secrets', () => {
  it('are looked at up to the limit when they come at once; the others are refused when those were wrong', async () => {
    const guesses = limitSecrets(3, new ManualClock())
    let looked = 0
    const look = async () => {
      looked += 1
      return undefined
    }
    const judged = await Promise.all(Array.from({ length: 20 }, () => guesses.judge(ADDRESS, ID, look)))
    expect([looked, judged.filter((each) => 'blockedFor' in each).length]).to.deep.equal([3, 17])
  })

  it('wait for a place, and have it when those before them were right', async () => {
    const guesses = limitSecrets(1, new ManualClock())
    const judged = await Promise.all(Array.from({ length: 20 }, () => guesses.judge(ADDRESS, ID, right)))
    expect(judged).to.deep.equal(Array(20).fill({ value: 'yes' }))
  })

  it('do not count where nothing was judged', async () => {
    const guesses = limitSecrets(1, new ManualClock())
    const fails = () => guesses.judge(ADDRESS, ID, () => Promise.reject(new Error('away')))
    const results = await Promise.allSettled([fails(), fails(), fails()])
    expect(results.map(({ status }) => status)).to.deep.equal(Array(3).fill('rejected'))
    expect(await guesses.judge(ADDRESS, ID, right)).to.deep.equal({ value: 'yes' })
  })

  it('are looked at again when the window of the first wrong one is over', async () => {
    const clock = new ManualClock()
    const guesses = limitSecrets(2, clock)
    await guesses.judge(ADDRESS, ID, wrong)
    await clock.advance(20_000)
    await guesses.judge(ADDRESS, ID, wrong)
    expect(await guesses.judge(ADDRESS, ID, right)).to.deep.equal({ blockedFor: 40 })
    await clock.advance(40_000)
    expect(await guesses.judge(ADDRESS, ID, right)).to.deep.equal({ value: 'yes' })
  })

  it('of one address or for one account hold up no others; ids that cannot exist are counted together', async () => {
    const guesses = limitSecrets(1, new ManualClock())
    for (const id of [ID, 'no-such-id']) await guesses.judge(ADDRESS, id, wrong)
    expect(await guesses.judge(OTHER_ADDRESS, ID, right)).to.deep.equal({ value: 'yes' })
    expect(await guesses.judge(ADDRESS, ID.replaceAll('1', '2'), right)).to.deep.equal({ value: 'yes' })
    expect(await guesses.judge(ADDRESS, 'another', right)).to.have.property('blockedFor')
  })
})

describe('guesses at passwords', () => {
  const limits = { perNameAndAddress: 2, perName: 4, perAddress: 6 }

  it('are limited per name and address, per name, and per address, however they are spelled', async () => {
    const guesses = limitPasswords(limits, new ManualClock())
    for (const name of ['ada', ' ADA ']) await guesses.judge(ADDRESS, name, wrong)
    expect(await guesses.judge(ADDRESS, 'Ada', right)).to.have.property('blockedFor')
    for (const address of ['203.0.113.1', '203.0.113.2']) await guesses.judge(address, 'ada', wrong)
    expect(await guesses.judge('203.0.113.3', 'ada', right)).to.have.property('blockedFor')
    for (const name of ['bob', 'carl', 'dora', 'emil']) await guesses.judge(ADDRESS, name, wrong)
    expect(await guesses.judge(ADDRESS, 'fritz', right)).to.deep.equal({ blockedFor: 300 })
  })

  it('count no more once the person was right, and who is right is never counted', async () => {
    const guesses = limitPasswords(limits, new ManualClock())
    for (let time = 0; time < 3; time += 1) {
      await guesses.judge(ADDRESS, 'ada', wrong)
      expect(await guesses.judge(ADDRESS, 'ada', right)).to.deep.equal({ value: 'yes' })
    }
    for (let time = 0; time < 10; time += 1)
      expect(await guesses.judge(OTHER_ADDRESS, 'bob', right)).to.deep.equal({ value: 'yes' })
  })
})
