import { badRequest, messageOf, PlatformError } from '../../core/errors.ts'
import { escapeHtml, page, redirectPage } from '../../core/page.ts'
import { policySentences } from '../../iam/passwordPolicy.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import {
  type PendingSignIn,
  peekPendingSignIn,
  SIGNED_IN_PATH,
  SignInRefused,
  storePendingSignIn,
  takePendingSignIn,
} from '../people/browserSignIn.ts'
import {
  type BrowserRequest,
  type FormFields,
  type LinkPages,
  newPassword,
  type RefusedForm,
  renderForm,
  rulesList,
  type PageResponse as ShownPage,
  signInLink,
} from '../people/forms.ts'
import { acceptInvitation, isAcceptedBy, setInvitationPassword, showInvitation } from './link.ts'
import { SetInvitationPasswordRequest } from './record.ts'

type Shown = {
  email: string
  boundary: string
  roleDefinitionName: string
  invitedBy: string
  requiresPassword: boolean
}

/** The page of an invitation link: people without an account create one, others authenticate. */
export const invitationPages: LinkPages = {
  path: '/invitations/:token',
  async show(services, token, browser, refused) {
    const shown = await shownOf(services, token)
    const form = await formFor(services, shown, token, { browser, refused })
    return page(`Join ${shown.boundary}`, `${greeting(shown)}\n${form}`, { error: refused?.error })
  },
  async submit(services, token, fields, browser) {
    const shown = await shownOf(services, token)
    if (fields('state') !== '') return sendToSignIn(services, token, fields('state'), browser)
    if (shown.requiresPassword) await makeAccount(services, token, fields)
    else await verifyPassword(services, shown, fields('password'), browser.address)
    const user = await services.accounts.users.findByEmail(shown.email)
    if (user === undefined) throw new PlatformError('not_found', 'There is no account with the invited address.')
    return accept(services, { principalId: user.id, principalType: 'User', expiresAt: 0 }, token, shown)
  },
}

async function accept(services: Services, caller: Caller, token: string, shown: Shown): Promise<ShownPage> {
  const accepted = acceptInvitation({ services, caller, body: { token } } as Parameters<typeof acceptInvitation>[0])
  await accepted.catch(async (error: unknown) => {
    if (!(await isAcceptedBy(services, token, caller.principalId))) throw error
  })
  const { roleDefinitionName, boundary } = shown
  const words = `<p>You are ${escapeHtml(roleDefinitionName)} of ${escapeHtml(boundary)} now.</p>`
  return page('Welcome', `${words}\n${signInLink(services)}`)
}

/** @throws PlatformError FORBIDDEN if the form was not shown to this browser */
async function sendToSignIn({ accounts }: Services, token: string, state: string, browser: BrowserRequest) {
  const signIn = peekPendingSignIn(browser)
  if (accounts.browserSignIn === undefined || signIn?.state !== state || signIn.token !== token) throw notStarted()
  const url = await accounts.browserSignIn.addressOf(signIn)
  return redirectPage(url, 'Sign in', '<p>After you sign in, you return here.</p>')
}

const notStarted = () =>
  new PlatformError('FORBIDDEN', 'This was started in another browser, or too long ago. Try again.')

/** The page to which people return after signing in to accept. Its URL is fixed; the invitation is in a cookie. */
export const signedInPages: LinkPages = {
  path: SIGNED_IN_PATH.replace(/[^/]+$/, ':token'),
  async show(services, _token, browser) {
    const signIn = takePendingSignIn(browser)
    try {
      const { browserSignIn } = services.accounts
      if (browserSignIn === undefined || signIn === undefined) throw notStarted()
      const shown = await shownOf(services, signIn.token)
      return await accept(services, await browserSignIn.finish(signIn, browser.search), signIn.token, shown)
    } catch (error) {
      return acceptFailedPage(services, error, signIn)
    }
  },
  submit: async () => {
    throw notStarted()
  },
}

