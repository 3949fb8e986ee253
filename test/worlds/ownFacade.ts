import type { OwnPlatform } from '../cluster/platform.ts'
import { type HttpReply, patiently, pauseAfterAnswer, replyTo } from '../make/patience.ts'
import { tokenFor } from './tenant.ts'

/** Renewed well before its end. */
const TOKEN_MILLISECONDS = 600_000
const owners = new WeakMap<OwnPlatform, { token: string; since: number }>()

/** A token of the first Owner of a test's own platform. */
export async function ownerTokenOf(own: OwnPlatform): Promise<string> {
  const known = owners.get(own)
  if (known !== undefined && performance.now() - known.since < TOKEN_MILLISECONDS) return known.token
  const { clientId, clientSecret, tokenUrl } = own.platform
  const since = performance.now()
  const token = await tokenFor(clientId, clientSecret, tokenUrl)
  owners.set(own, { token, since })
  return token
}

export type OwnCallOptions = {
  /** The address of a replica; by default the operator's. */
  facadeUrl?: string
  /** False returns 429 and 503 instead of retrying, for tests about them. */
  isPatient?: boolean
}

/** One request of the first Owner to the facade of a test's own platform, with its body parsed as JSON. */
export async function callOwn<Body = ReturnType<typeof JSON.parse>>(
  own: OwnPlatform,
  method: string,
  path: string,
  body?: object,
  { facadeUrl = own.platform.facadeUrl, isPatient = true }: OwnCallOptions = {},
): Promise<HttpReply & { body: Body }> {
  const headers = { authorization: `Bearer ${await ownerTokenOf(own)}`, 'content-type': 'application/json' }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const ask = () => replyTo(fetch(`${facadeUrl}${path}`, init))
  const answer = await (isPatient ? patiently(ask, pauseAfterAnswer) : ask())
  return { ...answer, body: answer.text === '' ? undefined : JSON.parse(answer.text) }
}
