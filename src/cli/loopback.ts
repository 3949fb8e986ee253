import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { notSignedIn } from './failure.ts'

export type Callback = {
  /** The whole address that the browser was sent to. */
  url: URL
  /** Tells the person in the browser how it ended. */
  respond(isSignedIn: boolean): void
}

export interface Loopback {
  readonly redirectUri: string
  /**
   * The first answer that carries our state; others come from elsewhere and are refused.
   *
   * @throws CommandFailure (notSignedIn) after `milliseconds`
   */
  answer(state: string, milliseconds: number, signal: AbortSignal): Promise<Callback>
  close(): Promise<void>
}

/** A server for one redirect, on 127.0.0.1 and a free port (RFC 8252 sections 7.3 and 8.3: not `localhost`). */
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
        const late = setTimeout(
          () => fail(notSignedIn('Nobody signed in within five minutes: run `freehold login` again.')),
          milliseconds,
        )
        signal.addEventListener('abort', () => fail(signal.reason), { once: true })
        server.on('request', (request, response) => {
          const url = URL.canParse(request.url ?? '', origin) ? new URL(request.url ?? '', origin) : undefined
          if (request.method !== 'GET' || url?.pathname !== '/callback' || url.searchParams.get('state') !== state) {
            page(response, 404, 'There is nothing here.')
            return
          }
          clearTimeout(late)
          const respond = (isSignedIn: boolean) =>
            isSignedIn
              ? page(response, 200, 'You are signed in. You can close this window.')
              : page(response, 400, 'The sign-in did not succeed. The terminal says why.')
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

function page(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    // The address holds the code.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(`<!doctype html><title>freehold</title><p>${text}</p>\n`)
}