function acceptFailedPage({ log, accounts }: Services, error: unknown, signIn: PendingSignIn | undefined): ShownPage {
  const isShown = error instanceof SignInRefused || (error instanceof PlatformError && error.status < 500)
  if (!isShown) log.error({ error: messageOf(error) }, 'A sign-in to accept an invitation could not be finished.')
  const text = isShown ? messageOf(error) : 'The platform could not finish this. Try again in a moment.'
  const link = `${accounts.linkBase}/invitations/${signIn?.token}`
  const again = signIn === undefined ? '' : `<p><a href="${escapeHtml(link)}">Back to the invitation</a></p>`
  const status = error instanceof PlatformError ? error.status : isShown ? 403 : 502
  return { ...page('You have not joined', again, { error: text }), status }
}

async function shownOf(services: Services, token: string): Promise<Shown> {
  return (await showInvitation({ services, parameters: { token } } as Context<'token'>)).body as Shown
}

function greeting({ invitedBy, boundary, roleDefinitionName, email }: Shown): string {
  return `<p>${escapeHtml(invitedBy)} invites ${escapeHtml(email)} to <strong>${escapeHtml(boundary)}</strong> as ${escapeHtml(roleDefinitionName)}.</p>`
}

async function formFor(
  services: Services,
  { requiresPassword, email }: Shown,
  token: string,
  { browser, refused }: { browser: BrowserRequest; refused: RefusedForm | undefined },
): Promise<string> {
  // Lets password managers store the password with the address.
  const address = { name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', fixed: email }
  if (requiresPassword) {
    const names = [
      address,
      { name: 'firstName', label: 'First name', autocomplete: 'given-name', longest: 64 },
      { name: 'lastName', label: 'Last name', autocomplete: 'family-name', longest: 64 },
    ]
    const rules = rulesList(policySentences(await services.accounts.passwordRules()))
    return `${rules}\n${renderForm([...names, newPassword], 'Make my account and join', refused)}`
  }
  const { isPassword, users, browserSignIn } = services.accounts
  // Passwords are managed elsewhere, so people sign in there.
  if (browserSignIn !== undefined) {
    const signIn = browserSignIn.begin(token)
    storePendingSignIn(browser, signIn)
    return `<form method="post">
<input type="hidden" name="state" value="${escapeHtml(signIn.state)}">
<button type="submit">Sign in and accept</button>
</form>`
  }
  if (isPassword === undefined) return terminalHint(token)
  if ((await users.findByEmail(email))?.isExternal === true)
    return `<p>You sign in at your organization: sign in there, then accept on your account page.</p>\n${signInLink(services)}`
  const password = { name: 'password', label: 'Your password', type: 'password', autocomplete: 'current-password' }
  return renderForm([address, password], 'Accept', refused)
}

function terminalHint(token: string): string {
  return `<p>The password of your account is managed elsewhere. Accept in a terminal:</p>
<pre>freehold login
freehold invitation accept ${escapeHtml(token)}</pre>`
}

async function makeAccount(services: Services, token: string, fields: FormFields): Promise<void> {
  const [password, firstName, lastName] = [fields('password'), fields('firstName'), fields('lastName')]
  const read = SetInvitationPasswordRequest.safeParse({ password, firstName, lastName })
  if (!read.success) throw badRequest('Give a first and a last name of at most 64 characters each.', [])
  const context = { services, parameters: { token }, body: read.data }
  await setInvitationPassword(context as Parameters<typeof setInvitationPassword>[0])
}

/** @throws PlatformError FORBIDDEN, TOO_MANY_REQUESTS */
async function verifyPassword(
  { accounts }: Services,
  { email }: Shown,
  password: string,
  address: string,
): Promise<void> {
  const user = await accounts.users.findByEmail(email)
  const hasLocalPassword = user?.isEnabled === true && !user.isExternal && accounts.isPassword !== undefined
  if (hasLocalPassword && (await accounts.isPassword(user, password, address))) return
  throw new PlatformError('FORBIDDEN', 'Incorrect password.')
}
