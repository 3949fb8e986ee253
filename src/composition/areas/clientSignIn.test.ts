import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { clientSignIn } from './clientSignIn.ts'

const ACCOUNT = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'

describe('signing service accounts in', () => {
  let asked = 0
  const provider = createServer((request, response) => {
    asked += 1
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const isRight = new URLSearchParams(Buffer.concat(chunks).toString()).get('client_secret') === 'right'
      response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isRight ? { access_token: 'token' } : { error: 'invalid_client' }))
    })
  })
  let accounts: Awaited<ReturnType<typeof clientSignIn>>
  before(async () => {
    await new Promise<void>((listening) => provider.listen(0, '127.0.0.1', listening))
    const { port } = provider.address() as AddressInfo
    accounts = await clientSignIn({ issuer: `http://127.0.0.1:${port}` })
  })
  after(async () => {
    await accounts.close()
    provider.close()
  })

  it('holds back an address that guesses, before it keeps out others', async () => {
    for (const guess of ['a', 'b', 'c']) expect(await accounts.tokenOf(ACCOUNT, guess, '192.0.2.1')).to.equal(undefined)
    const refusal = await accounts.tokenOf(ACCOUNT, 'd', '192.0.2.1').catch((error) => error)
    expect([refusal.code, asked]).to.deep.equal(['TOO_MANY_REQUESTS', 3])
    expect(refusal.extras.retryAfterSeconds).to.be.within(1, 60)
    expect(await accounts.tokenOf(ACCOUNT, 'right', '198.51.100.7')).to.equal('token')
  })

  it('asks about no more wrong secrets than the limit, also when they come all at once', async () => {
    const before = asked
    const guesses = Array.from({ length: 12 }, (_, n) => accounts.tokenOf(ACCOUNT, `guess-${n}`, '192.0.2.9'))
    const answers = await Promise.allSettled(guesses)
    expect([asked - before, answers.filter(({ status }) => status === 'rejected').length]).to.deep.equal([3, 9])
  })

  it('lets a program be right as often at once as it likes', async () => {
    const signIns = Array.from({ length: 12 }, () => accounts.tokenOf(OTHER, 'right', '192.0.2.9'))
    expect(await Promise.all(signIns)).to.deep.equal(Array(12).fill('token'))
  })

  it('asks nobody again about a secret that was right a moment ago, whatever is guessed at that address', async () => {
    await accounts.tokenOf(ACCOUNT, 'right', '198.51.100.7')
    for (const guess of ['a', 'b', 'c', 'd'])
      await accounts.tokenOf(ACCOUNT, guess, '198.51.100.7').catch(() => undefined)
    const before = asked
    expect(await accounts.tokenOf(ACCOUNT, 'right', '198.51.100.7')).to.equal('token')
    expect(asked).to.equal(before)
  })

  it('tells an address past its limit nothing, though the secret was right elsewhere a moment ago', async () => {
    const refusal = await accounts.tokenOf(ACCOUNT, 'right', '192.0.2.1').catch((error) => error)
    expect(refusal.code).to.equal('TOO_MANY_REQUESTS')
  })
})
