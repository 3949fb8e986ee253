import { badRequest, PlatformError } from '../../core/errors.ts'
import { escapeHtml, page } from '../../core/page.ts'
import { policySentences } from '../../iam/passwordPolicy.ts'
import type { Context, Services } from '../http/context.ts'
import { type Fields, formOf, type LinkPages, newPassword, rulesList, signInLink } from '../people/forms.ts'
import { acceptInvitation, setInvitationPassword, showInvitation } from './link.ts'
import { SetInvitationPasswordRequest } from './record.ts'

type Shown = {
  email: string
  boundary: string
  roleDefinitionName: string
  invitedBy: string
  requiresPassword: boolean
}

/** The page behind the link of an invitation: whoever has no account makes one, everybody else proves who they are. */
export const invitationPages: LinkPages = {
  path: '/invitations/:token',
  async show(services, token) {
    const shown = await shownOf(services, token)
    return page(`Join ${shown.boundary}`, `${greeting(shown)}\n${await formFor(services, shown, token)}`)
  },
  async submit(services, token, fields, address) {
    const shown = await shownOf(services, token)
    if (shown.requiresPassword) await makeAccount(services, token, fields)
    else await proveAccount(services, shown, fields('password'), address)
    const user = await services.accounts.users.findByEmail(shown.email)
    if (user === undefined) throw new PlatformError('not_found', 'There is no account with the invited address.')
    const caller = { principalId: user.id, principalType: 'User' as const, expiresAt: 0 }
    await acceptInvitation({ services, caller, body: { token } } as Parameters<typeof acceptInvitation>[0])
    return page(
      'Welcome',
      `<p>You are ${escapeHtml(shown.roleDefinitionName)} of ${escapeHtml(shown.boundary)} now.</p>\n${signInLink(services)}`,
    )
  },
}

async function shownOf(services: Services, token: string): Promise<Shown> {
  return (await showInvitation({ services, parameters: { token } } as Context<'token'>)).body as Shown
}

function greeting({ invitedBy, boundary, roleDefinitionName, email }: Shown): string {
  return `<p>${escapeHtml(invitedBy)} invites ${escapeHtml(email)} to <strong>${escapeHtml(boundary)}</strong> as ${escapeHtml(roleDefinitionName)}.</p>`
}

async function formFor(services: Services, { requiresPassword, email }: Shown, token: string): Promise<string> {
  if (requiresPassword) {
    const names = [
      { name: 'firstName', label: 'First name', autocomplete: 'given-name' },
      { name: 'lastName', label: 'Last name', autocomplete: 'family-name' },
    ]
    const rules = rulesList(policySentences(await services.accounts.passwordRules()))
    return `${rules}\n${formOf([...names, newPassword], 'Make my account and join')}`
  }
  const { isPassword, users } = services.accounts
  // No password of theirs is known here: they sign in, and accept there.
  if (isPassword === undefined) return byProgram(token)
  if ((await users.findByEmail(email))?.isExternal === true)
    return `<p>You sign in at your organization: do, and accept on your account page.</p>\n${signInLink(services)}`
  const password = { name: 'password', label: 'Your password', type: 'password', autocomplete: 'current-password' }
  return formOf([password], 'Accept')
}

function byProgram(token: string): string {
  return `<p>You have an account, whose password is kept elsewhere. Accept in a terminal:</p>
<pre>freehold login
freehold invitation accept ${escapeHtml(token)}</pre>`
}

async function makeAccount(services: Services, token: string, fields: Fields): Promise<void> {
  const [password, firstName, lastName] = [fields('password'), fields('firstName'), fields('lastName')]
  const read = SetInvitationPasswordRequest.safeParse({ password, firstName, lastName })
  if (!read.success) throw badRequest('Give a first and a last name of at most 64 characters each.', [])
  const context = { services, parameters: { token }, body: read.data }
  await setInvitationPassword(context as Parameters<typeof setInvitationPassword>[0])
}

/** @throws PlatformError FORBIDDEN, TOO_MANY_REQUESTS */
async function proveAccount(
  { accounts }: Services,
  { email }: Shown,
  password: string,
  address: string,
): Promise<void> {
  const user = await accounts.users.findByEmail(email)
  const isTheirs = user?.isEnabled === true && !user.isExternal && accounts.isPassword !== undefined
  if (isTheirs && (await accounts.isPassword(user, password, address))) return
  throw new PlatformError('FORBIDDEN', 'Incorrect password.')
}
