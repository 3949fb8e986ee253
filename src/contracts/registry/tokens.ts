import { z } from 'zod'

/** How a registry lets somebody in, as its challenge says (token authentication of the distribution project). */
export const wantsToken = (challenge: string): boolean => /^bearer\s/i.test(challenge)

/**
 * Where such a registry gives tokens.
 *
 * @param repository that is to be pulled; the token is good for nothing but signing in if absent
 * @returns undefined if the challenge names no place
 */
export function tokenPlace(challenge: string, repository?: string): string | undefined {
  const word = (name: string) => new RegExp(`[\\s,]${name}="([^"]*)"`, 'i').exec(challenge)?.[1]
  const realm = URL.parse(word('realm') ?? '')
  const service = word('service')
  if (service !== undefined) realm?.searchParams.set('service', service)
  if (repository !== undefined) realm?.searchParams.set('scope', `repository:${repository}:pull`)
  return realm?.href
}

/** What is given there, as the Authorization header that it goes into. Registries have two names for it. */
export const TokenAnswer = z
  .object({ token: z.string().optional(), access_token: z.string().optional() })
  .transform(({ token, access_token: other }) => `Bearer ${token ?? other ?? ''}`)
