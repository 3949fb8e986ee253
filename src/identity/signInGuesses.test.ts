import { createHook } from 'node:async_hooks'
import { expect } from 'chai'
import { Browser, pkcePair } from '../../test/make/browser.ts'
import { ORIGIN, PASSWORD, signInWorld } from '../../test/make/signIn.ts'

/** The result of the work, and how many passwords it hashed. */
async function countHashes<T>(work: () => Promise<T>): Promise<[result: T, hashes: number]> {
  let hashes = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'SCRYPTREQUEST') hashes += 1
    },
  }).enable()
  try {
    return [await work(), hashes]
  } finally {
    hook.disable()
  }
}

describe('password guesses at the local provider', () => {
  const world = signInWorld()

  it('receive the same page, after one hash each, for a wrong password and an unknown name', async () => {
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    const [wrong, hashesOfWrong] = await countHashes(() => world.submitPassword(page, 'wrong'))
    const [unknown, hashesOfUnknown] = await countHashes(() => world.submitPassword(page, 'wrong', 'nobody'))
    expect([hashesOfWrong, hashesOfUnknown]).to.deep.equal([1, 1])
    expect([wrong.status, unknown.status]).to.deep.equal([401, 401])
    expect(wrong.html).to.contain('Incorrect user name or password.')
    expect(unknown.html.replace('value="nobody"', 'value="ada"')).to.equal(wrong.html)
  })

  it('are blocked with 429 per name and address, even with the right password', async () => {
    const limits = { perNameAndAddress: 2, perName: 50, perAddress: 50 }
    const [limited, at] = await world.serve(limits)
    const guesser = new Browser(ORIGIN, { reach: at })
    const page = await guesser.open(world.authorizationUrl(pkcePair().challenge))
    for (let guess = 0; guess < 2; guess += 1) await world.submitPassword(page, `guess-${guess}`, 'ada', guesser)
    const blocked = await world.submitPassword(page, PASSWORD, 'ada', guesser)
    expect(blocked.status).to.equal(429)
    expect(Number(blocked.headers['retry-after'])).to.be.within(1, 300)
    expect(guesser.left).to.equal(undefined)
    await guesser.close()
    limited.stop()
  })

  it('are limited when they are concurrent', async () => {
    const [limited, at] = await world.serve({ perNameAndAddress: 2, perName: 50, perAddress: 50 })
    const guesser = new Browser(ORIGIN, { reach: at })
    const page = await guesser.open(world.authorizationUrl(pkcePair().challenge))
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => world.submitPassword(page, `guess-${n}`, 'ada', guesser)),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([401, 401, 429, 429, 429])
    await guesser.close()
    limited.stop()
  })
})
