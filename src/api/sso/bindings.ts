import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { badRequest, notFound, PlatformError } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { DisplayName, Scope as ScopeText, Uuid } from '../../crds/fields.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PrincipalGroup } from '../../crds/rbac.ts'
import { ClaimName, HttpsUrl, IdpBinding } from '../../crds/sso.ts'
import { isBoundBy } from '../../iam/bindings.ts'
import { isRootOnly, type Role } from '../../iam/roles.ts'
import { principalNotFound } from '../callers/principals.ts'
import { created, noContent } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, pagedListOf, Uuid as UuidDto } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import {
  exceedingRefused,
  findRole,
  grantRefusal,
  incarnationAt,
  oneAtATime,
  rootOnlyRefused,
} from '../rules/grants.ts'
import { requireTenant, TENANT } from './record.ts'

type BindingRecord = RecordOf<typeof IdpBinding>

const CreateBindingRequest = z
  .strictObject({
    issuer: HttpsUrl.describe('Exactly the iss claim of the external issuer'),
    claim: ClaimName.default('groups'),
    claimValue: z.string().min(1).max(256),
    groupId: Uuid.nullish(),
    roleDefinitionName: DisplayName.nullish(),
    scope: ScopeText.nullish(),
  })
  .meta({ id: 'CreateBindingRequest' })

