import { z } from 'zod'
import { mapConcurrently } from '../../core/mapConcurrently.ts'
import { type KeycloakAdmin, parseAdminAnswer, unreadable } from './keycloakAdmin.ts'

const DomainRepresentation = z.looseObject({ name: z.string(), verified: z.boolean().default(false) })
const OrganizationRepresentation = z.looseObject({
  id: z.string(),
  name: z.string(),
  alias: z.string().optional(),
  domains: z.array(DomainRepresentation).default([]),
})
export type OrganizationRepresentation = z.output<typeof OrganizationRepresentation>
const Members = z.array(z.looseObject({ id: z.string() }))

const MAX_LISTED = 10_000
/** Of one list: a realm may have thousands of organizations and providers. */
export const CALLS_AT_ONCE = 10

/** Tenants are organizations in Keycloak, with the tenant id as name and alias. */
export interface KeycloakOrganizations {
  find(tenantId: string): Promise<OrganizationRepresentation | undefined>
  /** Finds or creates the organization. */
  open(tenantId: string): Promise<OrganizationRepresentation>
  tenantsOf(userId: string): Promise<string[]>
  /** Returns the tenants of all members, by user id. */
  tenantsByMember(): Promise<ReadonlyMap<string, readonly string[]>>
  /** Returns the number of members; 0 for tenants without an organization. */
  countIn(tenantIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  join(userId: string, tenantId: string): Promise<void>
  leave(userId: string, tenantId: string): Promise<void>
}

export function keycloakOrganizations(admin: KeycloakAdmin): KeycloakOrganizations {
  async function all(query: Record<string, string>): Promise<OrganizationRepresentation[]> {
    const path = `/organizations?${new URLSearchParams({ briefRepresentation: 'false', ...query })}`
    // Keycloak answers 404 if organizations are disabled in the realm.
    const { status, body } = await admin.call('GET', path, { accepted: [404] })
    return status === 404 ? [] : parseAdminAnswer(z.array(OrganizationRepresentation), body)
  }
  async function find(tenantId: string) {
    return (await all({ search: tenantId, exact: 'true' })).find(({ name }) => name === tenantId)
  }
  async function open(tenantId: string) {
    const present = await find(tenantId)
    if (present !== undefined) return present
    const body = { name: tenantId, alias: tenantId, enabled: true, domains: [] }
    await admin.call('POST', '/organizations', { body, accepted: [409] })
    const made = await find(tenantId)
    if (made === undefined) throw unreadable()
    return made
  }
  return {
    find,
    open,
    async tenantsOf(userId) {
      const path = `/organizations/members/${encodeURIComponent(userId)}/organizations`
      const { status, body } = await admin.call('GET', path, { accepted: [400, 404] })
      return status === 200 ? parseAdminAnswer(z.array(OrganizationRepresentation), body).map(({ name }) => name) : []
    },
    async tenantsByMember() {
      const tenants = new Map<string, string[]>()
      const organizations = await all({ max: String(MAX_LISTED) })
      const members = await mapConcurrently(CALLS_AT_ONCE, organizations, async ({ id, name }) => {
        const { body } = await admin.call('GET', `/organizations/${id}/members?max=${MAX_LISTED}`)
        return parseAdminAnswer(Members, body).map((member) => ({ id: member.id, name }))
      })
      for (const { id, name } of members.flat()) tenants.set(id, [...(tenants.get(id) ?? []), name])
      return tenants
    },
    async countIn(tenantIds) {
      const counts = new Map(tenantIds.map((id) => [id, 0]))
      const [first] = tenantIds
      if (first === undefined) return counts
      const query = counts.size === 1 ? { search: first, exact: 'true' } : { max: String(MAX_LISTED) }
      const known = (await all(query)).filter(({ name }) => counts.has(name))
      await mapConcurrently(CALLS_AT_ONCE, known, async ({ id, name }) => {
        const { body } = await admin.call('GET', `/organizations/${id}/members/count`)
        counts.set(name, parseAdminAnswer(z.int(), body))
      })
      return counts
    },
    async join(userId, tenantId) {
      const { id } = await open(tenantId)
      // 409: already a member.
      await admin.call('POST', `/organizations/${id}/members`, { body: userId, accepted: [409] })
    },
    async leave(userId, tenantId) {
      const found = await find(tenantId)
      if (found === undefined) return
      const path = `/organizations/${found.id}/members/${encodeURIComponent(userId)}`
      await admin.call('DELETE', path, { accepted: [400, 404] })
    },
  }
}
