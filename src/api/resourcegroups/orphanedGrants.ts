import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { objectId } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryOfNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import { Uuid } from '../../crds/fields.ts'
import { namesCurrentPrincipal } from '../../crds/principals.ts'
import { DenyAssignment, JitRequest, RoleAssignment } from '../../crds/rbac.ts'
import { namesCurrentRole } from '../../crds/roleIncarnations.ts'
import { isAllowedInNamespace, isYoungerThanGrant, scopeIncarnationOf } from '../../crds/scopeObjects.ts'
import { ORPHAN_REASONS, type OrphanReason, orphanReason } from '../../iam/orphans.ts'
import { ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, Uuid as UuidDto, wholeRecord } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { type AssignmentRecord, knownRole, objectAt, principalLookup, rolesNamed } from '../rules/grants.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

const GRANT_KINDS = [
  'RoleAssignment',
  'DenyAssignment',
  'RoleBinding',
  'AccessKey',
  'ManagedIdentity',
  'JitRequest',
] as const

const OrphanedGrantDto = namedRecord('OrphanedGrantDto', {
  id: UuidDto,
  kind: z.enum(GRANT_KINDS),
  principalId: UuidDto.nullable(),
  principalType: z.enum(PRINCIPAL_TYPES).nullable(),
  roleDefinitionName: z.string().nullable(),
  scope: z.string(),
  reason: z.enum(ORPHAN_REASONS),
  namespace: z.string().nullable(),
  clusterId: UuidDto.nullable(),
  createdAt: DateTime,
  detectedAt: DateTime,
})
type OrphanedGrantDto = z.output<typeof OrphanedGrantDto>

const OrphanedGrantPurgeRequest = strictRecord('OrphanedGrantPurgeRequest', {
  ids: z.array(Uuid).max(1000).nullish().describe('Null purges all'),
  dryRun: z.boolean().default(false),
})

const OrphanedGrantPurgeResult = namedRecord('OrphanedGrantPurgeResult', {
  dryRun: z.boolean(),
  purged: z.array(OrphanedGrantDto),
  skipped: z.array(namedRecord('SkippedGrant', { id: UuidDto, reason: z.string() })),
})

type Grant = {
  kind: typeof RoleAssignment | typeof DenyAssignment | typeof JitRequest
  object: RecordOf<AnyKind>
  /** Each kind has some of these fields. */
  spec: Partial<RoleAssignment['spec']> & Pick<RoleAssignment['spec'], 'scope'>
}

function grantsOf({ records }: Services): Grant[] {
  return [RoleAssignment, DenyAssignment, JitRequest].flatMap((kind) =>
    records.peekAll(kind as AnyKind).map((object) => ({ kind, object, spec: object.spec as Grant['spec'] })),
  )
}

/**
 * Returns the grants that are orphaned now. Principals are looked up once per boundary. The caller counts as existing,
 * even if the records of the identity provider lag.
 */
async function orphansOf(services: Services, callerId: string): Promise<{ grant: Grant; dto: OrphanedGrantDto }[]> {
  const grantsByNamespace = Map.groupBy(
    grantsOf(services),
    ({ object }) => object.metadata.namespace ?? SYSTEM_NAMESPACE,
  )
  const found = await Promise.all(
    [...grantsByNamespace].map(async ([namespace, grants]) => {
      const ids = grants.flatMap(({ spec }) => spec.principalId ?? [])
      const known = await services.principals.find(ids, boundaryOfNamespace(namespace))
      return grants.flatMap((grant) => {
        const reason = reasonOf(services, grant, (id) => known.has(id) || id === callerId)
        return reason === undefined ? [] : [{ grant, dto: orphanDto(services, grant, reason) }]
      })
    }),
  )
  return found.flat()
}

function reasonOf(
  services: Services,
  { object, spec }: Grant,
  exists: (id: string) => boolean,
): OrphanReason | undefined {
  const scope = parseScope(spec.scope)
  const isInForce = scope !== undefined && isAllowedInNamespace(scope, object.metadata.namespace)
  const facts = {
    scope: isInForce ? incarnationAtScope(services, scope) : undefined,
    scopeIncarnation: incarnationOf(services, object as Grant['object'] & { spec: Grant['spec'] }, scope),
    hasPrincipal:
      spec.principalId === undefined ||
      (exists(spec.principalId) && namesCurrentPrincipal(principalLookup(services), object, spec.principalId)),
    hasRole:
      spec.roleDefinitionName === undefined ||
      (knownRole(services.records, spec.roleDefinitionName) !== undefined &&
        namesCurrentRole(rolesNamed(services.records, spec.roleDefinitionName), object as unknown as AssignmentRecord)),
    expiresAt: spec.expiresAt === undefined ? undefined : Date.parse(spec.expiresAt),
  }
  return orphanReason(facts, services.clock.now())
}

