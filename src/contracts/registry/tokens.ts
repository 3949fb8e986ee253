import { z } from 'zod'

/** Whether a registry asks for a token in its challenge (token authentication of the distribution project). */
export const isBearerChallenge = (challenge: string): boolean => /^bearer\s/i.test(challenge)

/**
 * Returns where such a registry issues tokens.
 *
 * @param repository that is to be pulled; without it the token is good for signing in only
 * @returns undefined if the challenge names no address
 */
export function parseTokenUrl(challenge: string, repository?: string): string | undefined {
  const parameter = (name: string) => new RegExp(`[\\s,]${name}="([^"]*)"`, 'i').exec(challenge)?.[1]
  const realm = URL.parse(parameter('realm') ?? '')
  const service = parameter('service')
  if (service !== undefined) realm?.searchParams.set('service', service)
  if (repository !== undefined) realm?.searchParams.set('scope', `repository:${repository}:pull`)
  return realm?.href
}

/** The answer of that address, as an Authorization header. Registries have two names for the token. */
export const TokenAnswer = z
  .object({ token: z.string().optional(), access_token: z.string().optional() })
  .transform(({ token, access_token: other }) => `Bearer ${token ?? other ?? ''}`)
