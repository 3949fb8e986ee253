import { createServer } from 'node:http'
import { expect } from 'chai'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { forge, goodClaims, pairOf, SECONDS, SUBJECT } from '../../../test/cases/forgedTokens.ts'
import { outcome, tokenWorld } from '../../../test/worlds/tokenWorld.ts'
import { closeServer } from '../../core/closeServer.ts'
import { listen } from '../../core/listen.ts'
import { keyFetcher } from './tokenKeys.ts'
import { TOKEN_ALGORITHMS } from './tokens.ts'

describe('the keys of the token issuer', () => {
  const world = tokenWorld()

  it('are fetched once for concurrent tokens', async () => {
    const tokens = await Promise.all(TOKEN_ALGORITHMS.map((algorithm) => world.forgeOf(algorithm).good()))
    await Promise.all(tokens.map((token) => world.verifier.verify(`Bearer ${token}`)))
    expect(world.fetches).to.equal(1)
  })

  it('are fetched for unknown key ids at most 4 times in a row, then once in 30 s', async () => {
    await world.verifier.verify(`Bearer ${await world.forgeOf().good()}`)
    const bogus = await Promise.all([...Array(10).keys()].map((n) => world.forgeOf().sign({}, { kid: `bogus-${n}` })))
    for (const token of bogus) expect(await outcome(world.verifier, `Bearer ${token}`)).to.equal('UNAUTHORIZED')
    expect(world.fetches, 'none beside another').to.equal(1)
    for (let second = 1; second <= 600; second += 1) {
      world.timeIs(second * 1000)
      await Promise.all(bogus.map((token) => outcome(world.verifier, `Bearer ${token}`)))
      const wanted = second < 33 ? Math.min(second + 1, 4) : 5
      if (second < 63) expect(world.fetches, `after ${second} s`).to.equal(wanted)
    }
    expect(world.fetches).to.be.within(20, 24)
  })

  const replaceKeys = async () => {
    await world.verifier.verify(`Bearer ${await world.forgeOf().good()}`)
    const next = await pairOf('ES256', 'next')
    world.published = [next.jwk]
    return `Bearer ${await forge('ES256', next, next).sign()}`
  }

  it('are fetched again 1 s later when all were replaced', async () => {
    const authorization = await replaceKeys()
    world.timeIs(1_000)
    expect(await outcome(world.verifier, authorization)).to.equal(SUBJECT)
  })

  it('are replaced at once after changed()', async () => {
    const authorization = await replaceKeys()
    await world.keys.changed()
    expect(await outcome(world.verifier, authorization)).to.equal(SUBJECT)
    expect(await outcome(world.verifier, `Bearer ${await world.forgeOf().good()}`)).to.equal('UNAUTHORIZED')
  })

  it('are fetched once while the issuer is unavailable', async () => {
    await world.verifier.verify(`Bearer ${await world.forgeOf().good()}`)
    world.isIssuerDown = true
    world.timeIs(30_000)
    const bogus = await world.forgeOf().sign({}, { kid: 'bogus' })
    for (let n = 0; n < 20; n += 1) await outcome(world.verifier, `Bearer ${bogus}`)
    expect(world.fetches).to.equal(2)
  })

  it('are extended by a new key when a token uses it', async () => {
    await world.verifier.verify(`Bearer ${await world.forgeOf().good()}`)
    const next = await pairOf('ES256', 'next')
    const token = await forge('ES256', next, next).sign()
    world.published.push(next.jwk)
    world.timeIs(30_000)
    expect(await outcome(world.verifier, `Bearer ${token}`)).to.equal(SUBJECT)
    expect(await outcome(world.verifier, `Bearer ${await world.forgeOf().good()}`), 'the old key').to.equal(SUBJECT)
  })

  it('are invalid once removed, for cached tokens too', async () => {
    const authorization = `Bearer ${await world.forgeOf().sign({ iat: SECONDS, exp: SECONDS + 3600 })}`
    await world.verifier.verify(authorization)
    world.published = world.published.filter((key) => key.kid !== 'key-ES256')
    world.timeIs(61_000)
    await outcome(world.verifier, authorization)
    // Joins the fetch that the previous call started without waiting for it.
    await world.keys.renewed()
    expect(world.fetches).to.equal(2)
    expect(await outcome(world.verifier, authorization)).to.equal('UNAUTHORIZED')
  })

  it('are fetched again a minute after each fetch while they are in use', async () => {
    const token = () => world.forgeOf().sign({ iat: world.clock.now() / 1000, exp: world.clock.now() / 1000 + 900 })
    for (const [second, fetches] of [
      [0, 1],
      [60, 1],
      [61, 2],
      [121, 2],
      [122, 3],
    ] as const) {
      world.timeIs(second * 1_000)
      expect(await outcome(world.verifier, `Bearer ${await token()}`)).to.equal(SUBJECT)
      // What a call started without waiting for it.
      await world.keys.stop()
      expect(world.fetches, `after ${second} s`).to.equal(fetches)
    }
  })

  it('are invalid once their id belongs to another key', async () => {
    const authorization = `Bearer ${await world.forgeOf().sign({ iat: SECONDS, exp: SECONDS + 3600 })}`
    await world.verifier.verify(authorization)
    const other = await pairOf('ES256', 'key-ES256')
    world.published = [other.jwk]
    world.timeIs(11 * 60_000)
    expect(await outcome(world.verifier, authorization)).to.equal('UNAUTHORIZED')
  })

  it('remain valid while the issuer is unavailable', async () => {
    const token = () => world.forgeOf().sign({ iat: world.clock.now() / 1000, exp: world.clock.now() / 1000 + 900 })
    await world.verifier.verify(`Bearer ${await token()}`)
    world.isIssuerDown = true
    for (const minutes of [2, 11, 120]) {
      world.timeIs(minutes * 60_000)
      expect(await outcome(world.verifier, `Bearer ${await token()}`)).to.equal(SUBJECT)
    }
    expect(world.fetches).to.be.above(2)
  })

  it('yield SERVICE_UNAVAILABLE until the first successful fetch', async () => {
    world.isIssuerDown = true
    const authorization = `Bearer ${await world.forgeOf().good()}`
    expect(await outcome(world.verifier, authorization)).to.equal('SERVICE_UNAVAILABLE')
    expect(await outcome(world.verifier, undefined)).to.equal('UNAUTHORIZED')
    for (let second = 1; second < 10; second += 1) {
      world.timeIs(second * 1_000)
      expect(await outcome(world.verifier, authorization)).to.equal('SERVICE_UNAVAILABLE')
    }
    world.isIssuerDown = false
    world.timeIs(10_000)
    expect(await outcome(world.verifier, authorization)).to.equal(SUBJECT)
  })

  it('are accepted with the algorithms of TOKEN_ALGORITHMS only', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS512')
    world.published = [{ ...(await exportJWK(publicKey)), kid: 'any-algorithm' }]
    const protectedHeader = { alg: 'RS512', typ: 'at+jwt', kid: 'any-algorithm' }
    const token = await new SignJWT(goodClaims).setProtectedHeader(protectedHeader).sign(privateKey)
    expect(await outcome(world.verifier, `Bearer ${token}`)).to.equal('UNAUTHORIZED')
  })

  it('are kept if the issuer answers something else', async () => {
    await world.verifier.verify(`Bearer ${await world.forgeOf().good()}`)
    world.published = null as never
    world.timeIs(61_000)
    await world.keys.renewed()
    expect(await outcome(world.verifier, `Bearer ${await world.forgeOf().good()}`)).to.equal(SUBJECT)
    expect(world.fetches).to.equal(2)
  })

  it('are rejected if they contain the private key', async () => {
    const { ours } = world.pairs.get('RS256') ?? { ours: world.encryption }
    const withPrivate = { ...(await exportJWK(ours.privateKey)), kid: ours.kid, alg: 'RS256', use: 'sig' }
    world.published = [withPrivate]
    expect(await outcome(world.verifier, `Bearer ${await world.forgeOf('RS256').good()}`)).to.equal('UNAUTHORIZED')
  })
})

