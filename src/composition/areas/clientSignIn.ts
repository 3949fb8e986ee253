import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { Agent, request } from 'undici'
import { z } from 'zod'
import type { Configuration } from '../../config.ts'
import { PlatformError } from '../../core/errors.ts'
import { sha256 } from '../../core/names.ts'

/** Milliseconds. */
const TIMEOUT = 5_000
/** How long a secret that was right is not asked about again; access tokens live longer. */
const REMEMBERED = 60_000

const Answer = z.object({ access_token: z.string().max(16_384) })

/**
 * Signs service accounts in with their secret, at the identity provider, whichever it is: it keeps the secrets, counts
 * guesses, and its access token then says who they are.
 */
export async function clientSignIn({ issuer, issuerCertificateAuthority: path }: Configuration) {
  const connect = path === undefined ? {} : { ca: await readFile(path, 'utf8') }
  const agent = new Agent({ connect, headersTimeout: TIMEOUT, bodyTimeout: TIMEOUT })
  // Guesses of others at the same address must not keep out who signed in a moment ago.
  const known = new LRUCache<string, string>({ max: 10_000, ttl: REMEMBERED })
  return {
    /** An access token; undefined if the secret is not that of the account. @throws PlatformError TOO_MANY_REQUESTS, UPSTREAM_FAILED */
    async tokenOf(clientId: string, secret: string): Promise<string | undefined> {
      const pair = sha256(JSON.stringify([clientId, secret]))
      const held = known.get(pair)
      if (held !== undefined) return held
      const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret }
      try {
        const answer = await request(`${issuer}/protocol/openid-connect/token`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams(form).toString(),
          dispatcher: agent,
        })
        const body = await answer.body.json().catch(() => undefined)
        if (answer.statusCode === 200) {
          const token = Answer.parse(body).access_token
          known.set(pair, token)
          return token
        }
        if (answer.statusCode === 429) throw tooMany(answer.headers['retry-after'])
        if (answer.statusCode < 500) return undefined
        throw new Error(`status ${answer.statusCode}`)
      } catch (cause) {
        if (cause instanceof PlatformError) throw cause
        throw new PlatformError('UPSTREAM_FAILED', 'The identity provider is not available.', {}, { cause })
      }
    },
    close: () => agent.close(),
  }
}

function tooMany(after: string | string[] | undefined): PlatformError {
  const retryAfterSeconds = Number(/^\d{1,4}$/.exec(String(after))?.[0] ?? 60)
  const message = `There were too many wrong sign-ins: try again in ${retryAfterSeconds} s.`
  return new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds })
}
