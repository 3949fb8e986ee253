import { randomBytes } from 'node:crypto'
import express, { type Request, type Response, type Router } from 'express'
import type Provider from 'oidc-provider'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { accountPage, errorPage } from './pages.ts'
import { ACCOUNT_CLIENT } from './publicClients.ts'
import { sendPage } from './shownPages.ts'
import type { UserStore } from './users.ts'

export type AccountOptions = {
  provider: () => Provider
  users: UserStore
  issuer: string
  log: Log
}

/**
 * The page that links of mails lead to: it signs a person in if nobody is, and says who is signed in. Its own code is
 * never exchanged; the session of the browser is all that it needs.
 */
export function accountRouter(options: AccountOptions): Router {
  const router = express.Router()
  router.get('/', (request, response) => {
    show(options, request, response).catch((error: unknown) => {
      options.log.error({ error: messageOf(error) }, 'The account page failed on our side.')
      sendPage(response, 500, errorPage('The platform could not finish this. Try again in a moment.', 'server_error'))
    })
  })
  return router
}

async function show({ provider, users, issuer }: AccountOptions, request: Request, response: Response): Promise<void> {
  const built = provider()
  const session = await built.Session.get(built.createContext(request, response) as never)
  const user = session.accountId === undefined ? undefined : await users.find(session.accountId)
  if (user?.isEnabled === true) {
    sendPage(
      response,
      200,
      accountPage({ name: user.displayName, signOut: `${issuer}/protocol/openid-connect/logout` }),
    )
    return
  }
  // A browser that comes back without a session takes no cookies: another round would not end.
  if (new URLSearchParams(request.url.split('?')[1] ?? '').has('state')) {
    sendPage(response, 400, errorPage('This browser did not keep the sign-in.', 'session_not_found'))
    return
  }
  const query = new URLSearchParams({
    client_id: ACCOUNT_CLIENT,
    response_type: 'code',
    scope: 'openid',
    redirect_uri: `${issuer}/account`,
    state: 'signed-in',
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
  })
  response.redirect(303, `${issuer}/protocol/openid-connect/auth?${query}`)
}
