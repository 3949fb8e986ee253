import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import express from 'express'
import { accessibilityProblems } from '../../test/make/accessibility.ts'
import { makeAccounts } from '../../test/make/accounts.ts'
import { ANNA, assign, B1 } from '../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../test/make/clock.ts'
import { request } from '../../test/make/request.ts'
import { makeFacade } from '../../test/worlds/facade.ts'
import { newLinkToken } from '../core/linkToken.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { type Page, page } from '../core/page.ts'
import { PlatformUser } from '../crds/identity.ts'
import { PasswordReset } from '../crds/invitations.ts'
import { PlatformTenant, RoleAssignment, RoleDefinition } from '../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../iam/roles.ts'
import { accountPage } from '../identity/accountPage.ts'
import {
  consentPage,
  deviceCodePage,
  deviceConfirmPage,
  deviceDonePage,
  errorPage,
  organizationPage,
  signedOutPage,
  signInPage,
  signOutPage,
  withoutScript,
} from '../identity/pages.ts'
import { SERVED_ROUTES } from './index.ts'
import { invitationRoutes } from './invitations/index.ts'
import { invitationPages } from './invitations/pages.ts'
import { resetPages } from './passwords/pages.ts'
import { linkPages } from './people/forms.ts'
import { platformPages } from './platform/pages.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const CARL = 'carl@example.com'
const PASSWORD = 'Correct-horse-7'
const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8'

/** ANNA invites CARL and requests a password reset; the pages are mounted before the JSON route. */
async function open({ hasAccount = false } = {}) {
  const clock = new ManualClock()
  const { accounts, users } = makeAccounts({ clock, mail: false })
  const isPassword = async (_user: object, password: string) => password === PASSWORD
  const facade = makeFacade(
    { roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', B1)] },
    { clock, accounts: { ...accounts, isPassword } },
  )
  const tenantId = randomUUID()
  facade.records.put(PlatformTenant, { name: tenantId }, { displayName: 'Acme' })
  facade.boundary(BOUNDARY, { tenantId, displayName: 'Shop & <co>' })
  facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: ANNA }, { userName: 'anna' })
  for (const { name, ...spec } of BUILT_IN_ROLES) facade.records.put(RoleDefinition, { name }, spec)
  if (hasAccount) users.put({ userName: 'carl', email: CARL })
  users.put({ id: ANNA, userName: 'anna', email: 'anna@example.com' })
  const made = await facade.call(invitationRoutes, 'POST', `${B1}/providers/authorization/invitations`, {
    body: { email: CARL, roleDefinitionName: 'Reader' },
  })
  const id = randomUUID()
  const reset = newLinkToken([id])
  const expiresAt = new Date(clock.now() + 3_600_000).toISOString()
  const spec = { userId: ANNA, email: 'anna@example.com', tokenHash: reset.hash, expiresAt }
  facade.records.put(PasswordReset, { namespace: SYSTEM_NAMESPACE, name: id }, spec)
  const app = express()
  app.use(linkPages(facade.services, [invitationPages, resetPages], SERVED_ROUTES))
  app.use((_request, response) => void response.json({ is: 'the JSON route' }))
  const invitation = new URL((made.body as { link: string }).link).pathname
  return { ...facade, users, app, links: { invitation, reset: `/identity/password-reset/${reset.token}` } }
}

