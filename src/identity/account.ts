import { randomBytes } from 'node:crypto'
import express, { type Request, type Response, type Router } from 'express'
import type Provider from 'oidc-provider'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isSameText } from '../core/sameText.ts'
import { type AccountPageData, accountPage, type OpenInvitation } from './accountPage.ts'
import { isVoidSignIn } from './accounts.ts'
import type { GuessLimiter } from './guessLimiter.ts'
import { errorPage } from './pages.ts'
import type { PasswordVerifier } from './passwords.ts'
import { ACCOUNT_CLIENT } from './publicClients.ts'
import { formToken, queryOf, refusalPage, sendFailure, sendPage } from './shownPages.ts'
import { endOtherSignIns, endSignIn, signInsOf } from './signIns.ts'
import { grantsOf, type StateStore, sessionIdOf } from './state.ts'
import type { IdentityUser, UserStore } from './users.ts'

/**
 * Sets a person's password by the rules of the platform and ends all their sign-ins but the one given.
 * @returns why it is refused, as a sentence for the person
 */
export type ChangePassword = (
  user: IdentityUser,
  password: string,
  keepSession: string | undefined,
) => Promise<string | undefined>

/** The invitations of a person, from the platform's own records. */
export type Invitations = {
  openTo(user: IdentityUser): Promise<readonly OpenInvitation[]>
  /** @returns why it cannot be accepted, as a sentence for the person */
  accept(user: IdentityUser, id: string): Promise<string | undefined>
}

export type AccountOptions = {
  provider: () => Provider
  users: UserStore
  passwords: PasswordVerifier
  /** If absent, passwords cannot be changed here. */
  changePassword?: ChangePassword | undefined
  /** If absent, no invitations are shown. */
  invitations?: Invitations | undefined
  guesses: GuessLimiter
  state: StateStore
  /** The key of the form tokens, which bind a form to its session; the same on all replicas. */
  formKey: () => string
  issuer: string
  tokenLifetimeSeconds: number
  log: Log
}

type Visit = { user: IdentityUser; uid: string; keepSession: string | undefined }
/** What its forms are bound to: the session, whose cookie no other site can read. */
const purposeOf = ({ uid }: Visit) => `account ${uid}`
type PageMessage = Pick<AccountPageData, 'error' | 'isPasswordWrong' | 'done'>

/**
 * The account page, which links in e-mails also lead to. It signs the person in if needed, changes the password, and
 * shows and ends sign-ins. It needs only the session of the browser, so its authorization code is never exchanged.
 */
export function accountRouter(options: AccountOptions): Router {
  const router = express.Router()
  router.use(express.urlencoded({ extended: false, limit: '8kb', parameterLimit: 8 }))
  router.get('/', withVisit(options, show))
  router.post('/', withVisit(options, answerForm))
  return router
}

type Step = (options: AccountOptions, visit: Visit, request: Request, response: Response) => Promise<void>

function withVisit(options: AccountOptions, step: Step) {
  return async (request: Request, response: Response): Promise<void> => {
    try {
      const visit = await visitOf(options, request, response)
      if (visit === undefined) redirectToSignIn(options, request, response)
      else await step(options, visit, request, response)
    } catch (error) {
      options.log.error({ error: messageOf(error) }, 'The account page failed on our side.')
      sendFailure(response, error)
    }
  }
}

async function visitOf({ provider, users, passwords }: AccountOptions, request: Request, response: Response) {
  const built = provider()
  const session = await built.Session.get(built.createContext(request, response) as never)
  const user = session.accountId === undefined ? undefined : await users.find(session.accountId)
  if (user?.isEnabled !== true) return undefined
  const grants = grantsOf(session)
  if (await isVoidSignIn(user, passwords, { signedInAt: session.loginTs, grants })) return undefined
  const [grantId] = grants
  return { user, uid: session.uid, keepSession: grantId === undefined ? undefined : sessionIdOf(grantId) }
}

