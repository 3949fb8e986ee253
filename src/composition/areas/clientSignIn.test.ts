import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { startEmptyLoadBalancer } from '../../../test/worlds/loadBalancerPage.ts'
import { clientSecretCheck } from '../../identity/clientSecrets.ts'
import { limitSecrets, WRONG_SECRETS_PER_MINUTE } from '../../identity/guessLimiter.ts'
import { clientSignIn, issuerSecretCheck } from './clientSignIn.ts'

const ACCOUNT = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'

describe('clientSignIn with a remote issuer', () => {
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

  it('rejects an address after three wrong secrets, but no other address', async () => {
    for (const guess of ['a', 'b', 'c']) expect(await tokenOf(ACCOUNT, guess, '192.0.2.1')).to.equal(undefined)
    const refusal = await tokenOf(ACCOUNT, 'd', '192.0.2.1').catch((error) => error)
    expect([refusal.code, asked]).to.deep.equal(['TOO_MANY_REQUESTS', 3])
    expect(refusal.extras.retryAfterSeconds).to.be.within(1, 60)
    expect(await tokenOf(ACCOUNT, 'right', '198.51.100.7')).to.equal('token')
  })

  it('takes the page of a load balancer for an outage, not for wrong secrets', async () => {
    const balancer = await startEmptyLoadBalancer()
    const { check, close } = await issuerSecretCheck({ issuer: balancer.url })
    const behind = clientSignIn(check, limitSecrets(3))
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const failure = await behind.signIn(ACCOUNT, 'right', '192.0.2.1').catch((error) => error)
      expect(failure?.code).to.equal('UPSTREAM_FAILED')
    }
    await close()
    await balancer.stop()
  })

  it('checks only three of 12 concurrent wrong secrets', async () => {
    const before = asked
    const guesses = Array.from({ length: 12 }, (_, n) => tokenOf(ACCOUNT, `guess-${n}`, '192.0.2.9'))
    const answers = await Promise.allSettled(guesses)
    expect([asked - before, answers.filter(({ status }) => status === 'rejected').length]).to.deep.equal([3, 9])
  })

  it('accepts 12 concurrent sign-ins with the right secret', async () => {
    const signIns = Array.from({ length: 12 }, () => tokenOf(OTHER, 'right', '192.0.2.9'))
    expect(await Promise.all(signIns)).to.deep.equal(Array(12).fill('token'))
  })

  it('accepts a recently accepted secret from its address without asking the issuer, after wrong ones', async () => {
    await tokenOf(ACCOUNT, 'right', '198.51.100.7')
    for (const guess of ['a', 'b', 'c', 'd']) await tokenOf(ACCOUNT, guess, '198.51.100.7').catch(() => undefined)
    const before = asked
    expect(await tokenOf(ACCOUNT, 'right', '198.51.100.7')).to.equal('token')
    expect(asked).to.equal(before)
  })

  it('rejects an address over its limit even with a recently accepted secret', async () => {
    const refusal = await tokenOf(ACCOUNT, 'right', '192.0.2.1').catch((error) => error)
    expect(refusal.code).to.equal('TOO_MANY_REQUESTS')
  })
})

describe('clientSignIn with the local provider', () => {
  const clients = {
    find: async (clientId: string) =>
      clientId === ACCOUNT ? { clientId, secret: 'right', displayName: 'Pipeline', isEnabled: true } : undefined,
  }
  const open = () => {
    const guesses = limitSecrets()
    const { signIn } = clientSignIn(clientSecretCheck(clients, { gotToken: () => {} }), guesses)
    return { guesses, signIn }
  }

  it('accepts the right secret after wrong ones from 50 other addresses', async () => {
    const { signIn } = open()
    const strangers = Array.from({ length: 50 }, (_, n) => `203.0.113.${n + 1}`)
    const guessed = strangers.flatMap((address) =>
      Array.from({ length: WRONG_SECRETS_PER_MINUTE }, (_, n) => signIn(ACCOUNT, `guess-${n}`, address)),
    )
    expect(new Set(await Promise.all(guessed))).to.deep.equal(new Set([undefined]))
    expect(await signIn(ACCOUNT, 'right', '198.51.100.7')).to.include({ clientId: ACCOUNT })
  })

  it('shares the limit per address with other endpoints', async () => {
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

describe('clientSignIn with a recently accepted secret', () => {
  const address = '192.0.2.1'
  let right: string
  let signIn: ReturnType<typeof clientSignIn<{ uid: string }>>['signIn']
  beforeEach(() => {
    right = 'old'
    const check = async (_id: string, secret: string) => (secret === right ? { uid: 'u1' } : undefined)
    ;({ signIn } = clientSignIn(check, limitSecrets(2), { checksAgain: true }))
  })

  it('rejects it after the secret of the account changed, and counts it as wrong', async () => {
    expect(await signIn(ACCOUNT, 'old', address)).to.deep.equal({ uid: 'u1' })
    right = 'new'
    for (const _ of [1, 2]) expect(await signIn(ACCOUNT, 'old', address)).to.equal(undefined)
    const refusal = await signIn(ACCOUNT, 'new', address).catch((error) => error)
    expect(refusal.code).to.equal('TOO_MANY_REQUESTS')
  })

  it('accepts it from an address over its limit', async () => {
    await signIn(ACCOUNT, 'old', address)
    for (const guess of ['a', 'b', 'c']) await signIn(ACCOUNT, guess, address).catch(() => undefined)
    expect(await signIn(ACCOUNT, 'old', address)).to.deep.equal({ uid: 'u1' })
  })
})
