import { z } from 'zod'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { Scope as ScopeText, Uuid } from '../../crds/fields.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PrincipalGroup } from '../../crds/rbac.ts'
import { ClaimName, HttpsUrl, IdpBinding } from '../../crds/sso.ts'
import { isBoundBy } from '../../iam/bindings.ts'
import { principalNotFound } from '../callers/principals.ts'
import type { Context, Services } from '../http/context.ts'
import { GRANT_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { atPlatform } from '../resources/collection/parents.ts'
import { vetUrl } from '../resources/deployments/address.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { dateTime, text } from '../resources/paging.ts'
import { findRole, incarnationAt, refuseExceeding } from '../rules/grants.ts'
import { refuseGivingGroup } from '../rules/groups.ts'
import { RoleName } from '../rules/memberRecord.ts'
import { requireTenant, TENANT_PATH } from './record.ts'

type BindingRecord = RecordOf<typeof IdpBinding>

const CreateBindingRequest = strictRecord('CreateBindingRequest', {
  issuer: HttpsUrl.describe('Exactly the iss claim of the external issuer'),
  claim: ClaimName.default('groups'),
  claimValue: IdpBinding.spec.shape.claimValue,
  groupId: Uuid.nullish(),
  roleDefinitionName: RoleName.nullish(),
  scope: ScopeText.nullish(),
})

const IdpBindingDto = namedRecord('IdpBindingDto', {
  id: UuidDto,
  tenantId: UuidDto,
  issuer: z.string(),
  claim: z.string(),
  claimValue: z.string(),
  groupId: UuidDto.nullable(),
  roleDefinitionName: z.string().nullable(),
  scope: z.string().nullable(),
  matchedUserCount: z.int().describe('People whose last sign-in through the issuer showed the value'),
  createdAt: DateTime,
})

type Create = Context<string, unknown, z.output<typeof CreateBindingRequest>>
type Target = { groupId: string } | { roleDefinitionName: string; scope: string; scopeIncarnation?: string }

/** @throws PlatformError BAD_REQUEST, unknown_role, boundary_not_found, principal_not_found, forbidden */
function targetOf({ services, caller, body }: Create): Target {
  const { groupId, roleDefinitionName, scope } = body
  const isRole = typeof roleDefinitionName === 'string' && typeof scope === 'string'
  const isIncomplete = (typeof roleDefinitionName === 'string') !== (typeof scope === 'string')
  if (isIncomplete || isRole === (typeof groupId === 'string')) {
    const message = 'a binding must name either groupId, or roleDefinitionName and scope'
    throw refusedFields([{ field: 'groupId', message }])
  }
  if (!isRole) {
    const id = groupId ?? ''
    const groups = services.records.peekAll(PrincipalGroup).filter(({ metadata }) => metadata.name === id)
    if (groups.length === 0) throw principalNotFound(id)
    // The people whom the issuer names get what the group has. If several groups have the id, the controllers choose.
    for (const group of groups) refuseGivingGroup(services, caller, group)
    return { groupId: id }
  }
  const place = parseScope(scope)
  if (place === undefined) throw refusedFields([{ field: 'scope', message: 'is not a scope' }])
  const role = findRole(services, roleDefinitionName)
  requireBoundary(services, place)
  refuseExceeding(services, caller, { role, scope, principalIds: [] }, 'forbidden')
  const scopeIncarnation = incarnationAt(services, place)
  return { roleDefinitionName, scope, ...(scopeIncarnation === undefined ? {} : { scopeIncarnation }) }
}

function requireBoundary({ records }: Services, place: Scope): void {
  if (place.level === 'root' || records.peek(Boundary, { name: place.boundaryId }) !== undefined) return
  const { boundaryId } = place
  throw new PlatformError('boundary_not_found', `Boundary "${boundaryId}" was not found.`, { boundaryId })
}

/** A binding that is being deleted is still withdrawing what it granted. */
const isLive = ({ metadata }: BindingRecord) => metadata.deletionTimestamp === undefined

function keyOf(spec: Partial<BindingRecord['spec']>): string {
  const { tenantId, issuer, claim, claimValue, groupId, roleDefinitionName, scope, scopeIncarnation } = spec
  return JSON.stringify([tenantId, issuer, claim, claimValue, groupId, roleDefinitionName, scope, scopeIncarnation])
}

const admin = action('rbac/idpBindings/admin')
export const bindings = collection(IdpBinding, {
  path: `${TENANT_PATH}/idp-bindings`,
  item: 'bindingId',
  noun: 'Binding',
  parent: async (context: Context) => ({
    ...atPlatform(),
    tenantId: (await requireTenant(context as Context<'tenantId'>)).metadata.name,
  }),
  includes: (binding, { tenantId }) => isLive(binding) && binding.spec.tenantId === tenantId,
  may: { read: admin, write: admin },
  dto: IdpBindingDto,
  related: (_bindings, { services }) => services.records.peekAll(PlatformUser, { namespace: SYSTEM_NAMESPACE }),
  toDto: ({ spec }, { related: people }) => ({
    matchedUserCount: people.filter((person) => isBoundBy(person.spec.externalIdentity, spec)).length,
  }),
  columns: {
    issuer: text('Issuer', { isSearched: true }),
    claim: text('Claim'),
    claimValue: text('Value', { isSearched: true }),
    createdAt: dateTime('Created'),
  },
  sort: '-createdAt',
  list: { summary: 'What the claims of an external issuer give to people' },
  create: {
    summary: 'Bind a claim of an external issuer to a group or a role',
    further: GRANT_RIGHTS,
    body: CreateBindingRequest,
    // `sees` is empty, because existing bindings are read from the API server.
    lock: ({ tenantId }) => ({ key: `bindings of ${tenantId}`, sees: [] }),
    toSpec: async (context, { tenantId }) => {
      const { issuer, claim, claimValue } = context.body
      vetUrl(issuer, 'issuer', context.services.sso.allowedHosts)
      const spec = { tenantId, issuer, claim, claimValue, ...targetOf(context) }
      const { records } = context.services
      const present = await records.list(IdpBinding, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
      if (!present.some((one) => isLive(one) && keyOf(one.spec) === keyOf(spec))) return spec
      throw new PlatformError('already_exists', 'The tenant already has this binding.', { issuer, claim, claimValue })
    },
  },
  remove: { summary: 'Delete a binding' },
})
