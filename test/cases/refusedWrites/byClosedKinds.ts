import { randomUUID } from 'node:crypto'
import { newLinkToken } from '../../../src/core/linkToken.ts'
import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import { Boundary } from '../../../src/crds/boundaries.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import { PlatformUser } from '../../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../../src/crds/invitations.ts'
import { PlatformTenant } from '../../../src/crds/rbac.ts'
import { SsoConnection } from '../../../src/crds/sso.ts'
import { boundaryPath, dryRun, home, named, type RefusalWorld, type RefusedWrite, refused } from './write.ts'

/** A kind that only administrators and REST write. */
const closed = (kind: AnyKind, spec: object) => ({
  write: ({ clerk }: RefusalWorld) =>
    clerk.create(
      kind.resource,
      named(kind, kind.placement === 'cluster' ? undefined : SYSTEM_NAMESPACE, randomUUID(), spec),
      dryRun,
    ),
  status: 403,
  says: 'written through the REST API',
})

const HASH = '0'.repeat(64)
const FOREVER = '2100-01-01T00:00:00Z'
/** Recent: what ended long ago is removed. */
const OVER = new Date(Date.now() - 60_000).toISOString()
const LINK = { email: 'ada@example.org', tokenHash: HASH, expiresAt: FOREVER }
const PASSWORD = 'a long way to Tipperary'
const address = () => `${randomUUID()}@example.org`

async function makeTenant({ admin, until, rest }: RefusalWorld): Promise<string> {
  const name = randomUUID()
  await admin.create(PlatformTenant.resource, named(PlatformTenant, undefined, name, { displayName: `Tenant ${name}` }))
  await until('REST knows the tenant', async () => {
    return (await rest({ method: 'GET', path: `/admin/tenants/${name}` })).status === 200
  })
  return name
}

const domainsPath = (tenant: string) => `/admin/tenants/${tenant}/sso/domains`

async function makeTenantWithDomain(world: RefusalWorld) {
  const [tenant, other, domain] = [await makeTenant(world), await makeTenant(world), `${randomUUID()}.example.org`]
  const connection = named(SsoConnection, SYSTEM_NAMESPACE, other, { domains: [domain] })
  await world.admin.create(SsoConnection.resource, connection)
  return { tenant, domain }
}

/** An invitation to the boundary with these fields, and the token of its link. */
async function makeInvitation(world: RefusalWorld, given: object) {
  const id = randomUUID()
  const { token, hash } = newLinkToken([world.boundaryId, id])
  const spec = { ...invitationSpec(world), email: address(), tokenHash: hash, ...given }
  await world.admin.create(MemberInvitation.resource, named(MemberInvitation, home(world), id, spec))
  await world.until('REST knows the invitation', async () => {
    const { body } = await world.rest({ method: 'GET', path: `${invitationsPath(world)}?pageSize=100` })
    return body.items?.some((one) => one.id === id)
  })
  return { id, token, email: spec.email }
}

const invitationSpec = ({ boundaryId }: RefusalWorld) => ({
  ...LINK,
  roleDefinitionName: 'Reader',
  scope: `/boundaries/${boundaryId}`,
  invitedBy: randomUUID(),
  hasAccount: false,
})
const invitationsPath = (world: RefusalWorld) => `${boundaryPath(world)}/providers/authorization/invitations`
const invitationPath = (world: RefusalWorld, id: string) => `${invitationsPath(world)}/${id}`
const SIGNED_IN = 'it takes a person who has signed in: src/api/invitations'

async function makeInvitations(world: RefusalWorld) {
  const [accepted, revoked, open, over] = await Promise.all([
    makeInvitation(world, { state: 'Accepted' }),
    makeInvitation(world, { state: 'Revoked' }),
    makeInvitation(world, {}),
    makeInvitation(world, { expiresAt: OVER }),
  ])
  const body = { email: address(), roleDefinitionName: 'Reader' }
  const sent = await world.rest({ method: 'POST', path: invitationsPath(world), body })
  const ref = { namespace: home(world), name: sent.body.id ?? '' }
  const spec = { resendCount: 10, lastSentAt: FOREVER }
  await world.admin.mergePatch(MemberInvitation.resource, ref, { spec })
  const untenanted = randomUUID()
  await world.admin.create(Boundary.resource, named(Boundary, undefined, untenanted, { displayName: 'Of nobody' }))
  await world.until('REST knows the boundary', async () => {
    return (await world.rest({ method: 'GET', path: `/boundaries/${untenanted}` })).status === 200
  })
  return { accepted, revoked, open, over, sent: ref.name, untenanted }
}

/** A person with an account. */
async function makePerson({ admin, until, rest }: RefusalWorld) {
  const [name, email] = [randomUUID(), address()]
  const person = named(PlatformUser, SYSTEM_NAMESPACE, name, { userName: name, email })
  await admin.create(PlatformUser.resource, person)
  await until('REST knows the person', async () => {
    return (await rest({ method: 'GET', path: `/admin/users/${name}` })).status === 200
  })
  return { id: name, email }
}

