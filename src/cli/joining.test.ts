import type { RequestListener } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'

const WORD = 'Correct-horse-7'

/** A facade that knows two links: a new person is invited by `new`, one with an account by `known`. */
describe('joining from the command line', () => {
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

  it('makes the account of an invited person, as nobody, and says what comes next', async () => {
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

  it('wants the names of a person without an account', async () => {
    expect(await freehold('invitation', 'accept', 'new')).to.equal(2)
    expect(commands.said).to.include('--first-name')
  })

  it('accepts as the person who is signed in', async () => {
    expect(await freehold('invitation', 'accept', 'known'), commands.said).to.equal(0)
    expect(calls.at(-1)).to.deep.equal({
      what: 'POST /invitations/accept',
      token: 'Bearer carls-token',
      body: { token: 'known' },
    })
    expect(commands.said).to.include('You are Reader in Shop.\n').and.include('`freehold use -b b1 -g shop`')
  })

  it('says what the platform says of a link that cannot be used', async () => {
    expect(await freehold('invitation', 'accept', 'gone')).to.equal(1)
    expect(commands.said).to.include('The invitation was not found.')
  })

  it('asks for the link of a reset, uses it, and changes a password', async () => {
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

  it('knows no other action', async () => {
    expect(await freehold('invitation', 'refuse', 'new')).to.equal(2)
    expect(await freehold('password', 'forget')).to.equal(2)
    expect(calls).to.deep.equal([])
  })
})
