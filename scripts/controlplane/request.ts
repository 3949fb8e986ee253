import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'

/** A minimal client to start a cluster with: one identity, JSON, one connection pool. */
export type AdminClient = {
  send(
    method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<{ status: number; text: string }>
  /** Server-side apply of one object at its path. @throws Error with the server's answer */
  apply(path: string, object: object): Promise<void>
  close(): Promise<void>
}

const REQUEST_TIMEOUT_MS = 10_000
const POLL_MS = 25

export function adminClient(server: string, tls: { caPem: string; certPem: string; keyPem: string }): AdminClient {
  const agent = new Agent({
    connect: { ca: tls.caPem, cert: tls.certPem, key: tls.keyPem },
    headersTimeout: REQUEST_TIMEOUT_MS,
  })
  const call = async (method: string, path: string, body?: object, contentType = 'application/json') => {
    const answer = await request(`${server}${path}`, {
      dispatcher: agent,
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': contentType } }),
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
  return {
    send: (method, path, body) => call(method, path, body),
    async apply(path, object) {
      const query = 'fieldManager=freehold-up&force=true'
      const { status, text } = await call('PATCH', `${path}?${query}`, object, 'application/apply-patch+yaml')
      if (status >= 300)
        throw new Error(`The API server answered ${status} to the apply of ${path}: ${text.slice(0, 500)}`)
    },
    close: () => agent.destroy(),
  }
}

/**
 * Waits for a condition.
 *
 * @param check true when it holds; an error counts as not yet
 * @param failed rejects when waiting has become pointless
 * @throws Error that says what was waited for, and the last thing seen
 */
export async function waitUntil(
  what: string,
  deadlineMs: number,
  check: () => Promise<boolean>,
  failed: Promise<never>,
): Promise<void> {
  let last = 'not yet true'
  const over = new AbortController()
  const poll = async () => {
    for (const end = performance.now() + deadlineMs; performance.now() < end; await delay(POLL_MS, undefined, over)) {
      try {
        if (await check()) return
      } catch (error) {
        last = error instanceof Error ? error.message : String(error)
      }
    }
    const advice = 'Logs are in the folder "logs" of the data folder; where the machine was busy, start again.'
    throw new Error(`${what} did not come within ${deadlineMs / 1000} s (${last}). ${advice}`)
  }
  // Abandoned requests would keep the process until their deadline.
  await Promise.race([poll(), failed]).finally(() => over.abort())
}
