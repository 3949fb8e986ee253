import type { RequestListener } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

const WORD = 'Correct-horse-7'

/** The facade knows two invitations: `new` of a person without an account, `known` of one with an account. */
describe('invitations and passwords in the CLI', () => {
  let commands: CommandsAtServer
  let calls: { what: string; token: string | undefined; body: unknown }[]

  const invitationOf = (requiresPassword: boolean) => ({
    email: 'carl@example.com',
    boundary: 'Shop',
    requiresPassword,
  })
  const answers: Record<string, object> = {
    'GET /invitations/new': invitationOf(true),
    'GET /invitations/known': invitationOf(false),
    'POST /invitations/new/set-password': {},
    'POST /invitations/accept': { roleDefinitionName: 'Reader', scope: '/boundaries/b1/resourcegroups/shop' },
    'POST /identity/password-reset': {},
    'GET /identity/password-reset/fresh': {},
    'POST /identity/password-reset/fresh': {},
    'POST /identity/change-password': {},
  }

  beforeEach(async () => {
    calls = []
    const listener: RequestListener = async (request, response) => {
      const what = `${request.method} ${request.url}`
      const body = request.method === 'GET' ? undefined : await json(request)
      calls.push({ what, token: request.headers.authorization, body })
      const answer = answers[what]
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? { error: 'The invitation was not found.', code: 'not_found' }))
    }
    commands = await CommandsAtServer.start(listener, {
      token: 'carls-token',
      readPassword: () => Promise.resolve(WORD),
    })
  })
  afterEach(() => commands.stop())

  const freehold = (...words: string[]) => commands.freehold(...words)

  it('create the account of an invited person without a token, and name the next command', async () => {
    const link = 'https://platform.example/invitations/new'
    expect(
      await freehold('invitation', 'accept', link, '--first-name', 'Carl', '--last-name', 'C'),
      commands.said,
    ).to.equal(0)
    expect(calls).to.deep.equal([
      { what: 'GET /invitations/new', token: undefined, body: undefined },
      {
        what: 'POST /invitations/new/set-password',
        token: undefined,
        body: { password: WORD, firstName: 'Carl', lastName: 'C' },
      },
    ])
    expect(commands.said).to.include('freehold login').and.not.include(WORD)
  })

  it('require the names of a person without an account', async () => {
    expect(await freehold('invitation', 'accept', 'new')).to.equal(2)
    expect(commands.said).to.include('--first-name')
  })

  it('accept an invitation with the token of the signed-in person', async () => {
    expect(await freehold('invitation', 'accept', 'known'), commands.said).to.equal(0)
    expect(calls.at(-1)).to.deep.equal({
      what: 'POST /invitations/accept',
      token: 'Bearer carls-token',
      body: { token: 'known' },
    })
    expect(commands.said).to.include('You are Reader in Shop.\n').and.include('`freehold use -b b1 -g shop`')
  })

  it("print the platform's error if the invitation is not found", async () => {
    expect(await freehold('invitation', 'accept', 'gone')).to.equal(1)
    expect(commands.said).to.include('The invitation was not found.')
  })

  it('request a password reset, use its link and change a password', async () => {
    expect(await freehold('password', 'reset', 'carl@example.com'), commands.said).to.equal(0)
    expect(
      await freehold('password', 'reset', 'https://platform.example/identity/password-reset/fresh'),
      commands.said,
    ).to.equal(0)
    expect(await freehold('password', 'change'), commands.said).to.equal(0)
    expect(calls).to.deep.equal([
      { what: 'POST /identity/password-reset', token: undefined, body: { email: 'carl@example.com' } },
      { what: 'GET /identity/password-reset/fresh', token: undefined, body: undefined },
      { what: 'POST /identity/password-reset/fresh', token: undefined, body: { password: WORD } },
      { what: 'POST /identity/change-password', token: 'Bearer carls-token', body: { password: WORD } },
    ])
  })

  it('reject an unknown action without a request', async () => {
    expect(await freehold('invitation', 'refuse', 'new')).to.equal(2)
    expect(await freehold('password', 'forget')).to.equal(2)
    expect(calls).to.deep.equal([])
  })
})
