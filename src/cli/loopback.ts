import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Page, page } from '../core/page.ts'
import { notSignedIn } from './failure.ts'

export type Callback = {
  /** The full URL that the browser requested. */
  url: URL
  /** Shows the result in the browser. */
  respond(isSignedIn: boolean): void
}

export interface Loopback {
  readonly redirectUri: string
  /**
   * Waits for the first request with our state. Others come from elsewhere, and get 404.
   *
   * @throws CommandFailure (notSignedIn) after `milliseconds`
   */
  answer(state: string, milliseconds: number, signal: AbortSignal): Promise<Callback>
  close(): Promise<void>
}

/** Serves one redirect on 127.0.0.1 and a free port (RFC 8252 sections 7.3 and 8.3: not `localhost`). */
export async function startLoopback(): Promise<Loopback> {
  const server = createServer()
  await new Promise<void>((done, fail) => {
    server.once('error', fail)
    server.listen(0, '127.0.0.1', done)
  })
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return {
    redirectUri: `${origin}/callback`,
    answer: (state, milliseconds, signal) =>
      new Promise((done, fail) => {
        const timer = setTimeout(
          () => fail(notSignedIn('Nobody signed in within five minutes: run `freehold login` again.')),
          milliseconds,
        )
        signal.addEventListener('abort', () => fail(signal.reason), { once: true })
        server.on('request', (request, response) => {
          const url = URL.canParse(request.url ?? '', origin) ? new URL(request.url ?? '', origin) : undefined
          if (request.method !== 'GET' || url?.pathname !== '/callback' || url.searchParams.get('state') !== state) {
            show(response, 404, page('Not found', '<p>There is nothing here.</p>'))
            return
          }
          clearTimeout(timer)
          const respond = (isSignedIn: boolean) =>
            isSignedIn
              ? show(response, 200, page('You are signed in', '<p>You can close this window.</p>'))
              : show(response, 400, page('The sign-in did not succeed', '<p role="alert">The terminal says why.</p>'))
          done({ url, respond })
        })
      }),
    async close() {
      await new Promise((done) => {
        server.close(done)
        server.closeIdleConnections()
      })
    },
  }
}

function show(response: ServerResponse, status: number, { html, policy }: Page): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    // The URL contains the authorization code.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(html)
}