function redirectToSignIn({ issuer }: AccountOptions, request: Request, response: Response): void {
  const returned = queryOf(request)
  const error = returned.get('error')
  // A browser that returns without a session does not accept cookies: another redirect would loop forever.
  if (returned.has('state')) {
    if (error !== null) sendPage(response, 400, refusalPage(error))
    else sendPage(response, 400, errorPage('This browser did not keep the sign-in.', 'session_not_found'))
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

/** What a form did, by the word for it in the address that the browser is then sent to. */
const DONE = {
  end: 'The sign-in was ended.',
  endOthers: 'All other sign-ins were ended.',
  accept: 'The invitation was accepted.',
  password: 'Your password was changed.',
} as const

/** Only the forms of this session make this: a link of somebody else must not say that anything was done. */
const proofOf = (options: AccountOptions, visit: Visit, done: string) =>
  formToken(options, `${purposeOf(visit)} ${done}`)

const show: Step = (options, visit, request, response) => {
  const query = queryOf(request)
  const done = query.get('done') ?? ''
  const isTrue = Object.hasOwn(DONE, done) && isSameText(query.get('proof') ?? '', proofOf(options, visit, done))
  return respond(options, visit, response, 200, isTrue ? { done: DONE[done as keyof typeof DONE] } : {})
}

/** Sends the browser to the page, so that reloading it does not send the form again. */
function showDone(options: AccountOptions, visit: Visit, response: Response, done: keyof typeof DONE): void {
  const query = new URLSearchParams({ done, proof: proofOf(options, visit, done) })
  response.redirect(303, `${options.issuer}/account?${query}`)
}

async function respond(
  options: AccountOptions,
  visit: Visit,
  response: Response,
  status: number,
  message: PageMessage,
) {
  const { issuer, state, tokenLifetimeSeconds, changePassword, invitations } = options
  const { user, uid } = visit
  const page = accountPage({
    ...message,
    name: user.displayName,
    userName: user.userName,
    action: `${issuer}/account`,
    signOut: `${issuer}/protocol/openid-connect/logout`,
    token: formToken(options, purposeOf(visit)),
    invitations: (await invitations?.openTo(user)) ?? [],
    signIns: signInsOf(await state.listOf(user.id), uid),
    hasPassword: changePassword !== undefined && user.isExternal !== true,
    tokenMinutes: Math.ceil(tokenLifetimeSeconds / 60),
  })
  sendPage(response, status, page)
}

const answerForm: Step = async (options, visit, request, response) => {
  const form = (request.body ?? {}) as Record<string, unknown>
  const field = (name: string) => (typeof form[name] === 'string' ? form[name] : '')
  if (!isSameText(field('csrf'), formToken(options, purposeOf(visit)))) {
    sendPage(response, 400, errorPage('This form was not sent from your account page.', 'invalid_request'))
    return
  }
  const { state } = options
  const { user, uid } = visit
  switch (field('choice')) {
    case 'end':
      await endSignIn(state, user.id, field('signIn'))
      return showDone(options, visit, response, 'end')
    case 'endOthers':
      await endOtherSignIns(state, user.id, uid)
      return showDone(options, visit, response, 'endOthers')
    case 'accept': {
      const error = await options.invitations?.accept(user, field('invitation'))
      if (error === undefined) return showDone(options, visit, response, 'accept')
      return respond(options, visit, response, 409, { error })
    }
    case 'password': {
      const error = await change(options, visit, request, { current: field('current'), next: field('password') })
      if (error === undefined) return showDone(options, visit, response, 'password')
      return respond(options, visit, response, 400, { error, isPasswordWrong: true })
    }
    default:
      return respond(options, visit, response, 200, {})
  }
}

/** An open browser does not prove who is using it, so the current password is required, within the limit on guesses. */
async function change(
  { changePassword, guesses, passwords, log }: AccountOptions,
  { user, keepSession }: Visit,
  request: Request,
  { current, next }: { current: string; next: string },
): Promise<string | undefined> {
  if (changePassword === undefined || user.isExternal === true) return 'Your password is managed elsewhere.'
  const address = request.ip ?? ''
  const judged = await guesses.judge(address, user.userName, async () =>
    (await passwords.verify(user.id, current.slice(0, 1024))) ? true : undefined,
  )
  if ('blockedFor' in judged) return `Too many attempts. Wait ${Math.ceil(judged.blockedFor / 60)} min, then try again.`
  if (judged.value === undefined) return 'The current password is not correct.'
  const refusal = await changePassword(user, next, keepSession)
  if (refusal === undefined) log.info({ userId: user.id }, 'A password was changed on the account page.')
  return refusal
}
