import express, { type Request, type Response, type Router } from 'express'
import type Provider from 'oidc-provider'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isSameText } from '../core/sameText.ts'
import { type ExternalSignIn, returningSignIn } from './externalSignIn.ts'
import type { GuessLimiter } from './guessLimiter.ts'
import { consentPage, errorPage, organizationPage, type Page, signInPage } from './pages.ts'
import type { PasswordVerifier } from './passwords.ts'
import { formToken, PAGE_HEADERS, queryOf, refusalPage, sendFailure, sendPage, targetsOf } from './shownPages.ts'
import { ProvisioningRefused } from './userProvisioner.ts'
import type { IdentityUser, UserStore } from './users.ts'

export type SignInOptions = {
  /** Returns the current provider, which is recreated when keys change. */
  provider: () => Provider
  users: UserStore
  passwords: PasswordVerifier
  /** Identity providers of tenants; undefined if all people sign in here. */
  external: ExternalSignIn | undefined
  guesses: GuessLimiter
  /** The path at which this router is mounted. */
  path: string
  /** The key of the form tokens, which bind a form to its sign-in; the same on all replicas. */
  formKey: () => string
  sessionLifetimeSeconds: number
  log: Log
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>
/** An id that nobody has, for a verification that takes equally long. */
const NOBODY = '00000000-0000-0000-0000-000000000000'
const WRONG_CREDENTIALS = 'Incorrect user name or password.'

/** The pages on which a person signs in and gives consent to a program. */
export function signInRouter(options: SignInOptions): Router {
  const router = express.Router()
  router.use(express.urlencoded({ extended: false, limit: '8kb', parameterLimit: 8 }))
  router.get('/:uid', withInteraction(options, showForm))
  router.get('/:uid/return', withInteraction(options, handleCallback))
  router.post('/:uid', withInteraction(options, answerForm))
  return router
}

type Step = (options: SignInOptions, interaction: Interaction, request: Request, response: Response) => Promise<void>

/** Finds the sign-in of this browser by its cookie. The URL must name the same one. */
function withInteraction(options: SignInOptions, step: Step) {
  return async (request: Request, response: Response): Promise<void> => {
    try {
      const interaction = await options.provider().interactionDetails(request, response)
      if (interaction.uid !== request.params.uid) {
        sendPage(response, 400, errorPage('This sign-in was started in another window.', 'session_not_found'))
        return
      }
      await step(options, interaction, request, response)
    } catch (error) {
      const isGone = error instanceof Error && error.name === 'SessionNotFound'
      if (!isGone) options.log.error({ error: messageOf(error) }, 'A sign-in failed on our side.')
      if (isGone && !response.headersSent) sendPage(response, 400, refusalPage('session_not_found'))
      else sendFailure(response, error)
    }
  }
}

const showForm: Step = async (options, interaction, request, response) => {
  if (interaction.prompt.name !== 'consent') {
    const hint = interaction.params.login_hint
    sendPage(response, 200, await signIn(options, interaction, typeof hint === 'string' ? hint.slice(0, 254) : ''))
    return
  }
  const user = await options.users.find(interaction.session?.accountId ?? '')
  if (user?.isEnabled !== true) {
    await deny(options, request, response, 'the user is disabled')
    return
  }
  // The person has already confirmed by entering and accepting the code of the device.
  if (interaction.deviceCode !== undefined) await allow(options, interaction, user, request, response)
  else sendPage(response, 200, consentPage({ ...(await pageData(options, interaction)), name: user.displayName }))
}

const answerForm: Step = async (options, interaction, request, response) => {
  const form = fieldsOf(request.body)
  if (!isSameText(form.csrf, formToken(options, purposeOf(interaction)))) {
    sendPage(response, 403, errorPage('This form does not belong to a page shown in this browser.', 'invalid_request'))
    return
  }
  if (form.choice === 'cancel') {
    await deny(options, request, response, 'the person cancelled')
    return
  }
  if (interaction.prompt.name === 'consent') {
    const user = await options.users.find(interaction.session?.accountId ?? '')
    if (user?.isEnabled === true) await allow(options, interaction, user, request, response)
    else await deny(options, request, response, 'the user is disabled')
    return
  }
  if (await redirectToProvider(options, interaction, form, response)) return
  const attempt = await checkPassword(options, addressOf(request), form)
  if ('user' in attempt) await allow(options, interaction, attempt.user, request, response)
  else {
    if (attempt.retryAfter !== undefined) response.setHeader('retry-after', String(attempt.retryAfter))
    const page = await signIn(options, interaction, form.login.slice(0, 254), attempt.problem)
    sendPage(response, attempt.status, page)
  }
}

/** Redirects people of a tenant with its own provider, ignoring any password. Returns whether it answered. */
async function redirectToProvider(
  options: SignInOptions,
  interaction: Interaction,
  { login, choice }: { login: string; choice: string },
  response: Response,
): Promise<boolean> {
  const { external, log } = options
  const address = login.trim().slice(0, 254)
  let problem = 'No organization is known for this address. Type your e-mail address at work, or use your password.'
  try {
    const target = await external?.begin(interaction.uid, address)
    if (target !== undefined) {
      sendPage(response, 200, organizationPage(target))
      return true
    }
  } catch (error) {
    log.warn({ error: messageOf(error) }, 'The identity provider of a tenant could not be used.')
    problem = 'Your organization does not answer. Try again in a moment.'
    sendPage(response, 503, await signIn(options, interaction, address, problem))
    return true
  }
  if (choice !== 'organization') return false
  sendPage(response, 404, await signIn(options, interaction, address, problem))
  return true
}

/** Handles the return from a tenant's identity provider. */
const handleCallback: Step = async (options, interaction, request, response) => {
  const { external, users, log } = options
  const query = queryOf(request)
  try {
    if (external === undefined || interaction.prompt.name !== 'login')
      throw new ProvisioningRefused('No sign-in is in progress here.')
    const userId = await external.finish(interaction.uid, query)
    const user = await users.find(userId)
    if (user?.isEnabled !== true) throw new ProvisioningRefused('This account is disabled. Ask an administrator.')
    log.info({ address: addressOf(request), userId }, 'A person signed in at the identity provider of a tenant.')
    await allow(options, interaction, user, request, response)
  } catch (error) {
    const isRefused = error instanceof ProvisioningRefused
    log.warn({ address: addressOf(request), error: messageOf(error) }, 'A sign-in at another identity provider failed.')
    const problem = isRefused
      ? error.message
      : "Your organization's answer could not be understood. Ask an administrator."
    sendPage(response, isRefused ? 403 : 502, await signIn(options, interaction, '', problem))
  }
}

/**
 * The redirect URI for identity providers of tenants. The sign-in cookie is bound to another path, so this redirects
 * there: only the browser that started a sign-in can finish it.
 */
export function returnRouter({ path }: { path: string }): Router {
  const router = express.Router()
  router.get('/:broker/endpoint', (request, response) => {
    const query = queryOf(request)
    const found = returningSignIn(query, request.params.broker.slice(0, 128))
    if (found === undefined) {
      sendPage(response, 400, errorPage('This answer does not belong to a sign-in here.', 'invalid_request'))
      return
    }
    response.set(PAGE_HEADERS).redirect(303, `${path}/${found.uid}/return?${found.query}`)
  })
  return router
}

type SignInRefusal = { status: number; problem: string; retryAfter?: number }

/** Gives the same answer, after the same amount of work, for a wrong password and an unknown name. */
async function checkPassword(
  { users, passwords, guesses, log }: SignInOptions,
  address: string,
  { login, password }: { login: string; password: string },
): Promise<{ user: IdentityUser } | SignInRefusal> {
  let userFields = {}
  const judged = await guesses.judge(address, login, async () => {
    const found = login.length > 254 ? undefined : await users.findByLogin(login)
    // People with an external identity provider cannot use a password here, whatever is stored.
    const user = found?.isExternal === true ? undefined : found
    const isRight = await passwords.verify(user?.id ?? NOBODY, password.slice(0, 1024))
    userFields = user === undefined ? {} : { userId: user.id }
    return isRight ? user : undefined
  })
  if ('blockedFor' in judged) {
    const { blockedFor } = judged
    log.warn({ address }, 'A sign-in was refused unchecked, after too many wrong passwords.')
    const problem = `Too many attempts. Wait ${Math.ceil(blockedFor / 60)} min, then try again.`
    return { status: 429, problem, retryAfter: blockedFor }
  }
  const { value: user } = judged
  if (user === undefined) {
    log.info({ address, ...userFields }, 'A sign-in was refused.')
    return { status: 401, problem: WRONG_CREDENTIALS }
  }
  if (!user.isEnabled) {
    log.info({ address, userId: user.id }, 'A disabled user was refused.')
    return { status: 403, problem: 'This account is disabled. Ask an administrator.' }
  }
  log.info({ address, userId: user.id }, 'A person signed in.')
  return { user }
}

async function allow(
  options: SignInOptions,
  interaction: Interaction,
  user: IdentityUser,
  request: Request,
  response: Response,
): Promise<void> {
  const provider = options.provider()
  const { scope } = interaction.params
  const grant = await grantFor(options, interaction, user)
  if (typeof scope === 'string' && scope !== '') grant.addOIDCScope(scope)
  const grantId = await grant.save()
  const amr = [user.isExternal === true ? 'fed' : 'pwd']
  const login = interaction.prompt.name === 'login' ? { login: { accountId: user.id, amr } } : {}
  await finish(provider, request, response, { ...login, consent: { grantId } })
}

/**
 * Returns the session's grant for the program, or a new one. Two machines that sign in through one browser share it: a
 * session has only one grant per program, and replacing it would end the other machine's tokens.
 */
async function grantFor(options: SignInOptions, interaction: Interaction, user: IdentityUser) {
  const { Grant } = options.provider()
  const found = interaction.grantId === undefined ? undefined : await Grant.find(interaction.grantId)
  const expiresAt = Date.now() / 1000 + options.sessionLifetimeSeconds
  if (found?.accountId === user.id && (found.exp ?? 0) > expiresAt) return found
  return new Grant({ accountId: user.id, clientId: String(interaction.params.client_id) })
}

async function deny({ provider }: SignInOptions, request: Request, response: Response, reason: string): Promise<void> {
  await finish(provider(), request, response, { error: 'access_denied', error_description: reason })
}

async function finish(
  provider: Provider,
  request: Request,
  response: Response,
  result: Parameters<Provider['interactionFinished']>[2],
): Promise<void> {
  for (const [header, value] of Object.entries(PAGE_HEADERS)) response.setHeader(header, value)
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
}

async function signIn(options: SignInOptions, interaction: Interaction, login: string, error?: string): Promise<Page> {
  const hasOrganizations = options.external !== undefined
  const words = { ...(await pageData(options, interaction)), login, hasOrganizations }
  return signInPage(error === undefined ? words : { ...words, error })
}

async function pageData(options: SignInOptions, interaction: Interaction) {
  const { client_id: clientId, redirect_uri: redirectUri } = interaction.params
  const client = await options.provider().Client.find(String(clientId))
  return {
    action: `${options.path}/${interaction.uid}`,
    token: formToken(options, purposeOf(interaction)),
    clientName: client?.clientName ?? String(clientId),
    // The Content-Security-Policy must allow the origins that the form redirects to.
    targets: targetsOf(redirectUri),
  }
}

/** What a form is bound to: its sign-in, which only the browser that began it can go on with (`requireOwnBrowser`). */
const purposeOf = ({ uid, cid }: Interaction) => `${uid} ${cid}`

function fieldsOf(body: unknown): { csrf: string; choice: string; login: string; password: string } {
  const form = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const text = (name: string) => (typeof form[name] === 'string' ? form[name] : '')
  return { csrf: text('csrf'), choice: text('choice'), login: text('login'), password: text('password') }
}

function addressOf(request: Request): string {
  return request.ip ?? request.socket.remoteAddress ?? '::'
}