function incarnationAtScope(services: Services, scope: Scope): { incarnation: string | undefined } | undefined {
  if (scope.level === 'root') return { incarnation: undefined }
  const object = objectAt(services.records, scope)
  return object === undefined ? undefined : { incarnation: object.metadata.annotations?.[INCARNATION_ANNOTATION] }
}

/** A grant without an incarnation that is older than the object at its scope was made for a previous object. */
function incarnationOf(
  services: Services,
  grant: RecordOf<AnyKind> & { spec: Grant['spec'] },
  scope: Scope | undefined,
) {
  const incarnation = scopeIncarnationOf(grant)
  const object = scope === undefined ? undefined : objectAt(services.records, scope)
  return incarnation ?? (object !== undefined && isYoungerThanGrant(object, grant) ? '' : undefined)
}

function orphanDto(services: Services, { kind, object, spec }: Grant, reason: OrphanReason): OrphanedGrantDto {
  const { namespace, creationTimestamp } = object.metadata
  return wholeRecord(OrphanedGrantDto, {
    ...spec,
    id: objectId(kind.resource, object.metadata),
    kind: kind.kind as OrphanedGrantDto['kind'],
    ...{ reason, namespace },
    createdAt: creationTimestamp ?? '1970-01-01T00:00:00Z',
    detectedAt: timestamp(services.clock.now()),
  })
}

type Purge = Context<string, unknown, z.output<typeof OrphanedGrantPurgeRequest> | undefined>

/** Judges each grant again right before deleting it: scope or principal may have returned in the meantime. */
async function purgeOrphans({ services, caller, body }: Purge) {
  const dryRun = body?.dryRun ?? false
  const wanted = body?.ids ?? undefined
  const orphans = await orphansOf(services, caller.principalId)
  const chosen = orphans.filter(({ dto }) => wanted === undefined || wanted.includes(dto.id))
  const orphanedIds = new Set(chosen.map(({ dto }) => dto.id))
  const skipped = (wanted ?? []).filter((id) => !orphanedIds.has(id)).map((id) => ({ id, reason: 'NotOrphaned' }))
  const purged: OrphanedGrantDto[] = []
  for (const { grant, dto } of chosen) {
    const { namespace = SYSTEM_NAMESPACE, name } = grant.object.metadata
    const current = dryRun
      ? grant.object
      : await services.records.get(grant.kind as AnyKind, { namespace, name }, { fresh: true })
    const known = await services.principals.find(
      dto.principalId === null ? [] : [dto.principalId],
      boundaryOfNamespace(namespace),
    )
    const currentGrant = current && { ...grant, object: current, spec: current.spec as Grant['spec'] }
    if (
      currentGrant === undefined ||
      reasonOf(services, currentGrant, (id) => known.has(id) || id === caller.principalId) === undefined
    ) {
      skipped.push({ id: dto.id, reason: currentGrant === undefined ? 'Gone' : 'NotOrphaned' })
      continue
    }
    if (!dryRun) await services.records.remove(grant.kind as AnyKind, { namespace, name }, { caller })
    purged.push(dto)
  }
  return ok({ dryRun, purged, skipped })
}

export const orphanedGrantRoutes: readonly RouteDraft[] = [
  listRoute('/resourcegroups/orphaned-grants', {
    auth: action('resourcegroups/delete'),
    summary: 'Grants whose scope, principal or role is gone, or that have expired',
    dto: OrphanedGrantDto,
    columns: {
      kind: enumeration('Kind', GRANT_KINDS, { isSorted: false }),
      reason: enumeration('Reason', ORPHAN_REASONS, { isSorted: false }),
      principalId: text('Principal', { isSorted: false }),
      detectedAt: dateTime('Detected', { isFiltered: false }),
    },
    sort: '-detectedAt',
    name: 'scope',
    unfollowed: 'a look at all grants, which is dated',
    rows: async ({ services, caller }) => (await orphansOf(services, caller.principalId)).map(({ dto }) => dto),
  }),
  route('POST', '/resourcegroups/orphaned-grants/purge', {
    auth: action('resourcegroups/delete'),
    summary: 'Remove orphaned grants',
    body: OrphanedGrantPurgeRequest,
    isBodyOptional: true,
    reply: OrphanedGrantPurgeResult,
    handler: purgeOrphans,
  }),
]
