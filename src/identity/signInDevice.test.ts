import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { Browser } from '../../test/make/browser.ts'
import { ISSUER, ORIGIN, PATH, signInWorld, USER } from '../../test/make/signIn.ts'

describe('device authorization at the local provider', () => {
  const world = signInWorld()

  it('issues tokens once the user code was entered, confirmed and signed in for', async () => {
    const begun = await world.post(`${PATH}/auth/device`, { client_id: 'freehold-cli', scope: 'openid profile email' })
    expect(begun.status, JSON.stringify(begun.body)).to.equal(200)
    expect(begun.body.verification_uri).to.equal(`${ISSUER}/device`)
    expect(begun.body.user_code).to.match(/^[A-Z]{4}-[A-Z]{4}$/)
    const poll = (at = world.reach) =>
      world.token(
        { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: begun.body.device_code ?? '' },
        at,
      )
    expect((await poll()).body.error).to.equal('authorization_pending')

    const typed = await world.browser.open(begun.body.verification_uri ?? '')
    const wrong = await world.browser.submit(typed, 'Continue', { user_code: 'BBBB-BBBB' })
    expect(wrong.html).to.contain('Unknown code.')
    const asked = await world.browser.submit(wrong, 'Continue', {
      user_code: begun.body.user_code?.toLowerCase() ?? '',
    })
    expect(asked.html).to.contain('Is this your device?').and.to.contain(begun.body.user_code)
    const done = await world.submitPassword(await world.browser.submit(asked, 'Yes, connect it'))
    expect(done.html).to.contain('Connected')

    const answer = await poll(world.otherReach)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(decodeJwt(answer.body.access_token ?? ''))
      .to.include({ sub: USER, typ: 'Bearer' })
      .and.to.have.property('auth_time')
    expect((await world.refresh(answer.body.refresh_token)).status).to.equal(200)
    expect((await poll()).body.error, 'a second time').to.equal('invalid_grant')
  })

  it('asks only for a confirmation if the browser is signed in and the URL contains the code', async () => {
    await world.signIn()
    const begun = await world.post(`${PATH}/auth/device`, { client_id: 'freehold-cli', scope: 'openid' })
    const opened = await world.browser.open(begun.body.verification_uri_complete ?? '')
    expect(opened.html).to.contain('<h1>Connect a device</h1>').and.contain('compare it')
    const asked = await world.browser.submit(opened, 'Continue')
    expect((await world.browser.submit(asked, 'Yes, connect it')).html).to.contain('Connected')
  })

  it('shows the form again in a browser without the cookies of the page', async () => {
    const typed = await world.browser.open(`${ISSUER}/device`)
    const stranger = new Browser(ORIGIN, { reach: world.reach })
    const again = await stranger.submit(typed, 'Continue', { user_code: 'BBBB-BBBB' })
    await stranger.close()
    expect([again.status, again.html]).to.satisfy(([status, html]: [number, string]) => {
      return status === 200 && html.includes('Code that the device shows')
    })
  })

  it('returns access_denied to the device after a refusal', async () => {
    const begun = await world.post(`${PATH}/auth/device`, { client_id: 'freehold-cli', scope: 'openid' })
    const typed = await world.browser.open(begun.body.verification_uri ?? '')
    const asked = await world.browser.submit(typed, 'Continue', { user_code: begun.body.user_code ?? '' })
    expect((await world.browser.submit(asked, 'No, refuse it')).html).to.contain('was refused')
    const poll = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: begun.body.device_code ?? '',
    }
    expect((await world.token(poll)).body.error).to.equal('access_denied')
  })
})
