// @inTurn plain: two facades, and the operator is killed.
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { joinHub } from '../../src/composition/agents/joinHub.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { Browser, pkcePair } from '../make/browser.ts'
import { patiently, pauseAfterAnswer, replyTo } from '../make/patience.ts'
import { makePerson, type TestPerson, tokenFromMail } from '../make/people.ts'
import { until } from '../make/until.ts'
import { callOwn } from '../worlds/ownFacade.ts'

const CALLBACK = 'http://127.0.0.1:41999/callback'
const PASSWORDS = ['Correct-horse-42-battery', 'Another-horse-43-staple']

type Body = ReturnType<typeof JSON.parse>
/** The addresses of one process. */
type Place = { facadeUrl: string; tokenUrl: string; agentUrl: string }
/** Sends the same request again; returns its outcome as a word. */
type Use = (place: Place) => Promise<string>

describe('single-use tokens, sent to two facades concurrently', () => {
  let own: OwnPlatform
  let places: [Place, Place]
  let boundary: string
  let person: TestPerson
  let browser: Browser
  /** Everything that was used, to be sent again after the restart. */
  const used = new Map<string, Use>()

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator()
    const { facadeUrl, tokenUrl } = own.platform
    places = [{ facadeUrl, tokenUrl, agentUrl: `https://127.0.0.1:${own.ports.agent}` }, await openReplica()]
    const { PLATFORM_ISSUER = '', PLATFORM_ISSUER_CERTIFICATE_AUTHORITY: authority = '' } = own.command.environment
    browser = new Browser(new URL(PLATFORM_ISSUER).origin, { certificateAuthority: readFileSync(authority, 'utf8') })
    person = await makePerson(own.admin)
    boundary = `/boundaries/${(await callOwn<Body>(own, 'POST', '/boundaries', { displayName: 'Once' })).body.id}`
    for (const place of places)
      for (const path of [`/admin/users/${person.userId}`, boundary])
        await until(`${path} is known`, async () => (await callOwn(own, 'GET', path, undefined, place)).status === 200)
  })
  after(async () => {
    await browser?.close()
    await giveBack(own)
  })

  async function openReplica(): Promise<Place> {
    const ports = await choosePorts(own.controlPlane.folder, ['otherToken', 'otherAgent'])
    const [token, agent] = [String(ports.otherToken), String(ports.otherAgent)]
    const more = { PLATFORM_IDENTITY_HTTP_PORT: token, PLATFORM_AGENT_PORT: agent }
    const tokenUrl = new URL(own.platform.tokenUrl)
    tokenUrl.port = token
    return {
      facadeUrl: await own.startReplica('facade', more),
      tokenUrl: tokenUrl.href,
      agentUrl: `https://127.0.0.1:${agent}`,
    }
  }

  /** Returns the status and the code. */
  async function ask({ facadeUrl }: Place, method: string, path: string, body?: object): Promise<string> {
    const headers = { 'content-type': 'application/json' }
    const init = { method, headers, redirect: 'manual' as const, ...(body && { body: JSON.stringify(body) }) }
    const { status, text } = await patiently(() => replyTo(fetch(`${facadeUrl}${path}`, init)), pauseAfterAnswer)
    const code = /"(?:code|title)":"([\w-]+)"/.exec(text)?.[1]
    return [status, code].filter(Boolean).join(' ')
  }

  type Tokens = { access_token?: string; refresh_token?: string; error?: string }
  async function tokens({ tokenUrl }: Place, form: Record<string, string>): Promise<Tokens> {
    const body = new URLSearchParams({ client_id: 'freehold-cli', ...form })
    return JSON.parse((await replyTo(fetch(tokenUrl, { method: 'POST', body }))).text)
  }
  const wordOf = ({ error, access_token }: Tokens) => error ?? (access_token === undefined ? 'nothing' : 'tokens')

  /** Sends it to both places at once; returns the outcomes sorted, whichever was first. */
  async function twice(what: string, use: Use): Promise<string[]> {
    used.set(what, use)
    return (await Promise.all(places.map(use))).sort()
  }

  /** Signs in, or confirms the program if the person is already signed in. */
  async function codeForm(): Promise<Record<string, string>> {
    const { verifier, challenge } = pkcePair()
    const query = new URLSearchParams({
      client_id: 'freehold-cli',
      response_type: 'code',
      scope: 'openid',
      redirect_uri: CALLBACK,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const { pathname } = new URL(own.command.environment.PLATFORM_ISSUER ?? '')
    browser.left = undefined
    const page = await browser.open(`${pathname}/protocol/openid-connect/auth?${query}`)
    const isKnown = !page.html.includes('>Sign in</button>')
    const { userName: login, password } = person
    if (isKnown) await browser.submit(page, 'Continue')
    else await browser.submit(page, 'Sign in', { login, password })
    const code = browser.left as URL | undefined
    expect(code?.searchParams.get('code'), page.html).to.be.a('string')
    return {
      grant_type: 'authorization_code',
      code: code?.searchParams.get('code') ?? '',
      code_verifier: verifier,
      redirect_uri: CALLBACK,
    }
  }

  it('an authorization code is exchanged once at most, and its tokens are revoked', async () => {
    const form = await codeForm()
    const given: Tokens[] = []
    const words = await twice('the code', async (place) => {
      const answer = await tokens(place, form)
      given.push(answer)
      return wordOf(answer)
    })
    expect(words[0]).to.equal('invalid_grant')
    await refusedRenewals(given)
  })

  it('a refresh token is exchanged once at most, and its tokens are revoked', async () => {
    const { refresh_token = '' } = await tokens(places[0], await codeForm())
    expect(refresh_token).not.to.equal('')
    const given: Tokens[] = []
    const words = await twice('the refresh token', async (place) => {
      const answer = await tokens(place, { grant_type: 'refresh_token', refresh_token })
      given.push(answer)
      return wordOf(answer)
    })
    expect(words[0]).to.equal('invalid_grant')
    await refusedRenewals(given)
  })

  async function refusedRenewals(given: readonly Tokens[]): Promise<void> {
    for (const { refresh_token } of given) {
      if (refresh_token === undefined) continue
      const renew = (place: Place) => tokens(place, { grant_type: 'refresh_token', refresh_token })
      for (const place of places) expect(wordOf(await renew(place))).to.equal('invalid_grant')
    }
  }

  it('a request for a temporary role is decided once', async () => {
    const authorization = `${boundary}/providers/authorization`
    const grant = { principalId: person.userId, roleDefinitionName: 'Reader' }
    expect((await callOwn(own, 'POST', `${boundary}/members`, grant)).status).to.equal(201)
    const { access_token: bearer } = await tokens(places[0], await codeForm())
    const wanted = { roleDefinitionName: 'Contributor', scope: boundary, justification: 'A repair' }
    const body = JSON.stringify(wanted)
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body }
    const { id } = await until('the request is made', async () => {
      const answer = await replyTo(fetch(`${places[0].facadeUrl}${authorization}/jitRequests`, init))
      return answer.status === 201 && (JSON.parse(answer.text) as { id: string })
    })
    const path = `${authorization}/jitRequests/${id}`
    for (const place of places)
      await until(
        'the request is known',
        async () => (await callOwn(own, 'GET', path, undefined, place)).status === 200,
      )
    const decide = (verb: string, place: Place) => callOwn<Body>(own, 'POST', `${path}/${verb}`, {}, place)
    const answers = await Promise.all([decide('approve', places[0]), decide('deny', places[1])])
    const outcomes = answers.map(({ status, body }) => `${status} ${body.code ?? ''}`.trim()).sort()
    expect(outcomes).to.deep.equal(['200', '409 invalid_state'])
  })

  it('a device code is exchanged once at most', async () => {
    const begun = await fetch(places[0].tokenUrl.replace(/token$/, 'auth/device'), {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'freehold-cli', scope: 'openid' }),
    })
    const { verification_uri = '', user_code = '', device_code = '' } = (await begun.json()) as Record<string, string>
    const typed = await browser.open(verification_uri)
    const asked = await browser.submit(typed, 'Continue', { user_code })
    await browser.submit(asked, 'Yes, connect it')
    const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code }
    const words = await twice('the code of a device', async (place) => wordOf(await tokens(place, form)))
    // The second exchange ends the sign-in, maybe before the first has its tokens.
    expect(words[0]).to.equal('invalid_grant')
  })

  it('a link of a password reset sets one password', async () => {
    const email = `${person.userName}@example.com`
    await ask(places[0], 'POST', '/identity/password-reset', { email })
    const link = await tokenFromMail(email, 1, own.controlPlane.folder)
    const words = await twice('the link', (place) => {
      const password = PASSWORDS[places.indexOf(place)]
      return ask(place, 'POST', `/identity/password-reset/${link}`, { password })
    })
    expect(words).to.deep.equal(['200', '404 not_found'])
  })

  it('a link of an invitation creates one account', async () => {
    const email = `invited-${person.userName}@example.com`
    const path = `${boundary}/providers/authorization/invitations`
    await callOwn(own, 'POST', path, { email, roleDefinitionName: 'Reader' })
    const link = await tokenFromMail(email, 1, own.controlPlane.folder)
    const names = { firstName: 'Ada', lastName: 'Lovelace', password: PASSWORDS[0] }
    const send: Use = (place) => ask(place, 'POST', `/invitations/${link}/set-password`, names)
    expect(await Promise.all(places.map(send))).to.deep.equal(['200', '200'])
    const { body } = await callOwn<Body>(own, 'GET', `/admin/users?search=${email}`)
    expect(body.items).to.have.length(1)
  })

  it('a state of an installation is accepted once', async () => {
    const { body } = await callOwn<Body>(own, 'POST', `${boundary}/sources/github/create`, { displayName: 'Git' })
    const path = `${boundary}/sources/github/validate?state=${body.state}&error=access_denied`
    expect(await twice('the state', (place) => ask(place, 'GET', path))).to.deep.equal(['302', '400 state-invalid'])
  })

  it('a join token admits one agent', async () => {
    const { body: cluster } = await callOwn<Body>(own, 'POST', '/clusters', { name: 'once', displayName: 'Once' })
    const { body } = await callOwn<Body>(own, 'POST', `/clusters/${cluster.id}/join-token`, {})
    const words = await twice('the join token', ({ agentUrl }) =>
      joinHub(agentUrl, body.token, body.caFingerprint).then(
        () => 'joined',
        (error: Error) => error.message,
      ),
    )
    expect(words).to.deep.equal(['The token is wrong, was used, or has expired. Ask for a new one.', 'joined'])
    await callOwn(own, 'DELETE', `/clusters/${cluster.id}`)
  })

  it('all stay used after the operator was killed and restarted', async () => {
    await own.endOperator('SIGKILL')
    await own.startOperator()
    for (const [what, use] of used)
      for (const place of places)
        expect(await use(place), what).to.match(/invalid_grant|404 not_found|400 state-invalid|The token is wrong/)
  })
})
