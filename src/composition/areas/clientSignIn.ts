import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { z } from 'zod'
import type { Configuration } from '../../config.ts'
import { PlatformError } from '../../core/errors.ts'
import { sha256 } from '../../core/names.ts'
import { recentlyUsed } from '../../core/recentlyUsed.ts'
import type { SecretCheck } from '../../identity/clientSecrets.ts'
import type { Guesses } from '../../identity/guesses.ts'

/** Milliseconds. */
const TIMEOUT = 5_000
/** How long a secret counts as one that was right a moment ago; access tokens live longer. */
const REMEMBERED = 60_000

const Answer = z.object({ access_token: z.string().max(16_384) })

/**
 * Signs service accounts in with their secret, within the limit on guesses.
 *
 * @param check whose secret it is; asked about no guess beyond the limit
 * @param guesses of one address for one account: whoever guesses keeps out nobody but themselves
 * @param looksAgain whether `check` is asked about a secret that was right a moment ago too, so that a new secret ends the
 *   old one at once
 */
export function clientSignIn<T extends object>(
  check: SecretCheck<T>,
  guesses: Guesses,
  { looksAgain = false }: { looksAgain?: boolean } = {},
) {
  // Guesses of others at the same address must not keep out who signed in a moment ago.
  const known = recentlyUsed<string, T>(10_000, REMEMBERED)
  return {
    /**
     * What was found; undefined if the secret is not that of the account.
     *
     * @param address of the client
     * @throws PlatformError TOO_MANY_REQUESTS, and whatever `check` throws
     */
    async signIn(clientId: string, secret: string, address: string): Promise<T | undefined> {
      // With the address: elsewhere a guess must not be told right past the limit.
      const pair = sha256(JSON.stringify([address, clientId, secret]))
      const held = known.get(pair)
      const still = held !== undefined && looksAgain ? await check(clientId, secret) : held
      if (still !== undefined) return still
      known.delete(pair)
      const judged = await guesses.judge(address, clientId, async () => {
        // Another request may have asked while this one waited.
        const found = known.get(pair) ?? (await check(clientId, secret))
        if (found !== undefined) known.set(pair, found)
        return found
      })
      if ('blockedFor' in judged) throw tooMany(judged.blockedFor)
      return judged.value
    },
  }
}

type Options = Pick<Configuration, 'issuer' | 'issuerCertificateAuthority'>

/**
 * Asks an identity provider that is not ours: it keeps the secrets, and its access token then says who they are of. All
 * callers come from one address to it; limits of its own are for its administrator to set.
 */
export async function secretsAtIssuer({ issuer, issuerCertificateAuthority: path }: Options) {
  const connect = path === undefined ? {} : { ca: await readFile(path, 'utf8') }
  const agent = new Agent({ connect, headersTimeout: TIMEOUT, bodyTimeout: TIMEOUT })

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
      if (answer.statusCode < 500) return undefined
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