const IdpBindingDto = z
  .object({
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
  .meta({ id: 'IdpBindingDto' })

function idOfBinding({ metadata: { namespace, name } }: BindingRecord): string {
  return idOf({ group: IdpBinding.resource.group, kind: IdpBinding.kind, namespace, name })
}

function bindingDto({ records }: Services, binding: BindingRecord): z.output<typeof IdpBindingDto> {
  const { tenantId, issuer, claim, claimValue, groupId, roleDefinitionName, scope } = binding.spec
  const people = records.peekAll(PlatformUser, { namespace: SYSTEM_NAMESPACE })
  return {
    id: idOfBinding(binding),
    tenantId,
    issuer,
    claim,
    claimValue,
    groupId: groupId ?? null,
    roleDefinitionName: roleDefinitionName ?? null,
    scope: scope ?? null,
    matchedUserCount: people.filter(({ spec }) => isBoundBy(spec.externalIdentity, binding.spec)).length,
    createdAt: binding.metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
  }
}

const bindingShape: ListShape<BindingRecord> = {
  fields: {
    issuer: { title: 'Issuer', type: 'text', of: ({ spec }) => spec.issuer, isSearched: true },
    claim: { title: 'Claim', type: 'text', of: ({ spec }) => spec.claim },
    claimValue: { title: 'Value', type: 'text', of: ({ spec }) => spec.claimValue, isSearched: true },
    createdAt: { title: 'Created', type: 'dateTime', of: ({ metadata }) => metadata.creationTimestamp },
  },
  defaultSort: '-createdAt',
  nameOf: idOfBinding,
  idOf: idOfBinding,
}

type Create = Context<'tenantId', unknown, z.output<typeof CreateBindingRequest>>
type Target = { groupId: string } | { roleDefinitionName: string; scope: string; scopeIncarnation?: string }

/** @throws PlatformError BAD_REQUEST, unknown_role, boundary_not_found, principal_not_found, forbidden */
function targetOf({ services, caller, body }: Create): Target {
  const { groupId, roleDefinitionName, scope } = body
  const isRole = typeof roleDefinitionName === 'string' && typeof scope === 'string'
  const isHalf = (typeof roleDefinitionName === 'string') !== (typeof scope === 'string')
  if (isHalf || isRole === (typeof groupId === 'string')) {
    const message = 'a binding names either groupId, or roleDefinitionName and scope'
    throw badRequest('The binding was refused.', [{ field: 'groupId', message }])
  }
  if (!isRole) {
    const id = groupId ?? ''
    const group = services.records.peekAll(PrincipalGroup).find(({ metadata }) => metadata.name === id)
    if (group === undefined) throw principalNotFound(id)
    return { groupId: id }
  }
  const place = parseScope(scope)
  if (place === undefined) throw badRequest('The binding was refused.', [{ field: 'scope', message: 'is no scope' }])
  const role = findRole(services, roleDefinitionName)
  requireBoundary(services, place)
  if (scope !== '/' && isRootOnly(role)) throw rootOnlyRefused(role, scope)
  refuseGrant(services, caller, role, scope)
  const scopeIncarnation = incarnationAt(services, place)
  return { roleDefinitionName, scope, ...(scopeIncarnation === undefined ? {} : { scopeIncarnation }) }
}

function requireBoundary({ records }: Services, place: Scope): void {
  if (place.level === 'root' || records.peek(Boundary, { name: place.boundaryId }) !== undefined) return
  const { boundaryId } = place
  throw new PlatformError('boundary_not_found', `Boundary "${boundaryId}" was not found.`, { boundaryId })
}

function refuseGrant(services: Services, caller: Create['caller'], role: Role, scope: string): void {
  const refusal = grantRefusal(services, caller, { role, scope, principalIds: [] })
  if (refusal?.kind === 'RootOnly') throw rootOnlyRefused(role, scope)
  if (refusal !== undefined) throw exceedingRefused('forbidden', role, scope, refusal.actions)
}

/** @throws PlatformError NOT_FOUND, what targetOf throws, already_exists; the first wins */
async function createBinding(context: Create) {
  const { services, caller, body, parameters } = context
  const { tenantId } = parameters
  requireTenant(context)
  const { issuer, claim, claimValue } = body
  const spec = { tenantId, issuer, claim, claimValue, ...targetOf(context) }
  return oneAtATime(`bindings of ${tenantId}`, async () => {
    const present = await services.records.list(IdpBinding, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
    if (present.some((one) => isLive(one) && keyOf(one.spec) === keyOf(spec))) {
      throw new PlatformError('already_exists', 'The tenant has this binding already.', { issuer, claim, claimValue })
    }
    const made = { namespace: SYSTEM_NAMESPACE, name: randomUUID(), spec, caller }
    const { object } = await services.records.create(IdpBinding, made)
    return created(bindingDto(services, object), { etag: etagOf(object) })
  })
}

/** One that goes takes back what it gave, which takes moments. */
const isLive = ({ metadata }: BindingRecord) => metadata.deletionTimestamp === undefined

function keyOf(spec: Partial<BindingRecord['spec']>): string {
  const { tenantId, issuer, claim, claimValue, groupId, roleDefinitionName, scope, scopeIncarnation } = spec
  return JSON.stringify([tenantId, issuer, claim, claimValue, groupId, roleDefinitionName, scope, scopeIncarnation])
}

/** @throws PlatformError NOT_FOUND for the tenant, for the binding, and for one of another tenant */
async function removeBinding(context: Context<'tenantId' | 'bindingId'>) {
  const { services, caller, ifMatch, parameters } = context
  requireTenant(context)
  const found = services.records
    .peekAll(IdpBinding, { namespace: SYSTEM_NAMESPACE })
    .find(
      (one) => isLive(one) && idOfBinding(one) === parameters.bindingId && one.spec.tenantId === parameters.tenantId,
    )
  if (found === undefined) throw notFound(`Binding "${parameters.bindingId.slice(0, 64)}"`)
  const { name } = found.metadata
  await services.records.remove(IdpBinding, { namespace: SYSTEM_NAMESPACE, name }, { caller, ifMatch })
  return noContent()
}

export const bindingRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    `${TENANT}/idp-bindings`,
    {
      auth: action('rbac/idpBindings/admin'),
      summary: 'What people get by what an external issuer says of them',
      list: bindingShape as never,
      reply: pagedListOf(IdpBindingDto),
      answers: [200],
    },
    async (context) => {
      const { services, parameters, fresh, list } = context
      requireTenant(context)
      const all = await services.records.list(IdpBinding, { namespace: SYSTEM_NAMESPACE }, { fresh })
      const rows = all.filter((one) => isLive(one) && one.spec.tenantId === parameters.tenantId)
      return pagedParts(rows, list, bindingShape, (binding) => bindingDto(services, binding))
    },
  ),
  route(
    'POST',
    `${TENANT}/idp-bindings`,
    {
      auth: action('rbac/idpBindings/admin'),
      summary: 'Bind a claim of an external issuer to a group or a role',
      body: CreateBindingRequest,
      reply: IdpBindingDto,
      answers: [200, 201],
    },
    createBinding,
  ),
  route(
    'DELETE',
    `${TENANT}/idp-bindings/{bindingId}`,
    { auth: action('rbac/idpBindings/admin'), summary: 'End a binding', answers: [200, 204] },
    removeBinding,
  ),
]
