import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { z } from 'zod'
import type { Configuration } from '../../config.ts'
import { PlatformError } from '../../core/errors.ts'

/** Milliseconds. */
const TIMEOUT = 5_000

const Answer = z.object({ access_token: z.string().max(16_384) })

/**
 * Signs service accounts in with their secret, at the identity provider, whichever it is: it keeps the secrets, counts
 * guesses, and its access token then says who they are.
 */
export async function clientSignIn({ issuer, issuerCertificateAuthority: path }: Configuration) {
  const connect = path === undefined ? {} : { ca: await readFile(path, 'utf8') }
  const agent = new Agent({ connect, headersTimeout: TIMEOUT, bodyTimeout: TIMEOUT })
  return {
    /** An access token; undefined if the secret is not that of the account. @throws PlatformError UPSTREAM_FAILED */
    async tokenOf(clientId: string, secret: string): Promise<string | undefined> {
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
        if (answer.statusCode < 500 && answer.statusCode !== 429) return undefined
        throw new Error(`status ${answer.statusCode}`)
      } catch (cause) {
        throw new PlatformError('UPSTREAM_FAILED', 'The identity provider is not available.', {}, { cause })
      }
    },
    close: () => agent.close(),
  }
}
