import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { looksSame } from '../../core/shownText.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { DisplayName } from '../../crds/fields.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { SsoConnection } from '../../crds/sso.ts'
import type { Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import { isEnabled, verifiedDomains } from '../people/singleSignOn.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { inCluster } from '../resources/collection/parents.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { dateTime, text } from '../resources/paging.ts'
import { tenantLock } from '../rules/changeLocks.ts'

const CreateTenantRequest = strictRecord('CreateTenantRequest', {
  displayName: DisplayName.describe('Unique on the platform'),
})

const TenantDto = namedRecord('TenantDto', {
  id: Uuid,
  displayName: z.string(),
  domains: z.array(z.string()).describe('Of its people, verified for single sign-on'),
  boundaryCount: z.int(),
  userCount: z.int(),
  ssoEnabled: z.boolean(),
  createdAt: DateTime,
})

type Counts = { readonly boundaries: ReadonlyMap<string, number>; readonly users: ReadonlyMap<string, number> }

type TenantRecord = Pick<RecordOf<typeof PlatformTenant>, 'metadata'>

/** Returns how many boundaries and people belong to each tenant. */
async function countsByTenant({ records, accounts }: Services, tenants: readonly TenantRecord[]): Promise<Counts> {
  const boundaries = records.peekAll(Boundary).flatMap(({ spec }) => spec.tenantId ?? [])
  const users = await accounts.users.countIn(tenants.map(({ metadata }) => metadata.name))
  return { boundaries: countEach(boundaries), users }
}

function countEach(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

function countsOf({ boundaries, users }: Counts, tenantId: string) {
  return { boundaryCount: boundaries.get(tenantId) ?? 0, userCount: users.get(tenantId) ?? 0 }
}

function singleSignOnOf({ records }: Services, tenantId: string): { domains: string[]; ssoEnabled: boolean } {
  const connection = records.peek(SsoConnection, { namespace: SYSTEM_NAMESPACE, name: tenantId })
  if (connection === undefined) return { domains: [], ssoEnabled: false }
  return { domains: verifiedDomains(connection), ssoEnabled: isEnabled(connection) }
}

const admin = action('boundaries/tenant/admin')
export const tenants = collection(PlatformTenant, {
  path: '/admin/tenants',
  item: 'tenantId',
  noun: 'Tenant',
  parent: inCluster,
  keyOf: 'name',
  may: { read: admin, write: admin },
  dto: TenantDto,
  related: (found, { services }) => countsByTenant(services, found),
  toDto: ({ metadata: { name } }, { services, related }) => ({
    ...singleSignOnOf(services, name),
    ...countsOf(related, name),
  }),
  columns: { displayName: text('Name', { isSearched: true }), createdAt: dateTime('Created') },
  sort: 'displayName',
  name: 'displayName',
  list: { summary: 'The tenants of the platform' },
  get: { summary: 'Read a tenant' },
  create: {
    summary: 'Make a tenant',
    body: CreateTenantRequest,
    lock: () => ({ key: 'tenants', sees: [{ kind: PlatformTenant }] }),
    toSpec: ({ services, body }) => {
      const { displayName } = body
      if (services.records.peekAll(PlatformTenant).some(({ spec }) => looksSame(spec.displayName, displayName))) {
        throw new PlatformError('already_exists', `A tenant named "${displayName}" already exists.`, { displayName })
      }
      return body
    },
  },
  remove: {
    summary: 'Remove a tenant that nobody and nothing belongs to',
    lock: (_parent, { parameters }) =>
      tenantLock(parameters.tenantId ?? '', [{ kind: Boundary }, { kind: PlatformUser, namespace: SYSTEM_NAMESPACE }]),
    before: async ({ services }, tenant) => {
      const { name } = tenant.metadata
      const counts = countsOf(await countsByTenant(services, [tenant]), name)
      if (counts.boundaryCount + counts.userCount === 0) return
      const message = `Boundaries (${counts.boundaryCount}) or people (${counts.userCount}) belong to tenant "${name}": move them first.`
      throw new PlatformError('conflict', message, counts)
    },
  },
})