describe('linkPages', () => {
  for (const link of ['invitation', 'reset'] as const) {
    it(`shows a form to browsers and passes programs to the JSON route: ${link}`, async () => {
      const { app, links } = await open()
      const page = await request(app).get(links[link]).set('accept', BROWSER).expect(200)
      expect(page.headers['content-type']).to.match(/^text\/html/)
      expect(page.headers['cache-control']).to.equal('no-store')
      expect(page.headers['content-security-policy']).to.contain("default-src 'none'").and.not.contain('unsafe')
      expect(page.text).to.match(/<html lang="en">[\s\S]*<main>[\s\S]*<h1>[\s\S]*<form method="post">/)
      expect(page.text).to.not.contain('<script').and.to.not.contain('<co>')
      const inputs = [...page.text.matchAll(/<input id="(\w+)"/g)].map(([, id]) => id)
      for (const id of inputs) expect(page.text, `a label of ${id}`).to.contain(`<label for="${id}">`)
      for (const accept of ['application/json', '*/*', 'application/json, text/html;q=0.9'])
        expect((await request(app).get(links[link]).set('accept', accept)).body).to.deep.equal({ is: 'the JSON route' })
      expect((await request(app).post(links[link]).send({ password: 'x' })).body).to.have.property('is')
    })

    it(`shows that an invalid link cannot be used, without a form: ${link}`, async () => {
      const { app, links } = await open()
      const wrong = `${links[link].slice(0, -8)}AAAAAAAA`
      const page = await request(app).get(wrong).set('accept', 'text/html').expect(404)
      expect(page.text).to.contain('cannot be used').and.not.contain('<form')
    })

    it(`shows the violated password rules with the form: ${link}`, async () => {
      const { app, links } = await open()
      const form = { password: 'short', firstName: 'Carl', lastName: 'Cramer' }
      const page = await request(app).post(links[link]).type('form').send(form).expect(422)
      expect(page.text).to.match(/role="alert"[\s\S]*<form method="post">/)
      expect(page.text, 'the title, which screen readers say first').to.contain('<title>Error: ')
      expect(page.text).to.match(
        /<input id="password"[^>]* aria-invalid="true" aria-describedby="problem rules" autofocus>/,
      )
      if (link === 'reset') return
      expect(page.text)
        .to.match(/id="firstName"[^>]* value="Carl"/)
        .and.match(/id="lastName"[^>]* value="Cramer"/)
      expect(page.text).to.not.contain('value="short"')
    })
  }

  for (const path of ['/invitations/%ff', '/identity/password-reset/%E0%A4'])
    it(`passes paths with invalid encoding to the routes: ${path}`, async () => {
      const { app } = await open()
      const page = await request(app).get(path).set('accept', BROWSER)
      expect(page.body).to.deep.equal({ is: 'the JSON route' })
      const submitted = await request(app).post(path).type('form').send({ password: PASSWORD })
      expect(submitted.body).to.deep.equal({ is: 'the JSON route' })
    })

  const literals = SERVED_ROUTES.map(({ path }) => path).filter((path) => !path.includes('{'))
  const beside = literals.filter((path) => /^\/(invitations|identity\/password-reset)\/[^/]+$/.test(path))
  it('finds the routes with a literal segment in place of the token', () => {
    expect(beside).to.include('/invitations/password-policy')
  })
  for (const path of [...new Set(beside)])
    it(`passes the path of a literal route to it, for browsers too: ${path}`, async () => {
      const { app } = await open()
      for (const spelling of [path, path.replace('-', '%2D')])
        expect((await request(app).get(spelling).set('accept', BROWSER)).body).to.deep.equal({ is: 'the JSON route' })
      expect((await request(app).post(path).type('form').send({ a: 'b' })).body).to.have.property('is')
    })

  it('limits the pages of an address, with Retry-After and in the form of the routes, but not requests of programs', async () => {
    const { app, links } = await open()
    const ask = (accept: string) => request(app).get(links.reset).set('accept', accept)
    const statuses = new Set<number>()
    let refused = await ask(BROWSER)
    for (let count = 0; count < 100 && refused.status !== 429; count += 1) {
      statuses.add((await ask('application/json')).status)
      refused = await ask(BROWSER)
    }
    expect([refused.status, refused.body.code]).to.deep.equal([429, 'TOO_MANY_REQUESTS'])
    expect(refused.headers['content-type']).to.match(/^application\/json/)
    expect(Number(refused.headers['retry-after'])).to.be.within(1, 60)
    expect(refused.headers['x-correlation-id']).to.equal(refused.body.correlationId)
    expect([...statuses, (await ask('application/json')).status]).to.deep.equal([200, 200])
  })

  it('creates the account and grants the role', async () => {
    const { app, links, users, records } = await open()
    const form = { password: PASSWORD, firstName: 'Carl', lastName: 'Cramer' }
    const page = await request(app).post(links.invitation).type('form').send(form).expect(200)
    expect(page.text).to.contain('Welcome').and.contain('Sign in</a>')
    const user = await users.findByEmail(CARL)
    expect(records.peekAll(RoleAssignment)[0]?.spec).to.include({ principalId: user?.id, roleDefinitionName: 'Reader' })
    await request(app).get(links.invitation).set('accept', 'text/html').expect(404)
  })

  it('accepts an invitation with the correct password of the account only', async () => {
    const { app, links, records } = await open({ hasAccount: true })
    await request(app).post(links.invitation).type('form').send({ password: 'Wrong-horse-7' }).expect(403)
    expect(records.peekAll(RoleAssignment)).to.deep.equal([])
    await request(app).post(links.invitation).type('form').send({ password: PASSWORD }).expect(200)
    expect(records.peekAll(RoleAssignment)).to.have.length(1)
  })

  it('refers a user with an external account to the account page, without a form', async () => {
    const { app, links, users } = await open({ hasAccount: true })
    const carl = await users.findByEmail(CARL)
    if (carl !== undefined) users.put({ ...carl, isExternal: true })
    const page = await request(app).get(links.invitation).set('accept', 'text/html').expect(200)
    expect(page.text).to.contain('accept on your account page').and.contain('Sign in</a>')
    expect(page.text).to.not.contain('<form')
  })

  for (const hasAccount of [false, true])
    it(`has an input autocomplete="username" for password managers: ${hasAccount ? 'an existing account' : 'a new account'}`, async () => {
      const { app, links } = await open({ hasAccount })
      const page = await request(app).get(links.invitation).set('accept', 'text/html').expect(200)
      expect(page.text).to.match(
        /<input id="email"[^>]* autocomplete="username" readonly[^>]* value="carl@example.com">/,
      )
    })

  it('sets a new password once', async () => {
    const { app, links, users } = await open()
    await request(app).post(links.reset).type('form').send({ password: PASSWORD }).expect(200)
    expect(users.passwords.get(ANNA)).to.equal(PASSWORD)
    await request(app).post(links.reset).type('form').send({ password: 'Another-horse-8' }).expect(404)
    expect(users.passwords.get(ANNA)).to.equal(PASSWORD)
  })
})

