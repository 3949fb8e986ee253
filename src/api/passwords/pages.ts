import { badRequest } from '../../core/errors.ts'
import { escapeHtml, page } from '../../core/page.ts'
import { policySentences } from '../../iam/passwordPolicy.ts'
import type { Context } from '../http/context.ts'
import { type LinkPages, newPassword, renderForm, rulesList, signInLink } from '../people/forms.ts'
import { PasswordResetConfirmRequest } from '../people/passwordRecord.ts'
import { confirmReset, showReset } from './reset.ts'

export const resetPages: LinkPages = {
  path: '/identity/password-reset/:token',
  async show(services, token, _browser, refused) {
    const { body } = await showReset({ services, parameters: { token } } as Context<'token'>)
    const rules = policySentences(await services.accounts.passwordRules())
    return page(
      'Choose a new password',
      `<p>For the account of ${escapeHtml(body?.email ?? '')}. All its sign-ins end.</p>
${rulesList(rules)}
${renderForm([newPassword], 'Set the password', refused)}`,
      { error: refused?.error },
    )
  },
  async submit(services, token, fields) {
    const read = PasswordResetConfirmRequest.safeParse({ password: fields('password') })
    if (!read.success) throw badRequest('The password is too long.', [])
    await confirmReset({ services, parameters: { token }, body: read.data } as Parameters<typeof confirmReset>[0])
    return page('The password was set', `<p>Use it from now on.</p>\n${signInLink(services)}`)
  },
}
