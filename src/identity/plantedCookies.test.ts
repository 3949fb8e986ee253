import { expect } from 'chai'
import { Browser, pkcePair, type Shown } from '../../test/make/browser.ts'
import { ORIGIN, PATH, signInWorld } from '../../test/make/signIn.ts'

const ACCOUNT = '/realms/freehold/account'

/** Tenants have hosts beside that of the provider, whose pages can set cookies for the domain that they share. */
describe('cookies that a page on a neighbouring host sets', () => {
  const world = signInWorld()
  let attacker: Browser
  beforeEach(() => {
    attacker = new Browser(ORIGIN, { reach: world.reach })
  })
  afterEach(() => attacker.close())

  const begin = (by: Browser) => by.open(world.authorizationUrl(pkcePair().challenge))
  const resumeAddress = ({ url }: Shown) => `${PATH}/auth/${url.split('/').at(-1)}`

  it('do not let somebody sign in for the browser of another person', async () => {
    const { url } = await begin(attacker)
    world.browser.plantCookiesOf(attacker)
    const page = await world.browser.open(url)
    expect([page.status, page.html.includes('<form')]).to.deep.equal([400, false])
    expect(page.html).to.contain('was started in another browser')
  })

  it('do not let a browser finish what another one began', async () => {
    const page = await begin(attacker)
    world.browser.plantCookiesOf(attacker)
    expect((await world.browser.open(resumeAddress(page))).status).to.equal(400)
    await world.submitPassword(page, undefined, undefined, attacker)
    expect(attacker.left?.searchParams.has('code'), 'the other one goes on').to.equal(true)
  })

  it('do not sign a browser in', async () => {
    await world.submitPassword(await attacker.open(ACCOUNT), undefined, undefined, attacker)
    expect((await attacker.open(ACCOUNT)).html).to.contain('Your account')
    world.browser.plantCookiesOf(attacker)
    expect((await world.browser.open(ACCOUNT)).html).to.not.contain('Your account')
  })

  it('do not keep the person from signing in', async () => {
    await begin(attacker)
    world.browser.plantCookiesOf(attacker)
    expect((await world.signIn()).answer.status).to.equal(200)
  })
})

describe('sign-ins in one browser', () => {
  const world = signInWorld()

  it('can be open in several windows at once', async () => {
    const pages = []
    for (let count = 0; count < 3; count += 1)
      pages.push(await world.browser.open(world.authorizationUrl(pkcePair().challenge)))
    for (const page of pages) expect((await world.browser.open(page.url)).status).to.equal(200)
    await world.submitPassword(pages[0] as Shown)
    expect(world.browser.left?.searchParams.has('code')).to.equal(true)
  })
})
