import type { JWK } from 'jose'
import { createTokenKeys, type TokenKeys } from '../../src/api/callers/tokenKeys.ts'
import { createTokenVerifier, TOKEN_ALGORITHMS, type TokenVerifier } from '../../src/api/callers/tokens.ts'
import { PlatformError } from '../../src/core/errors.ts'
import { silentLog } from '../../src/core/log.ts'
import { type Algorithm, AUDIENCE, type Forge, forge, ISSUER, NOW, type Pair, pairOf } from '../cases/forgedTokens.ts'
import { ManualClock } from '../make/clock.ts'

/** The subject of the token, or the code of the refusal. */
export async function outcome(verifier: TokenVerifier, authorization: string | undefined): Promise<string> {
  try {
    return (await verifier.verify(authorization)).principalId
  } catch (error) {
    return error instanceof PlatformError ? error.code : String(error)
  }
}

/** A verifier and the issuer whose keys it fetches, new for each test. */
export function tokenWorld() {
  let clock: ManualClock
  let published: JWK[]
  let fetches: number
  let isIssuerDown: boolean
  let keys: TokenKeys
  let verifier: TokenVerifier
  const pairs = new Map<string, { ours: Pair; stranger: Pair }>()
  let encryption: Pair

  before(async () => {
    for (const algorithm of TOKEN_ALGORITHMS) {
      pairs.set(algorithm, {
        ours: await pairOf(algorithm, `key-${algorithm}`),
        stranger: await pairOf(algorithm, 'other'),
      })
    }
    encryption = await pairOf('RS256', 'encryption')
  })

  beforeEach(() => {
    clock = new ManualClock(NOW)
    fetches = 0
    isIssuerDown = false
    published = [...pairs.values()].map(({ ours }) => ours.jwk)
    published.push({ ...encryption.jwk, use: 'enc', alg: 'RSA-OAEP' }, { kty: 'oct', k: 'AAAA', kid: 'x' })
    verifier = create()
  })

  afterEach(() => verifier.stop())

  function create(): TokenVerifier {
    keys = createTokenKeys({
      clock,
      log: silentLog,
      async fetchKeys() {
        fetches += 1
        if (isIssuerDown) throw new Error('the issuer is away')
        return { keys: published }
      },
    })
    return createTokenVerifier({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwksUrl: `${ISSUER}/protocol/openid-connect/certs`,
      clock,
      log: silentLog,
      keys,
    })
  }
  /** So many milliseconds after NOW. */
  const timeIs = (milliseconds: number) => clock.freeze(NOW + milliseconds - clock.now())

  function forgeOf(algorithm: Algorithm = 'ES256'): Forge {
    const pair = pairs.get(algorithm)
    if (pair === undefined) throw new Error(`no key for ${algorithm}`)
    return forge(algorithm, pair.ours, pair.stranger)
  }

  return {
    get clock() {
      return clock
    },
    /** The keys that the issuer publishes. */
    get published() {
      return published
    },
    set published(value: JWK[]) {
      published = value
    },
    /** The number of fetches. */
    get fetches() {
      return fetches
    },
    set isIssuerDown(value: boolean) {
      isIssuerDown = value
    },
    get keys() {
      return keys
    },
    get verifier() {
      return verifier
    },
    get encryption() {
      return encryption
    },
    pairs,
    timeIs,
    forgeOf,
  }
}
