import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { messageOf } from '../../src/core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import type { ControlPlane } from '../controlplane/index.ts'

/** The API server looks for the issuer every 10 seconds, and for policies and webhooks after its start. */
const SERVED_TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 250
const REQUEST_TIMEOUT_MS = 20_000

/** A service account and its token endpoint. */
type Account = { readonly tokenUrl: string; readonly clientId: string; readonly clientSecret: string }

/**
 * Waits until a tenant's kubectl works: the API server knows the issuer of the token, asks the authorizer, and asks
 * admission about a write, which is a dry run.
 *
 * @throws Error with the last answer if that does not happen in time
 */
export async function untilTenantsAreServed(
  { apiServerUrl, caPem }: Pick<ControlPlane, 'apiServerUrl' | 'caPem'>,
  owner: Account,
  signal: AbortSignal,
): Promise<void> {
  const agent = new Agent({ connect: { ca: caPem } })
  const { group, version, plural } = RoleAssignment.resource
  const url = `${apiServerUrl}/apis/${group}/${version}/namespaces/${SYSTEM_NAMESPACE}/${plural}?dryRun=All`
  const body = JSON.stringify({
    apiVersion: RoleAssignment.apiVersion,
    kind: RoleAssignment.kind,
    metadata: { name: randomUUID() },
    spec: { principalId: owner.clientId, principalType: 'ServicePrincipal', roleDefinitionName: 'Reader', scope: '/' },
  })
  const ask = async (): Promise<Answer> => {
    const headers = { authorization: `Bearer ${await tokenOf(owner)}`, 'content-type': 'application/json' }
    const review = {
      dispatcher: agent,
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    } as const
    const { statusCode: status, body: answer } = await request(url, review)
    return { status, text: await answer.text() }
  }
  try {
    await waitUntilServed(ask, signal)
  } finally {
    await agent.destroy()
  }
}

type Answer = { readonly status: number; readonly text: string }

async function waitUntilServed(ask: () => Promise<Answer>, signal: AbortSignal): Promise<void> {
  let last = 'no answer'
  for (
    const deadline = performance.now() + SERVED_TIMEOUT_MS;
    performance.now() < deadline;
    await delay(POLL_INTERVAL_MS)
  ) {
    signal.throwIfAborted()
    try {
      const answer = await ask()
      if (isServed(answer)) return
      last = `${answer.status} ${answer.text.slice(0, 500)}`
    } catch (error) {
      last = messageOf(error)
    }
  }
  const advice = 'Logs are in the folder "logs" of the data folder; where the machine was busy, start again.'
  throw new Error(
    `The API server did not serve tenants within ${SERVED_TIMEOUT_MS / 1000} s; the last answer was: ${last}. ${advice}`,
  )
}

/**
 * Whether everybody who must be asked was asked. A refusal counts too: the first Owner may have lost roles.
 */
export function isServed({ status, text }: Answer): boolean {
  const isUnknown = status === 401
  const isWithoutPolicies = status === 403 && text.includes('not yet ready')
  return status < 500 && status !== 429 && !isUnknown && !isWithoutPolicies
}

async function tokenOf({ tokenUrl, clientId, clientSecret }: Account): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const answer = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await answer.json()) as { access_token?: string }
  if (token === undefined) throw new Error(`${tokenUrl} answered ${answer.status} to the first Owner.`)
  return token
}
