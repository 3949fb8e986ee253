import { createClient } from '../../client/index.ts'
import type { Command, Context, Option } from '../command.ts'
import { usage } from '../failure.ts'
import { openSession } from '../session.ts'
import { fetchOf, readSettings } from '../settings.ts'

const FIRST_NAME: Option = { long: 'first-name', value: 'NAME', summary: 'For a new account' }
const LAST_NAME: Option = { long: 'last-name', value: 'NAME', summary: 'For a new account' }
const PASSWORD_NOTE = 'You are asked for the password; without a terminal, it is read from stdin.'

/** Accepts the links in mails, or just the token at their end. */
export const invitation: Command = {
  name: 'invitation',
  summary: 'Join a boundary by the link of an invitation',
  positionals: [{ name: 'accept', offers: ['accept'] }, { name: 'LINK' }],
  options: [FIRST_NAME, LAST_NAME],
  details: `Without an account, this creates one: sign in with it, and accept again. ${PASSWORD_NOTE}`,
  async run(input, context) {
    const [action, link = ''] = input.positionals
    if (action !== 'accept') throw usage('Use `freehold invitation accept LINK`.')
    const token = tokenOf(link)
    const path = `/invitations/${encodeURIComponent(token)}`
    const found = await ask<{ email: string; boundary: string; requiresPassword: boolean }>(context, 'GET', path)
    if (found.requiresPassword) {
      const [firstName, lastName] = [input.text('first-name'), input.text('last-name')]
      if (firstName === undefined || lastName === undefined) {
        throw usage(`${found.email} has no account yet: add --first-name and --last-name.`)
      }
      const password = await context.terminal.readPassword(`New password of ${found.email}: `)
      await ask(context, 'POST', `${path}/set-password`, { password, firstName, lastName })
      context.terminal.err(
        'The account was created. Sign in with `freehold login`, then accept the invitation again.\n',
      )
      return
    }
    const { client } = await openSession(context)
    const { text } = await client.request({ method: 'POST', path: '/invitations/accept', body: { token } })
    const { roleDefinitionName, scope } = JSON.parse(text) as { roleDefinitionName: string; scope: string }
    context.terminal.err(`You are ${roleDefinitionName} in ${found.boundary}.\n${nextStep(scope)}`)
  },
}

export const password: Command = {
  name: 'password',
  summary: 'Change your password, or reset it by a link',
  positionals: [
    { name: 'change|reset', offers: ['change', 'reset'] },
    { name: 'EMAIL|LINK', isOptional: true },
  ],
  details: `\`reset EMAIL\` asks for a link, \`reset LINK\` uses it; \`change\` needs a sign-in within the last five minutes. ${PASSWORD_NOTE}`,
  async run({ positionals: [action, target = ''] }, context) {
    if (action === 'change') {
      const { client } = await openSession(context)
      const body = { password: await context.terminal.readPassword('New password: ') }
      await client.request({ method: 'POST', path: '/identity/change-password', body })
      context.terminal.err('The password was changed. Your other logins have ended.\n')
      return
    }
    if (action !== 'reset') throw usage('Use `freehold password change`, `reset EMAIL` or `reset LINK`.')
    if (/^[^/\s]+@[^/\s]+$/.test(target)) {
      await ask(context, 'POST', '/identity/password-reset', { email: target })
      context.terminal.err(`If ${target} has an account, a link is on its way: \`freehold password reset LINK\`.\n`)
      return
    }
    const path = `/identity/password-reset/${encodeURIComponent(tokenOf(target))}`
    // Checks the link before the user types a password.
    await ask(context, 'GET', path)
    await ask(context, 'POST', path, { password: await context.terminal.readPassword('New password: ') })
    context.terminal.err('The password was set. Sign in with `freehold login`.\n')
  },
}

/** A user with a role in one group only cannot list the boundary, so the command names it. */
function nextStep(scope: string): string {
  const [, boundaryId, group] = /^\/boundaries\/([^/]+)(?:\/resourcegroups\/([^/]+))?/.exec(scope) ?? []
  if (boundaryId === undefined) return ''
  const words = ['freehold use -b', boundaryId, ...(group === undefined ? [] : ['-g', group])]
  return `Make it the default of commands: \`${words.join(' ')}\`.\n`
}

function tokenOf(link: string): string {
  const last = (URL.parse(link)?.pathname ?? link).split('/').at(-1) ?? ''
  if (last === '') throw usage('LINK must be the address in the mail, or the token at its end.')
  return decodeURIComponent(last)
}

/** Calls without a token: the user may not have an account yet. */
async function ask<Answer>({ paths, signal }: Context, method: string, path: string, body?: object): Promise<Answer> {
  const settings = await readSettings(paths.settings)
  const client = createClient({ baseUrl: settings.facadeUrl, fetch: await fetchOf(settings) })
  const { text } = await client.request({ method, path, signal, ...(body !== undefined && { body }) })
  return (text === '' ? {} : JSON.parse(text)) as Answer
}
