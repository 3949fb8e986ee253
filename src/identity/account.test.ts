import { expect } from 'chai'
import { Browser } from '../../test/make/browser.ts'
import { ORIGIN, PASSWORD, signInWorld, USER } from '../../test/make/signIn.ts'
import { secret } from '../kube/builtin.ts'

const ACCOUNT = '/realms/freehold/account'
const NEXT = 'another horse 9'

describe('the account page', () => {
  const world = signInWorld()

  const openIn = async (browser: Browser) => {
    const page = await browser.open(ACCOUNT)
    return page.html.includes('name="password"') && page.html.includes('id="login"')
      ? world.submitPassword(page, PASSWORD, 'ada', browser)
      : page
  }
  const open = () => openIn(world.browser)
  /** Opens the page as the same person in another browser. */
  const elsewhere = async (work: (browser: Browser) => Promise<void>) => {
    const other = new Browser(ORIGIN, { reach: world.reach })
    try {
      await openIn(other)
      await work(other)
    } finally {
      await other.close()
    }
  }
  const isSignedIn = async (browser: Browser) => (await browser.open(ACCOUNT)).html.includes('Your account')

  it('signs a person in and shows the name and this browser, with labels and without scripts', async () => {
    const page = await open()
    expect(page.status).to.equal(200)
    expect(page.html).to.include('Ada Lovelace').and.include('This browser').and.not.include('<script')
    expect(page.headers['content-security-policy']).to.include("default-src 'none'")
    expect(page.headers['cache-control']).to.equal('no-store')
    const fields = [...page.html.matchAll(/<input id="(\w+)"/g)].map(([, id]) => id)
    expect(fields).to.deep.equal(['current', 'password'])
    for (const id of fields) expect(page.html).to.include(`<label for="${id}">`)
  })

  it('reports a cancelled sign-in and a browser that keeps no cookies', async () => {
    const cancelled = await world.browser.submit(await world.browser.open(ACCOUNT), 'Cancel')
    expect(cancelled.html).to.include('The sign-in was cancelled.')
    const lost = await world.browser.open(`${ACCOUNT}?code=x&state=signed-in`)
    expect(lost.html).to.include('This browser did not keep the sign-in.')
  })

  for (const [title, error] of [
    ['a message of an attacker', 'Call 555-0100 now'],
    ['a property of Object.prototype', 'constructor'],
  ] as const)
    it(`does not show an unknown error of the query: ${title}`, async () => {
      const page = await world.browser.open(`${ACCOUNT}?state=signed-in&error=${encodeURIComponent(error)}`)
      expect(page.status).to.equal(400)
      expect(page.html).to.include('The request is not valid.').and.not.include(error)
    })

  it('changes the password, keeps this session and ends the others', async () => {
    await elsewhere(async (other) => {
      const changed = await world.browser.submit(await open(), 'Change password', { current: PASSWORD, password: NEXT })
      expect([changed.status, changed.html]).to.satisfy(([status, html]: [number, string]) => {
        return status === 200 && html.includes('Your password was changed.')
      })
      expect(await isSignedIn(world.browser)).to.equal(true)
      expect(await isSignedIn(other)).to.equal(false)
      const page = await other.open(ACCOUNT)
      expect((await world.submitPassword(page, PASSWORD, 'ada', other)).html).to.include('Incorrect user name')
      expect((await world.submitPassword(await other.open(ACCOUNT), NEXT, 'ada', other)).html).to.include(
        'Your account',
      )
    })
  })

  it('repeats nothing when it is reloaded after a change', async () => {
    await elsewhere(async () => {
      for (const [button, fields, done] of [
        ['Accept', {}, 'The invitation was accepted.'],
        ['End this sign-in', {}, 'The sign-in was ended.'],
        ['Change password', { current: PASSWORD, password: NEXT }, 'Your password was changed.'],
      ] as const) {
        const after = await world.browser.submit(await open(), button, fields)
        expect([after.method, after.status], button).to.deep.equal(['GET', 200])
        expect((await world.browser.open(after.url)).html).to.include(done)
      }
    })
  })

  it('confirms no change because of a forged link', async () => {
    const { url } = await world.browser.submit(await open(), 'Accept')
    const forged = url.replace('done=accept', 'done=password')
    expect(forged).to.not.equal(url)
    expect((await world.browser.open(forged)).html).to.not.include('was changed')
    await elsewhere(async (other) => {
      expect((await other.open(url)).html)
        .to.include('Your account')
        .and.not.include('was accepted')
    })
  })

  it('rejects a wrong current password and a weak new one, with accessible errors', async () => {
    const wrong = await world.browser.submit(await open(), 'Change password', { current: 'guess', password: NEXT })
    expect(wrong.status).to.equal(400)
    expect(wrong.html).to.include('role="alert"').and.include('The current password is not correct.')
    expect(wrong.html).to.include('<title>Error: Your account').and.include('aria-invalid="true"')
    const short = await world.browser.submit(wrong, 'Change password', { current: PASSWORD, password: 'short' })
    expect(short.html).to.include('at least 8 characters.').and.not.include('value="short"')
  })

  it('blocks after six wrong current passwords, even for the right one', async () => {
    let page = await open()
    for (let guess = 0; guess < 6; guess += 1) {
      page = await world.browser.submit(page, 'Change password', { current: `guess ${guess}`, password: NEXT })
    }
    expect(page.html).to.include('Too many attempts.')
    const right = await world.browser.submit(page, 'Change password', { current: PASSWORD, password: NEXT })
    expect(right.status).to.equal(400)
  })

  it('lists other sessions and ends one', async () => {
    await elsewhere(async (other) => {
      const page = await open()
      expect(page.html).to.include('A browser')
      // Voice control uses the text of the button, so the label begins with it.
      expect(page.html).to.match(/aria-label="End this sign-in: A browser[^"]*">End this sign-in</)
      const after = await world.browser.submit(page, 'End this sign-in')
      expect(after.html).to.include('The sign-in was ended.').and.not.include('A browser')
      expect(await isSignedIn(other)).to.equal(false)
      expect(await isSignedIn(world.browser)).to.equal(true)
    })
  })

  it('revokes the refresh tokens of a session that it ends', async () => {
    const { answer } = await world.signIn()
    await elsewhere(async (other) => {
      const page = await openIn(other)
      expect(page.html).to.include('freehold-cli')
      await other.submit(page, 'End this sign-in')
      expect((await world.refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    })
  })

  it('ends all other sessions at once', async () => {
    await elsewhere((one) =>
      elsewhere(async (two) => {
        const after = await world.browser.submit(await open(), 'End all others')
        expect(after.html).to.include('All other sign-ins were ended.')
        expect([await isSignedIn(one), await isSignedIn(two)]).to.deep.equal([false, false])
        expect(await isSignedIn(world.browser)).to.equal(true)
      }),
    )
  })

  it('rejects a form with another CSRF token and the id of anything but a session of the person', async () => {
    const page = await open()
    const forged = { ...page, html: page.html.replaceAll(/name="csrf" value="[^"]*"/g, 'name="csrf" value="x"') }
    const answer = await world.browser.submit(forged, 'Change password', { current: PASSWORD, password: NEXT })
    expect(answer.status).to.equal(400)
    expect(answer.html).to.include('This form was not sent from your account page.')
    await world.browser.submit(page, 'Change password', { choice: 'end', signIn: `user-${USER}-password` })
    expect(await isSignedIn(world.browser)).to.equal(true)
    const password = { namespace: 'freehold-system', name: `user-${USER}-password` }
    expect(await world.kube.get(secret, password), 'the Secret of the password').to.be.an('object')
  })

  it('lists an open invitation, accepts it once, and returns 409 afterwards', async () => {
    const page = await open()
    expect(page.html).to.include('Ann invites you to <strong>Shop &#60;b&#62;</strong> as Reader.')
    expect(page.html).to.include('aria-label="Accept: Shop &#60;b&#62; as Reader"')
    expect(page.html).to.match(/<input [^>]*autocomplete="username" value="ada" hidden>/)
    const after = await world.browser.submit(page, 'Accept')
    expect([after.status, world.accepted]).to.deep.equal([200, ['open']])
    expect(after.html).to.include('The invitation was accepted.').and.not.include('invites you')
    const again = await world.browser.submit(page, 'Accept')
    expect(again.status).to.equal(409)
    expect(again.html).to.include('The invitation is no longer open.')
  })

  it('requires a new sign-in when the account was deleted and another one has its id', async () => {
    await open()
    world.replace()
    expect(await isSignedIn(world.browser)).to.equal(false)
  })

  it('requires a new sign-in when the account is disabled', async () => {
    await open()
    world.disable()
    expect(await isSignedIn(world.browser)).to.equal(false)
  })
})
