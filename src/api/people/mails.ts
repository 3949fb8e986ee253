import type { Mail } from '../../adapters/mail/port.ts'
import type { MemberInvitation } from '../../crds/invitations.ts'

/** Collapses white space: names that people chose must not add lines to a mail. */
function singleLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim()
}

export function invitationMail({ spec }: Pick<MemberInvitation, 'spec'>, boundary: string, link: string): Mail {
  const inviter = singleLine(spec.invitedByName ?? 'An administrator')
  const name = singleLine([spec.firstName, spec.lastName].filter((part) => part !== undefined).join(' '))
  return {
    to: spec.email,
    subject: `You are invited to ${singleLine(boundary)}`,
    text: [
      name === '' ? 'Hello,' : `Hello ${name},`,
      '',
      `${inviter} invites you to "${singleLine(boundary)}" as ${singleLine(spec.roleDefinitionName)}.`,
      ...(spec.message === undefined
        ? []
        : ['', 'They write:', ...spec.message.split(/\r\n?|\n/).map((text) => `> ${text}`)]),
      '',
      'To accept the invitation, open this link:',
      link,
      '',
      `It works until ${spec.expiresAt}. If you did not expect it, do nothing.`,
      '',
    ].join('\n'),
  }
}

export function resetMail(email: string, link: string, expiresAt: string): Mail {
  return {
    to: email,
    subject: 'Choose a new password',
    text: [
      'Hello,',
      '',
      'somebody asked for a new password for the account with this address. To choose one, open this link:',
      link,
      '',
      `It works once, until ${expiresAt}. If it was not you, do nothing: your password stays as it is.`,
      '',
    ].join('\n'),
  }
}
