import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import { makeAccounts } from '../../test/make/accounts.ts'
import { ANNA, assign, B1 } from '../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../test/make/clock.ts'
import { makeFacade } from '../../test/worlds/facade.ts'
import { browse, startIssuer, type TestIssuer } from '../../test/worlds/issuer.ts'
import { invitationRoutes } from '../api/invitations/index.ts'
import { invitationPages, signedInPages } from '../api/invitations/pages.ts'
import { SIGNED_IN_PATH } from '../api/people/browserSignIn.ts'
import { linkPages } from '../api/people/forms.ts'
import { PlatformError } from '../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformUser } from '../crds/identity.ts'
import { PlatformTenant, RoleAssignment, RoleDefinition } from '../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../iam/roles.ts'
import { browserSignIn } from './browserSignIn.ts'

const TENANT = '55555555-5555-4555-8555-555555555555'
const CARL = 'carl@example.com'

describe('accepting an invitation with a sign-in at an external identity provider', () => {
  let server: Server
  let issuer: TestIssuer
  let world: Awaited<ReturnType<typeof open>>
  before(async () => {
    server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = { client_id: 'freehold-web', token_endpoint_auth_method: 'none', response_types: ['code'] } as const
    issuer = await startIssuer([
      { ...client, application_type: 'native', redirect_uris: [`${base()}${SIGNED_IN_PATH}`] },
    ])
  })
  after(async () => {
    server.close().closeAllConnections()
    await issuer.stop()
  })
  beforeEach(async () => {
    world = await open()
  })
  afterEach(() => world.close())
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  /** The principal of an access token, according to the provider. */
  async function verify(header: string | undefined) {
    const answer = await fetch(`${issuer.url}/protocol/openid-connect/userinfo`, {
      headers: { authorization: header ?? '' },
    })
    if (!answer.ok) throw new PlatformError('UNAUTHORIZED', 'The token is not one of ours.')
    const { sub } = (await answer.json()) as { sub: string }
    return { principalId: sub, principalType: 'User' as const, expiresAt: Number.POSITIVE_INFINITY }
  }

  /** ANNA has invited CARL, who has an account at the external provider. */
  async function open() {
    const clock = new ManualClock()
    const { accounts, users } = makeAccounts({ clock, mail: false })
    const linkBase = base()
    const signIn = await browserSignIn({ issuer: issuer.url, clientId: 'freehold-web', linkBase, tokens: { verify } })
    const facade = makeFacade(
      { roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', B1)] },
      { clock, accounts: { ...accounts, linkBase, browserSignIn: signIn } },
    )
    facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
    facade.boundary(B1.slice('/boundaries/'.length), {
      tenantId: TENANT,
      displayName: 'Shop',
    })
    facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: ANNA }, { userName: 'anna' })
    for (const { name, ...spec } of BUILT_IN_ROLES) facade.records.put(RoleDefinition, { name }, spec)
    const carl = users.put({ userName: 'carl', email: CARL })
    const dora = users.put({ userName: 'dora', email: 'dora@example.com' })
    const made = await facade.call(invitationRoutes, 'POST', `${B1}/providers/authorization/invitations`, {
      body: { email: CARL, roleDefinitionName: 'Reader' },
    })
    const app = express()
    app.use(linkPages(facade.services, [signedInPages, invitationPages], []))
    server.removeAllListeners('request').on('request', app)
    const given = () => facade.records.peekAll(RoleAssignment).map(({ spec }) => spec.principalId)
    return { link: (made.body as { link: string }).link, carl, dora, given, close: () => signIn.close() }
  }
  const html = (cookie = '') => ({ headers: { accept: 'text/html', cookie }, redirect: 'manual' as const })
  const cookieOf = (answer: Response) => answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''

  it('redirects to the sign-in and back, and assigns the role', async () => {
    const { link, carl, given } = world
    const page = await browse(link, { login: carl.id, password: 'x' })
    expect(page).to.contain('Welcome').and.contain('You are Reader of Shop now.')
    expect(given()).to.deep.equal([carl.id])
  })

  it('assigns no role to a person with another email address', async () => {
    const { link, dora, given } = world
    const page = await browse(link, { login: dora.id, password: 'x' })
    expect(page).to.contain('You have not joined').and.contain('Back to the invitation')
    expect(given()).to.deep.equal([])
  })

  it('requires the cookie and the state of the invitation page, and redirects with PKCE', async () => {
    const { link } = world
    const shown = await fetch(link, html())
    const [line = ''] = shown.headers.getSetCookie()
    expect(line)
      .to.match(/HttpOnly/i)
      .and.match(/SameSite=Lax/i)
    const state = /name="state" value="([^"]+)"/.exec(await shown.text())?.[1] ?? ''
    const begin = (cookie: string, value = state) =>
      fetch(link, { ...html(cookie), method: 'POST', body: new URLSearchParams({ state: value }) })
    expect((await begin('')).status).to.equal(403)
    expect((await begin(cookieOf(shown), `${state}x`)).status).to.equal(403)
    const begun = await (await begin(cookieOf(shown))).text()
    expect(begun).to.contain('code_challenge_method=S256').and.contain('http-equiv="refresh"')
  })

  it('rejects a callback without the cookie or with another state with 403', async () => {
    const { link, given } = world
    const cookie = cookieOf(await fetch(link, html()))
    const back = (query: string, kept: string) => fetch(`${base()}${SIGNED_IN_PATH}?${query}`, html(kept))
    const elsewhere = await back('code=x&state=y', '')
    expect([elsewhere.status, (await elsewhere.text()).includes('started in another browser')]).to.deep.equal([
      403,
      true,
    ])
    const forged = await back('code=x&state=y', cookie)
    expect(forged.status).to.equal(403)
    expect(forged.headers.getSetCookie()[0]).to.match(/^freehold-joining=;/)
    expect(given()).to.deep.equal([])
  })
})