/** The kinds of access control that only REST and administrators write. */
export const BY_CLOSED_KINDS: Readonly<Record<string, RefusedWrite>> = {
  'freehold-iam-writers SsoConnection': refused({
    ...closed(SsoConnection, {}),
    prepare: makeTenantWithDomain,
    rest: {
      URL_NOT_ALLOWED: (_, { tenant }) => ({
        method: 'POST',
        path: `/admin/tenants/${tenant}/sso/identity-providers`,
        body: {
          ...{ alias: 'near', displayName: 'Near', clientId: 'shop', clientSecret: 'secret' },
          metadataUrl: 'https://169.254.169.254/.well-known/openid-configuration',
        },
      }),
      domain_taken: (_, { tenant, domain }) => ({
        method: 'PUT',
        path: domainsPath(tenant),
        body: { domains: [domain] },
      }),
    },
  }),
  'freehold-iam-writers MemberInvitation': refused({
    status: 403,
    says: 'written through the REST API',
    prepare: makeInvitations,
    write: (world) => {
      const invitation = named(MemberInvitation, home(world), randomUUID(), invitationSpec(world))
      return world.clerk.create(MemberInvitation.resource, invitation, dryRun)
    },
    rest: {
      not_found: (world) => ({ method: 'DELETE', path: invitationPath(world, randomUUID()) }),
      already_accepted: (world, { accepted }) => ({ method: 'DELETE', path: invitationPath(world, accepted.id) }),
      already_revoked: (world, { revoked }) => ({ method: 'DELETE', path: invitationPath(world, revoked.id) }),
      invalid_state: (world, { revoked }) => ({
        method: 'POST',
        path: `${invitationPath(world, revoked.id)}/resend`,
      }),
      resend_limit: (world, { sent }) => ({ method: 'POST', path: `${invitationPath(world, sent)}/resend` }),
      duplicate_pending: (world, { open }) => ({
        method: 'POST',
        path: invitationsPath(world),
        body: { email: open.email, roleDefinitionName: 'Reader' },
      }),
      expired: (_, { over }) => ({
        method: 'POST',
        path: `/invitations/${over.token}/set-password`,
        body: { firstName: 'Ada', lastName: 'Byron', password: PASSWORD },
      }),
      tenant_resolution_failed: (_, { untenanted }) => ({
        method: 'POST',
        path: `/boundaries/${untenanted}/providers/authorization/invitations`,
        body: { email: address(), roleDefinitionName: 'Reader' },
      }),
    },
    elsewhere: { email_not_verified: SIGNED_IN, email_mismatch: SIGNED_IN },
  }),
  'freehold-iam-writers PlatformUser': refused({
    ...closed(PlatformUser, { userName: 'ada', email: 'ada@example.org' }),
    prepare: async (world) => {
      const { email } = await makePerson(world)
      return { token: (await makeInvitation(world, { email })).token, tenant: await makeTenant(world) }
    },
    rest: {
      unknown_user: (_, { tenant }) => ({
        method: 'POST',
        path: '/admin/iam/members',
        body: { userId: randomUUID(), tenantId: tenant },
      }),
      user_already_exists: (_, { token }) => ({
        method: 'POST',
        path: `/invitations/${token}/set-password`,
        body: { firstName: 'Ada', lastName: 'Byron', password: PASSWORD },
      }),
    },
  }),
  'freehold-iam-writers PlatformTenant': refused({
    ...closed(PlatformTenant, { displayName: 'Ada' }),
    prepare: async (world) => {
      const [tenantId, boundary] = [await makeTenant(world), randomUUID()]
      const spec = { displayName: 'Of a tenant', tenantId }
      await world.admin.create(Boundary.resource, named(Boundary, undefined, boundary, spec))
      await world.until('REST knows the boundary', async () => {
        return (await world.rest({ method: 'GET', path: `/boundaries/${boundary}` })).status === 200
      })
      return tenantId
    },
    rest: { conflict: (_, tenant) => ({ method: 'DELETE', path: `/admin/tenants/${tenant}` }) },
  }),
  'freehold-iam-writers PasswordReset': refused({
    ...closed(PasswordReset, { ...LINK, userId: randomUUID() }),
    prepare: async ({ admin }) => {
      const id = randomUUID()
      const { token, hash } = newLinkToken([id])
      const spec = { ...LINK, userId: randomUUID(), tokenHash: hash, expiresAt: OVER }
      await admin.create(PasswordReset.resource, named(PasswordReset, SYSTEM_NAMESPACE, id, spec))
      return token
    },
    rest: {
      expired: (_, token) => ({
        method: 'POST',
        path: `/identity/password-reset/${token}`,
        body: { password: PASSWORD },
      }),
    },
    elsewhere: { REQUEST_FAILED: 'all tests ask from one address, which would be refused to them: src/api/passwords' },
  }),
}
