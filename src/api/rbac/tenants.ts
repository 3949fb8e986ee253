import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { notFound, PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { DisplayName } from '../../crds/fields.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { SsoConnection } from '../../crds/sso.ts'
import { created, noContent, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { isEnabled, verifiedDomains } from '../people/singleSignOn.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, pagedListOf, Uuid } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { oneAtATime } from '../rules/grants.ts'

type TenantRecord = RecordOf<typeof PlatformTenant>

const CreateTenantRequest = z
  .strictObject({ displayName: DisplayName.describe('Unique on the platform') })
  .meta({ id: 'CreateTenantRequest' })

const TenantDto = z
  .object({
    id: Uuid,
    displayName: z.string(),
    domains: z.array(z.string()).describe('Of its people, verified for single sign-on'),
    boundaryCount: z.int(),
    userCount: z.int(),
    ssoEnabled: z.boolean(),
    createdAt: DateTime,
  })
  .meta({ id: 'TenantDto' })

const tenantShape: ListShape<TenantRecord> = {
  fields: {
    displayName: { title: 'Name', type: 'text', of: ({ spec }) => spec.displayName, isSearched: true },
    createdAt: { title: 'Created', type: 'dateTime', of: ({ metadata }) => metadata.creationTimestamp },
  },
  defaultSort: 'displayName',
  nameOf: ({ spec }) => spec.displayName,
  idOf: ({ metadata }) => metadata.name,
}

function countsOf({ records }: Services, tenantId: string): { boundaryCount: number; userCount: number } {
  const boundaries = records.peekAll(Boundary).filter(({ spec }) => spec.tenantId === tenantId)
  const users = records
    .peekAll(PlatformUser, { namespace: SYSTEM_NAMESPACE })
    .filter(({ spec }) => spec.tenantIds.includes(tenantId))
  return { boundaryCount: boundaries.length, userCount: users.length }
}

function tenantDto(services: Services, { metadata, spec }: TenantRecord): z.output<typeof TenantDto> {
  return {
    id: metadata.name,
    displayName: spec.displayName,
    ...singleSignOnOf(services, metadata.name),
    ...countsOf(services, metadata.name),
    createdAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
  }
}

function singleSignOnOf({ records }: Services, tenantId: string): { domains: string[]; ssoEnabled: boolean } {
  const connection = records.peek(SsoConnection, { namespace: SYSTEM_NAMESPACE, name: tenantId })
  if (connection === undefined) return { domains: [], ssoEnabled: false }
  return { domains: verifiedDomains(connection), ssoEnabled: isEnabled(connection) }
}

async function findTenant({ services, fresh, parameters }: Context<'tenantId'>): Promise<TenantRecord> {
  const found = await services.records.get(PlatformTenant, { name: parameters.tenantId }, { fresh })
  if (found === undefined) throw notFound(`Tenant "${parameters.tenantId}"`)
  return found
}

/** @throws PlatformError already_exists */
async function createTenant(context: Context<string, unknown, z.output<typeof CreateTenantRequest>>) {
  const { services, caller, body } = context
  return oneAtATime('tenants', async () => {
    const { displayName } = body
    if (services.records.peekAll(PlatformTenant).some(({ spec }) => spec.displayName === displayName)) {
      throw new PlatformError('already_exists', `A tenant is called "${displayName}" already.`, { displayName })
    }
    const { object } = await services.records.create(PlatformTenant, { name: randomUUID(), spec: body, caller })
    return created(tenantDto(services, object), { etag: etagOf(object) })
  })
}

/** @throws PlatformError NOT_FOUND, conflict while boundaries or people belong to it */
async function removeTenant(context: Context<'tenantId'>) {
  const { services, caller, ifMatch } = context
  const { name } = (await findTenant(context)).metadata
  const counts = countsOf(services, name)
  if (counts.boundaryCount + counts.userCount > 0) {
    const message = `Boundaries (${counts.boundaryCount}) or people (${counts.userCount}) belong to tenant "${name}": move them first.`
    throw new PlatformError('conflict', message, counts)
  }
  await services.records.remove(PlatformTenant, { name }, { caller, ifMatch })
  return noContent()
}

const admin = action('boundaries/tenant/admin')
export const tenantAdminRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    '/admin/tenants',
    {
      auth: admin,
      summary: 'The tenants of the platform',
      list: tenantShape as never,
      reply: pagedListOf(TenantDto),
      answers: [200],
    },
    async ({ services, fresh, list }) => {
      const all = await services.records.list(PlatformTenant, {}, { fresh })
      return pagedParts(all, list, tenantShape, (tenant) => tenantDto(services, tenant))
    },
  ),
  route(
    'POST',
    '/admin/tenants',
    { auth: admin, summary: 'Make a tenant', body: CreateTenantRequest, reply: TenantDto, answers: [201] },
    createTenant,
  ),
  route(
    'GET',
    '/admin/tenants/{tenantId}',
    { auth: admin, summary: 'Read a tenant', reply: TenantDto, answers: [200] },
    async (context) => {
      const tenant = await findTenant(context)
      return ok(tenantDto(context.services, tenant), { etag: etagOf(tenant) })
    },
  ),
  route(
    'DELETE',
    '/admin/tenants/{tenantId}',
    { auth: admin, summary: 'Remove a tenant that nobody and nothing belongs to', answers: [204] },
    removeTenant,
  ),
]