describe('pages', () => {
  const [action, token, targets] = ['/there', 'token', []]
  const people = { name: 'Ada Lovelace', userName: 'ada', signOut: '/out', tokenMinutes: 5, hasPassword: true }
  const signIn = { isHere: false, isBrowser: true, programs: ['freehold-cli'], since: 1 }
  const lists = {
    signIns: [
      { ...signIn, id: 'a', isHere: true },
      { ...signIn, id: 'b' },
      { ...signIn, id: 'c', since: 2 },
    ],
    invitations: [
      { id: 'a', boundary: 'Shop', roleName: 'Reader', invitedBy: 'Ann' },
      { id: 'b', boundary: undefined, roleName: 'Owner', invitedBy: undefined },
    ],
  }
  const account = { ...people, ...lists, action, token }
  const words = { action, token, targets, clientName: 'Freehold CLI' }
  const drawn: readonly (readonly [string, Page])[] = [
    ['sign-in', signInPage({ ...words, login: '', hasOrganizations: true })],
    ['refused sign-in', signInPage({ ...words, login: 'ada', error: 'Incorrect.' })],
    ['sign-in elsewhere', organizationPage({ url: 'https://sso.example', displayName: 'Acme' })],
    ['consent', consentPage({ ...words, name: 'Ada' })],
    ['code of a device', deviceCodePage(action, token)],
    ['refused code of a device', deviceCodePage(action, token, 'Unknown code.')],
    ['confirmation of a device', deviceConfirmPage({ ...words, code: 'BBBB-CCCC' })],
    ['connected device', deviceDonePage()],
    ['sign-out', signOutPage(action, token, targets)],
    ['sign-out that is done', signedOutPage()],
    ['failure', errorPage('This did not work.', 'server_error')],
    ['account', accountPage({ ...account, done: 'Done.' })],
    ['account with a refused password', accountPage({ ...account, error: 'Wrong.', isPasswordWrong: true })],
    ['account with a refused invitation', accountPage({ ...account, error: 'No longer open.' })],
    [
      'form of the library',
      withoutScript('<form method="post" action="/x"></form>', [], 'end_session') ?? page('', ''),
    ],
  ]
  for (const [title, { html }] of drawn)
    it(`has no accessibility problem: ${title}`, async () => {
      expect(await accessibilityProblems(html)).to.deep.equal([])
    })

  it('has no accessibility problem behind a link of a mail', async () => {
    for (const hasAccount of [false, true]) {
      const { app, links } = await open({ hasAccount })
      const asked = [links.invitation, links.reset, `${links.reset}x`].map((link) =>
        request(app).get(link).set('accept', BROWSER),
      )
      const refused = [links.invitation, links.reset].map((link) =>
        request(app).post(link).type('form').send({ password: 'x' }),
      )
      for (const { text } of await Promise.all([...asked, ...refused]))
        expect(await accessibilityProblems(text), text).to.deep.equal([])
    }
  })

  it('has no accessibility problem at / and /reference', async () => {
    const app = express()
    app.use(
      platformPages({
        version: '1',
        commit: 'a',
        builtAt: '',
        kubernetesVersion: 'v1',
        simulated: ['pods'],
        readiness: [],
      }),
    )
    for (const path of ['/', '/reference']) {
      const { text } = await request(app).get(path).set('accept', BROWSER)
      expect(await accessibilityProblems(text), text).to.deep.equal([])
    }
  })
})
