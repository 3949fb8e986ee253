import { PlatformError } from '../../core/errors.ts'
import { boundaryIdOf } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { type Acceptor, acceptRefusalOf } from '../../iam/invitations.ts'
import type { Services } from '../http/context.ts'
import { acceptInvitationAs } from './link.ts'

type Person = Acceptor & { id: string }

/**
 * The open invitations of the person on the identity provider's account page: a verified address proves as much as the
 * link that was sent to it. So people whose password is managed by their organization can also accept in a browser.
 * @param services the services of the facade; undefined until it has started
 */
export function invitationsOnAccountPage(services: () => Services | undefined) {
  const openTo = ({ records, clock }: Services, person: Person) => {
    if (person.email === undefined || !person.emailVerified) return []
    const now = clock.now()
    return records
      .peekAll(MemberInvitation)
      .filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && !acceptRefusalOf(spec, person, now))
  }
  return {
    async openTo(person: Person) {
      const whole = services()
      if (whole === undefined) return []
      return openTo(whole, person).map(({ metadata, spec }) => ({
        id: metadata.name,
        boundary: whole.records.peek(Boundary, { name: boundaryIdOf(metadata) })?.spec.displayName,
        roleName: spec.roleDefinitionName,
        invitedBy: spec.invitedByName,
      }))
    },
    /** @returns why it cannot be accepted, as a sentence for the person */
    async accept(person: Person, id: string): Promise<string | undefined> {
      const whole = services()
      const invitation = whole && openTo(whole, person).find(({ metadata }) => metadata.name === id)
      if (whole === undefined || invitation === undefined) return 'The invitation is no longer open.'
      try {
        await acceptInvitationAs(
          whole,
          { principalId: person.id, principalType: 'User', expiresAt: 0 },
          person,
          invitation,
        )
        return undefined
      } catch (error) {
        if (error instanceof PlatformError) return error.message
        throw error
      }
    },
  }
}
