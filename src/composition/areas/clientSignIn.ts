import { Agent, request } from 'undici'
import { z } from 'zod'
import type { Configuration } from '../../config.ts'
import { PlatformError } from '../../core/errors.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { sha256 } from '../../core/names.ts'
import type { SecretCheck } from '../../identity/clientSecrets.ts'
import type { GuessLimiter } from '../../identity/guessLimiter.ts'
import { issuerConnector } from '../issuerTrust.ts'

const TIMEOUT_MS = 5_000
/** Milliseconds for which a verified secret is remembered; access tokens live longer. */
const VERIFIED_TTL_MS = 60_000

const Answer = z.object({ access_token: z.string().max(16_384) })
/** RFC 6749 section 5.2. A load balancer before the issuer has pages of its own. */
const Refusal = z.object({ error: z.string() })

/**
 * Signs in service accounts with their secret, with a limit on wrong guesses.
 *
 * @param check verifies a secret; not called beyond the limit
 * @param guesses limits per address and account, so that guessing only blocks the guesser
 * @param looksAgain whether to verify a remembered secret again, so that rotation invalidates the old one at once
 */
export function clientSignIn<T extends object>(
  check: SecretCheck<T>,
  guesses: GuessLimiter,
  { checksAgain = false }: { checksAgain?: boolean } = {},
) {
  // Successful callers bypass the limit, so that others at their address cannot block them.
  const verified = createLruCache<string, T>(10_000, VERIFIED_TTL_MS)
  return {
    /**
     * Returns the result of `check`; undefined if the secret is wrong.
     *
     * @param address of the client
     * @throws PlatformError TOO_MANY_REQUESTS, and any error of `check`
     */
    async signIn(clientId: string, secret: string, address: string): Promise<T | undefined> {
      // Includes the address: otherwise other addresses could test guesses beyond the limit.
      const pair = sha256(JSON.stringify([address, clientId, secret]))
      const held = verified.get(pair)
      const valid = held !== undefined && checksAgain ? await check(clientId, secret) : held
      if (valid !== undefined) return valid
      verified.delete(pair)
      const judged = await guesses.judge(address, clientId, async () => {
        // Another request may have verified it while this one waited.
        const found = verified.get(pair) ?? (await check(clientId, secret))
        if (found !== undefined) verified.set(pair, found)
        return found
      })
      if ('blockedFor' in judged) throw tooMany(judged.blockedFor)
      return judged.value
    },
  }
}

type Options = Pick<Configuration, 'issuer' | 'issuerCertificateAuthority'>

/**
 * Verifies secrets at an external identity provider, whose access token then identifies the account. To it, all callers
 * have the same address; its administrator may set further limits.
 */
export async function issuerSecretCheck(options: Options) {
  const { issuer } = options
  const connect = issuerConnector(options)
  const agent = new Agent({ connect, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS })

  /** @throws PlatformError TOO_MANY_REQUESTS, UPSTREAM_FAILED */
  const check: SecretCheck<{ accessToken: string }> = async (clientId, secret) => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret }
    try {
      const answer = await request(`${issuer}/protocol/openid-connect/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
        dispatcher: agent,
      })
      const body = await answer.body.json().catch(() => undefined)
      if (answer.statusCode === 200) return { accessToken: Answer.parse(body).access_token }
      if (answer.statusCode === 429) throw tooMany(Number(answer.headers['retry-after']) || 60)
      if (answer.statusCode < 500 && Refusal.safeParse(body).success) return undefined
      throw new Error(`status ${answer.statusCode}`)
    } catch (cause) {
      if (cause instanceof PlatformError) throw cause
      throw new PlatformError('UPSTREAM_FAILED', 'The identity provider is not available.', {}, { cause })
    }
  }
  return { check, close: () => agent.close() }
}

function tooMany(retryAfterSeconds: number): PlatformError {
  const message = `There were too many wrong sign-ins: try again in ${retryAfterSeconds} s.`
  return new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds })
}
