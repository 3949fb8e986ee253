import { expect } from 'chai'
import { NOW, RIGHT, SECONDS, SUBJECT, WRONG } from '../../../test/cases/forgedTokens.ts'
import { outcome, tokenWorld } from '../../../test/worlds/tokenWorld.ts'
import { PlatformError } from '../../core/errors.ts'
import { authorizationHeader, type Caller, TOKEN_ALGORITHMS } from './tokens.ts'

describe('access tokens', () => {
  const world = tokenWorld()

  for (const algorithm of TOKEN_ALGORITHMS) {
    describe(algorithm, () => {
      for (const [name, make] of Object.entries(RIGHT)) {
        it(`accepts ${name}`, async () => {
          expect(await outcome(world.verifier, await make(world.forgeOf(algorithm)))).to.equal(SUBJECT)
        })
      }
      for (const [name, make] of Object.entries(WRONG)) {
        it(`refuses ${name}`, async () => {
          const wrong = await make(world.forgeOf(algorithm))
          expect(await outcome(world.verifier, wrong), 'at once').to.equal('UNAUTHORIZED')
          await world.verifier.verify(`Bearer ${await world.forgeOf(algorithm).good()}`)
          expect(await outcome(world.verifier, wrong), 'beside a good token').to.equal('UNAUTHORIZED')
        })
      }
    })
  }

  it('are signed by asymmetric algorithms only', () =>
    expect(TOKEN_ALGORITHMS).to.have.members(['RS256', 'PS256', 'ES256', 'EdDSA']))

  it('has at least 60 wrong tokens', () => expect(Object.keys(WRONG)).to.have.length.of.at.least(60))

  describe('their caller', () => {
    const callerOf = async (changed: Record<string, unknown>): Promise<Caller> =>
      world.verifier.verify(`Bearer ${await world.forgeOf().sign(changed)}`)
    const PERSON = { azp: 'platform-cli', client_id: undefined, sid: 'session', preferred_username: 'ada' }

    for (const [sentence, changed, wanted] of [
      ['is a service principal if sub, azp and client_id are equal', {}, 'ServicePrincipal'],
      ['is a service principal if azp equals sub', { client_id: undefined }, 'ServicePrincipal'],
      [
        'is a service principal for a service account of Keycloak without a session',
        { azp: 'Build', client_id: 'Build', preferred_username: 'service-account-build' },
        'ServicePrincipal',
      ],
      ['is a user with another client', PERSON, 'User'],
      [
        'is a user with the name of a service account and a session',
        { ...PERSON, preferred_username: 'service-account-platform-cli' },
        'User',
      ],
      [
        'is a user with the name of the service account of another client',
        { ...PERSON, sid: undefined, preferred_username: 'service-account-x' },
        'User',
      ],
      ['is a user without azp and client_id', { azp: undefined, client_id: undefined }, 'User'],
    ] as const) {
      it(sentence, async () => expect((await callerOf(changed)).principalType).to.equal(wanted))
    }

    it('has display name, verified email and times in milliseconds', async () => {
      const person = { ...PERSON, name: 'Ada', email: 'ada@example.com', email_verified: true, auth_time: SECONDS - 60 }
      expect(await callerOf(person)).to.deep.equal({
        principalId: SUBJECT,
        principalType: 'User',
        displayName: 'Ada',
        email: 'ada@example.com',
        sessionId: PERSON.sid,
        authTime: NOW - 60_000,
        expiresAt: NOW + 890_000,
      })
    })

    it('has no email unless email_verified is true', async () => {
      for (const email_verified of [false, undefined, 'true', 1]) {
        expect(await callerOf({ ...PERSON, email: 'ada@example.com', email_verified })).to.not.have.property('email')
      }
    })

    it('has no display name if it is not a string or too long', async () => {
      expect(await callerOf({ name: { first: 'Ada' } })).to.not.have.property('displayName')
      expect(await callerOf({ name: 'x'.repeat(257) })).to.not.have.property('displayName')
    })
  })

  it('are verified once and cached until they expire', async () => {
    const authorization = `Bearer ${await world.forgeOf().good()}`
    const first = await world.verifier.verify(authorization)
    expect(await world.verifier.verify(authorization)).to.equal(first)
    world.timeIs(919_000)
    expect(await outcome(world.verifier, authorization)).to.equal(SUBJECT)
    world.timeIs(920_000)
    expect(await outcome(world.verifier, authorization)).to.equal('UNAUTHORIZED')
  })

  it('are cached with their signature, so that another signature is rejected', async () => {
    const good = await world.forgeOf().good()
    await world.verifier.verify(`Bearer ${good}`)
    const [first, second] = good.split('.')
    const other = (await world.forgeOf().sign({ name: 'x' })).split('.')[2]
    expect(await outcome(world.verifier, `Bearer ${first}.${second}.${other}`)).to.equal('UNAUTHORIZED')
  })

  it('are refused with a reason that does not quote them', async () => {
    const expired = await world.forgeOf().sign({ iat: SECONDS - 900, exp: SECONDS - 60, secret: 'a-private-claim' })
    const message = await world.verifier.verify(`Bearer ${expired}`).catch((error: Error) => error.message)
    expect(message).to.equal('The access token has expired; request a new one.')
  })

  describe('authorizationHeader', () => {
    it('returns the header, and rejects two of them', () => {
      expect(authorizationHeader({ headers: {}, rawHeaders: [] })).to.equal(undefined)
      expect(
        authorizationHeader({ headers: { authorization: 'Bearer x' }, rawHeaders: ['Authorization', 'Bearer x'] }),
      ).to.equal('Bearer x')
      expect(() =>
        authorizationHeader({
          headers: { authorization: 'Bearer x' },
          rawHeaders: ['Authorization', 'Bearer x', 'authorization', 'Bearer x'],
        }),
      ).to.throw(PlatformError, /more than one/)
      const others = ['Authorization', 'Bearer x', 'x-forwarded-x', 'a', 'Authorization2', 'b']
      expect(authorizationHeader({ headers: { authorization: 'Bearer x' }, rawHeaders: others })).to.equal('Bearer x')
    })
  })
})
