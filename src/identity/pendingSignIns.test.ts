import { expect } from 'chai'
import { Browser, pkcePair } from '../../test/make/browser.ts'
import { ORIGIN, PATH, signInWorld } from '../../test/make/signIn.ts'

/** Anybody can begin a sign-in, from as many addresses as they have, and each is stored until it is given up. */
describe('sign-ins that were begun', () => {
  const world = signInWorld()
  const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) })
  const urlWith = (more: Record<string, string>) => world.authorizationUrl(pkcePair().challenge, more)

  it('are refused with parameters of more than 4 KiB, of which nothing is stored', async () => {
    const long = 'x'.repeat(4_000)
    expect((await world.browser.open(urlWith({ state: long.slice(0, 3_000) }))).status).to.equal(200)
    const stored = (await world.stateSecrets()).length
    for (const more of [{ state: 'x'.repeat(5_000) }, { state: long, nonce: long }])
      expect((await world.browser.open(urlWith(more))).status).to.equal(400)
    const device = form({ client_id: 'freehold-cli', scope: 'openid', login_hint: 'x'.repeat(5_000) })
    expect((await fetch(`${world.reach}${PATH}/auth/device`, device)).status).to.equal(400)
    expect((await world.stateSecrets()).length).to.equal(stored)
  })

  it('are bounded for all addresses together, and one address has at most half of them', async () => {
    const [, reach] = await world.serve(undefined, { pendingSignIns: 6 })
    const browser = new Browser(ORIGIN, { reach })
    const begin = () => browser.open(urlWith({}))
    const pages = [await begin(), await begin(), await begin()]
    expect(pages.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect((await begin()).status).to.equal(429)
    const device = await fetch(`${reach}${PATH}/auth/device`, form({ client_id: 'freehold-cli', scope: 'openid' }))
    expect(device.status).to.equal(429)
    await world.submitPassword(pages[0] as never, undefined, undefined, browser)
    expect((await begin()).status, 'one was finished').to.equal(200)
    await browser.close()
  })
})
