import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { clientSecretCheck } from '../../identity/clientSecrets.ts'
import { limitSecrets, WRONG_SECRETS_PER_MINUTE } from '../../identity/guessLimiter.ts'
import { clientSignIn, issuerSecretCheck } from './clientSignIn.ts'

const ACCOUNT = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'

describe('signing service accounts in', () => {
  let asked = 0
  const provider = createServer((incoming, response) => {
    asked += 1
    const chunks: Buffer[] = []
    incoming.on('data', (chunk) => chunks.push(chunk))
    incoming.on('end', () => {
      const isRight = new URLSearchParams(Buffer.concat(chunks).toString()).get('client_secret') === 'right'
      response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isRight ? { access_token: 'token' } : { error: 'invalid_client' }))
    })
  })
  let issuer: Awaited<ReturnType<typeof issuerSecretCheck>>
  let accounts: ReturnType<typeof clientSignIn<{ accessToken: string }>>
  before(async () => {
    await new Promise<void>((listening) => provider.listen(0, '127.0.0.1', listening))
    const { port } = provider.address() as AddressInfo
    issuer = await issuerSecretCheck({ issuer: `http://127.0.0.1:${port}` })
    accounts = clientSignIn(issuer.check, limitSecrets(3))
  })
  after(async () => {
    await issuer.close()
    provider.close()
  })

  const tokenOf = async (id: string, secret: string, address: string) =>
    (await accounts.signIn(id, secret, address))?.accessToken

  it('holds back an address that guesses, before it keeps out others', async () => {
    for (const guess of ['a', 'b', 'c']) expect(await tokenOf(ACCOUNT, guess, '192.0.2.1')).to.equal(undefined)
    const refusal = await tokenOf(ACCOUNT, 'd', '192.0.2.1').catch((error) => error)
    expect([refusal.code, asked]).to.deep.equal(['TOO_MANY_REQUESTS', 3])
    expect(refusal.extras.retryAfterSeconds).to.be.within(1, 60)
    expect(await tokenOf(ACCOUNT, 'right', '198.51.100.7')).to.equal('token')
  })

  it('asks about no more wrong secrets than the limit, also when they come all at once', async () => {
    const before = asked
    const guesses = Array.from({ length: 12 }, (_, n) => tokenOf(ACCOUNT, `guess-${n}`, '192.0.2.9'))
    const answers = await Promise.allSettled(guesses)
    expect([asked - before, answers.filter(({ status }) => status === 'rejected').length]).to.deep.equal([3, 9])
  })

  it('lets a program be right as often at once as it likes', async () => {
    const signIns = Array.from({ length: 12 }, () => tokenOf(OTHER, 'right', '192.0.2.9'))
    expect(await Promise.all(signIns)).to.deep.equal(Array(12).fill('token'))
  })

  it('asks nobody again about a secret that was right a moment ago, whatever is guessed at that address', async () => {
    await tokenOf(ACCOUNT, 'right', '198.51.100.7')
    for (const guess of ['a', 'b', 'c', 'd']) await tokenOf(ACCOUNT, guess, '198.51.100.7').catch(() => undefined)
    const before = asked
    expect(await tokenOf(ACCOUNT, 'right', '198.51.100.7')).to.equal('token')
    expect(asked).to.equal(before)
  })

  it('tells an address past its limit nothing, though the secret was right elsewhere a moment ago', async () => {
    const refusal = await tokenOf(ACCOUNT, 'right', '192.0.2.1').catch((error) => error)
    expect(refusal.code).to.equal('TOO_MANY_REQUESTS')
  })
})

describe('signing service accounts in beside the local provider', () => {
  const clients = {
    find: async (clientId: string) =>
      clientId === ACCOUNT ? { clientId, secret: 'right', displayName: 'Pipeline', isEnabled: true } : undefined,
  }
  const open = () => {
    const guesses = limitSecrets()
    const { signIn } = clientSignIn(clientSecretCheck(clients, { gotToken: () => {} }), guesses)
    return { guesses, signIn }
  }

  it('keeps an account out nowhere else, however many addresses guess', async () => {
    const { signIn } = open()
    const strangers = Array.from({ length: 50 }, (_, n) => `203.0.113.${n + 1}`)
    const guessed = strangers.flatMap((address) =>
      Array.from({ length: WRONG_SECRETS_PER_MINUTE }, (_, n) => signIn(ACCOUNT, `guess-${n}`, address)),
    )
    expect(new Set(await Promise.all(guessed))).to.deep.equal(new Set([undefined]))
    expect(await signIn(ACCOUNT, 'right', '198.51.100.7')).to.include({ clientId: ACCOUNT })
  })

  it('looks at exactly the limit from one address, at all doors together', async () => {
    const { guesses, signIn } = open()
    const address = '192.0.2.1'
    await guesses.judge(address, ACCOUNT, async () => undefined)
    for (let n = 1; n < WRONG_SECRETS_PER_MINUTE; n += 1)
      expect(await signIn(ACCOUNT, `guess-${n}`, address)).to.equal(undefined)
    const refusal = await signIn(ACCOUNT, 'right', address).catch((error) => error)
    expect(refusal.code).to.equal('TOO_MANY_REQUESTS')
    expect(await guesses.judge(address, ACCOUNT, async () => 'right')).to.have.property('blockedFor')
  })
})

describe('a secret that was right a moment ago', () => {
  const address = '192.0.2.1'
  let right: string
  let signIn: ReturnType<typeof clientSignIn<{ uid: string }>>['signIn']
  beforeEach(() => {
    right = 'old'
    const check = async (_id: string, secret: string) => (secret === right ? { uid: 'u1' } : undefined)
    ;({ signIn } = clientSignIn(check, limitSecrets(2), { looksAgain: true }))
  })

  it('is wrong at once when the account has another one, and counts as a guess', async () => {
    expect(await signIn(ACCOUNT, 'old', address)).to.deep.equal({ uid: 'u1' })
    right = 'new'
    for (const _ of [1, 2]) expect(await signIn(ACCOUNT, 'old', address)).to.equal(undefined)
    const refusal = await signIn(ACCOUNT, 'new', address).catch((error) => error)
    expect(refusal.code).to.equal('TOO_MANY_REQUESTS')
  })

  it('is looked at again past the limit, whatever is guessed at that address', async () => {
    await signIn(ACCOUNT, 'old', address)
    for (const guess of ['a', 'b', 'c']) await signIn(ACCOUNT, guess, address).catch(() => undefined)
    expect(await signIn(ACCOUNT, 'old', address)).to.deep.equal({ uid: 'u1' })
  })
})