describe('keyFetcher', () => {
  const GOOD = '{"keys":[]}'
  const answers: Record<string, [number, string, object?]> = {
    '/keys': [200, GOOD],
    '/moved': [302, GOOD, { location: '/keys' }],
    '/failed': [500, GOOD],
    '/text': [200, 'keys'],
    '/most': [200, GOOD.padEnd(256 * 1024)],
    '/more': [200, GOOD.padEnd(256 * 1024 + 1)],
  }
  const server = createServer(({ url = '' }, response) => {
    const [status, body, headers] = answers[url] ?? [404, '']
    response.writeHead(status, { ...headers }).end(body)
  })
  let origin: string
  before(async () => {
    origin = `http://127.0.0.1:${await listen(server, 'The issuer', { port: 0, host: '127.0.0.1' })}`
  })
  after(() => closeServer(server, 1_000))

  const cases = {
    '/keys': 'no problem',
    '/moved': 'answered 302',
    '/failed': 'answered 500',
    '/text': 'not JSON',
    '/most': 'no problem',
    '/more': 'more than 262144 bytes',
  }
  for (const [path, problem] of Object.entries(cases))
    it(`says of ${path}: ${problem}`, async () => {
      const { fetchKeys, close } = keyFetcher(`${origin}${path}`, undefined)
      const said = await fetchKeys().then(
        (answer) => `no problem: ${JSON.stringify(answer)}`,
        (error: Error) => error.message,
      )
      await close()
      expect(said).to.include(problem)
    })
})
