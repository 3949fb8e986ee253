import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { boundaryIdOf } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { isShown, SHOWN_NAME } from '../../core/shownText.ts'
import { PersonName, ShownProse } from '../../crds/fields.ts'
import { INVITATION_STATES, type MemberInvitation } from '../../crds/invitations.ts'
import { invitationStateAt, isInvitationOpen, nextResendAt, resendRefusalOf } from '../../iam/invitations.ts'
import type { Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { RoleName } from '../rules/memberRecord.ts'

export type InvitationRecord = RecordOf<typeof MemberInvitation>

export const InvitationDto = namedRecord('InvitationDto', {
  id: Uuid,
  boundaryId: Uuid,
  email: z.string(),
  roleDefinitionName: z.string(),
  scope: z.string(),
  status: z.enum(INVITATION_STATES),
  hasAccount: z.boolean().describe('Whether the address had an account when the invitation was last sent'),
  invitedBy: z.string().describe('The principal who invited'),
  createdAt: DateTime,
  expiresAt: DateTime,
  acceptedAt: DateTime.nullable(),
  resendCount: z.int(),
  lastSentAt: DateTime.nullable(),
  canResend: z.boolean(),
  nextResendAt: DateTime.nullable(),
  link: z.string().nullable().describe('In the answers of create and resend, if no mail is configured'),
})
export type InvitationDto = z.output<typeof InvitationDto>

export const CreateInvitationRequest = strictRecord('CreateInvitationRequest', {
  email: z.string().max(1000).describe('Address that the invitation is for'),
  roleDefinitionName: RoleName,
  scope: z.string().max(400).nullish().describe('The boundary when absent'),
  expiresInDays: z.int().min(1).max(30).nullish().describe('7 when absent'),
  message: ShownProse.max(1000).nullish().describe('A message that the mail contains'),
  firstName: PersonName.nullish().describe('Suggested for the account that accepting creates'),
  lastName: PersonName.nullish().describe('Suggested for the account that accepting creates'),
})

export const PublicInvitationDto = namedRecord('PublicInvitationDto', {
  email: z.string(),
  boundary: z.string(),
  roleDefinitionName: z.string(),
  invitedBy: z.string(),
  expiresAt: DateTime,
  status: z.enum(INVITATION_STATES),
  hasAccount: z.boolean(),
  requiresPassword: z.boolean(),
})

/** Stricter than for existing accounts, because the identity provider itself accepts any name. */
const NewName = PersonName.refine((text) => isShown(SHOWN_NAME, text), SHOWN_NAME.message)
export const SetInvitationPasswordRequest = strictRecord('SetInvitationPasswordRequest', {
  password: z.string().max(10_000),
  firstName: NewName,
  lastName: NewName,
})

export const InvitationSignInDto = namedRecord('InvitationSignInDto', {
  signInUrl: z.string(),
  email: z.string(),
  status: z.enum(INVITATION_STATES),
})

export const AcceptInvitationRequest = strictRecord('AcceptInvitationRequest', { token: z.string().max(1000) })

export const InvitationAcceptedDto = namedRecord('InvitationAcceptedDto', {
  boundaryId: Uuid,
  assignmentId: Uuid,
  roleDefinitionName: z.string(),
  scope: z.string(),
})

function isoTime(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : timestamp(milliseconds)
}

/** @param link only for the inviter, and only if mail is not configured */
export function invitationDto(
  { clock, accounts }: Services,
  { metadata, spec }: InvitationRecord,
  link?: string,
): InvitationDto {
  const now = clock.now()
  return wholeRecord(InvitationDto, {
    ...spec,
    id: metadata.name,
    boundaryId: boundaryIdOf(metadata),
    status: invitationStateAt(spec, now),
    createdAt: createdAtOf(metadata),
    canResend: resendRefusalOf(spec, now, accounts.resendLimits) === undefined,
    nextResendAt: isInvitationOpen(invitationStateAt(spec, now))
      ? isoTime(nextResendAt(spec, now, accounts.resendLimits))
      : null,
    link,
  })
}
