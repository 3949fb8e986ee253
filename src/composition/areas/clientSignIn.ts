import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { Agent, request } from 'undici'
import { z } from 'zod'
import type { Configuration } from '../../config.ts'
import { PlatformError } from '../../core/errors.ts'
import { sha256 } from '../../core/names.ts'
import { limitSecrets } from '../../identity/guesses.ts'

/** Milliseconds. */
const TIMEOUT = 5_000
/** How long a secret that was right is not asked about again; access tokens live longer. */
const REMEMBERED = 60_000
/**
 * Of one address for one account. The identity provider sees all of them come from the facade, and allows more: so
 * whoever guesses is held back here, and keeps out nobody but themselves.
 */
const WRONG_PER_MINUTE = 3

const Answer = z.object({ access_token: z.string().max(16_384) })

type Options = Pick<Configuration, 'issuer' | 'issuerCertificateAuthority'>

/**
 * Signs service accounts in with their secret, at the identity provider, whichever it is: it keeps the secrets, counts
 * guesses, and its access token then says who they are.
 */
export async function clientSignIn({ issuer, issuerCertificateAuthority: path }: Options) {
  const connect = path === undefined ? {} : { ca: await readFile(path, 'utf8') }
  const agent = new Agent({ connect, headersTimeout: TIMEOUT, bodyTimeout: TIMEOUT })
  // Guesses of others at the same address must not keep out who signed in a moment ago.
  const known = new LRUCache<string, string>({ max: 10_000, ttl: REMEMBERED })
  const guesses = limitSecrets(WRONG_PER_MINUTE)

  /** @returns undefined if the secret is wrong */
  async function ask(clientId: string, secret: string): Promise<string | undefined> {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret }
    try {
      const answer = await request(`${issuer}/protocol/openid-connect/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
        dispatcher: agent,
      })
      const body = await answer.body.json().catch(() => undefined)
      if (answer.statusCode === 200) return Answer.parse(body).access_token
      if (answer.statusCode === 429) throw tooMany(Number(answer.headers['retry-after']) || 60)
      if (answer.statusCode < 500) return undefined
      throw new Error(`status ${answer.statusCode}`)
    } catch (cause) {
      if (cause instanceof PlatformError) throw cause
      throw new PlatformError('UPSTREAM_FAILED', 'The identity provider is not available.', {}, { cause })
    }
  }

  return {
    /**
     * An access token; undefined if the secret is not that of the account.
     *
     * @param address of the client
     * @throws PlatformError TOO_MANY_REQUESTS, UPSTREAM_FAILED
     */
    async tokenOf(clientId: string, secret: string, address: string): Promise<string | undefined> {
      // With the address: elsewhere a guess must not be told right past the limit.
      const pair = sha256(JSON.stringify([address, clientId, secret]))
      const held = known.get(pair)
      if (held !== undefined) return held
      const judged = await guesses.judge(address, clientId, async () => {
        // Another request may have asked while this one waited.
        const token = known.get(pair) ?? (await ask(clientId, secret))
        if (token !== undefined) known.set(pair, token)
        return token
      })
      if ('blockedFor' in judged) throw tooMany(judged.blockedFor)
      return judged.value
    },
    async close() {
      await agent.close()
    },
  }
}

function tooMany(retryAfterSeconds: number): PlatformError {
  const message = `There were too many wrong sign-ins: try again in ${retryAfterSeconds} s.`
  return new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds })
}
