import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { findBoundary } from '../../api/resources/find.ts'
import { refuseWhileDeleting } from '../../api/resources/writes.ts'
import { checkNewAssignment } from '../../api/rules/assignments.ts'
import { checkDeny, refuseEscapingDenies, refuseOwnDeny } from '../../api/rules/denies.ts'
import { refusePast } from '../../api/rules/expiry.ts'
import { refuseDenyingRootOwners, refuseLockout, refuseUngoverned } from '../../api/rules/governing.ts'
import {
  type AssignmentRecord,
  assignmentIdOf,
  findRole,
  groupsIn,
  incarnationAt,
  refuseExceeding,
  rootOnlyRefused,
} from '../../api/rules/grants.ts'
import { checkMembers, refuseTakenName, refuseWidening } from '../../api/rules/groups.ts'
import { refuseRequest } from '../../api/rules/requests.ts'
import { checkTrust, isTrusted, trustedAlready } from '../../api/rules/trusts.ts'
import { patternFaults } from '../../core/actionPatterns.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { boundaryNamespace, boundaryOfNamespace } from '../../core/names.ts'
import { formatScope, ROOT_SCOPE, type Scope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from '../../crds/rbac.ts'
import type { Memberships } from '../../iam/groups.ts'
import { BUILT_IN_ROLES, isRootOnly, type Role } from '../../iam/roles.ts'
import { type AdmissionChange, type Change, notWritableHere, requireAction, scopeOfRecord } from './change.ts'

type Judge = (change: AdmissionChange<never>) => Promise<void> | void

const JUDGES = new Map<AnyKind, Judge>([
  [RoleAssignment, judgeAssignment],
  [DenyAssignment, judgeDeny],
  [PrincipalGroup, judgeGroup],
  [RoleDefinition, judgeRole],
  [JitRequest, judgeRequest],
  [BoundaryTrust, judgeTrust],
])

/**
 * Refuses what REST would refuse. Writes by cluster administrators and by the platform itself never get here.
 * @throws PlatformError with the message of REST
 */
export async function judge(services: Services, change: Change): Promise<void> {
  const { kind, caller, namespace = '', operation } = change
  const judgeKind = JUDGES.get(kind)
  if (judgeKind === undefined) throw notWritableHere(kind, 'by tenants')
  const boundaryId = boundaryOfNamespace(namespace)
  if (boundaryId !== undefined && operation === 'CREATE') {
    refuseWhileDeleting(await findBoundary({ services }, boundaryId))
  }
  const scope: Scope = boundaryId === undefined ? ROOT_SCOPE : { level: 'boundary', boundaryId }
  const next = operation === 'DELETE' ? undefined : change.next
  const previous = operation === 'CREATE' ? undefined : change.previous
  refuseEnded(services, next, previous)
  await judgeKind({ services, caller, boundaryId, scope, next: next as never, previous: previous as never })
}

type ExpiringObject = { readonly spec: { readonly expiresAt?: string | null } }

/** The admission policy (src/crds/expiry.ts) derives the time from managedFields, which a writer can remove. */
function refuseEnded({ clock }: Services, next: unknown, previous: unknown): void {
  const [wanted, stored] = [(next as ExpiringObject | undefined)?.spec, (previous as ExpiringObject | undefined)?.spec]
  if (wanted === undefined || wanted.expiresAt === stored?.expiresAt) return
  refusePast(clock.now(), 'expiresAt', wanted)
}

/** Judges creating, extending, shortening and deleting a role assignment. */
async function judgeAssignment(change: AdmissionChange<AssignmentRecord>): Promise<void> {
  const { services, caller, boundaryId, scope: objectScope, next, previous } = change
  requireAction(
    services,
    caller,
    boundaryId === undefined ? 'rbac/members/admin' : 'boundaries/members/manage',
    objectScope,
  )
  if (next === undefined) return refuseLosingOwner(change)
  if (previous !== undefined) return judgeEnd(change, next, previous)
  const { spec } = next
  scopeOfRecord(services, next)
  if (spec.jitRequestId !== undefined) {
    throw new PlatformError('forbidden', 'jitRequestId is written with the approval of a request only.')
  }
  await checkNewAssignment(services, caller, { ...spec, boundaryId })
}

/** Only the expiry can change. A later one is treated as a grant, an earlier one as a removal. */
async function judgeEnd(change: AdmissionChange<AssignmentRecord>, next: AssignmentRecord, previous: AssignmentRecord) {
  const { services, caller, boundaryId } = change
  if (isEqual(next.spec, previous.spec)) return
  const { principalId, roleDefinitionName, scope, expiresAt } = next.spec
  if (endOf(expiresAt) < endOf(previous.spec.expiresAt)) return refuseLosingOwner(change)
  const grant = { role: findRole(services, roleDefinitionName), scope, principalIds: [principalId], boundaryId }
  refuseExceeding(services, caller, grant, 'GRANT_EXCEEDS_CALLER')
}

async function refuseLosingOwner({
  services,
  boundaryId,
  scope: objectScope,
  previous,
}: AdmissionChange<AssignmentRecord>): Promise<void> {
  if (previous === undefined) return
  const assignmentId = assignmentIdOf(previous)
  const code = boundaryId === undefined ? 'last_owner' : 'LAST_OWNER'
  await refuseUngoverned(services, objectScope, { removed: new Set([assignmentId]) }, code, { assignmentId })
}

/** Returns milliseconds since the epoch; infinity for an assignment that does not expire. */
function endOf(expiresAt: string | undefined): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
}

/** A principal that a deny affects may neither change nor delete it, and no deny may lock everybody out. */
async function judgeDeny(change: AdmissionChange<RecordOf<typeof DenyAssignment>>): Promise<void> {
  const { services, caller, boundaryId, scope, next, previous } = change
  if (boundaryId === undefined) throw notWritableHere(DenyAssignment, 'at the root by tenants')
  requireAction(services, caller, 'rbac/members/write', scope)
  if (next !== undefined && previous !== undefined && isEqual(next.spec, previous.spec)) return
  if (previous !== undefined) await refuseOwnDeny(services, caller, boundaryId, previous)
  if (next === undefined) return
  if (previous === undefined) scopeOfRecord(services, next)
  await checkDeny(services, caller, boundaryId, next.spec)
  await refuseLockout(services, boundaryId, next.spec, previous?.metadata.name)
}

type GroupRecord = RecordOf<typeof PrincipalGroup>

/** Membership is a grant: a new member gets the roles of the group, a removed one loses them. */
async function judgeGroup(change: AdmissionChange<GroupRecord>): Promise<void> {
  const { services, caller, boundaryId, scope, next, previous } = change
  if (boundaryId === undefined) throw notWritableHere(PrincipalGroup, 'at the root by tenants')
  requireAction(services, caller, 'rbac/members/write', scope)
  if (next !== undefined && previous !== undefined && isEqual(next.spec, previous.spec)) return
  const groups = groupsAfter(change)
  if (next !== undefined) {
    const { name: id } = next.metadata
    const { displayName, memberIds } = next.spec
    const present = new Set(previous?.spec.memberIds)
    const added = memberIds.filter((member) => !present.has(member))
    if (previous === undefined) await refuseIdOfOthers(change, id)
    await checkMembers(services, caller, boundaryId, { id, memberIds, added })
    refuseTakenName(services, boundaryId, { id, displayName })
    if (added.length > 0) refuseWidening(services, caller, boundaryId, { id, added, groups }, 'GRANT_EXCEEDS_CALLER')
  }
  refuseEscapingDenies(services, caller, boundaryId, groups)
  if (next !== undefined) await refuseDenyingRootOwners(services, boundaryId, groups)
  const groupId = (next ?? previous)?.metadata.name
  await refuseUngoverned(services, scope, { groups }, 'last_owner', { groupId })
}

/**
 * REST generates random group ids. A group with a person's id would be mistaken for the person in the exemptions of
 * denies.
 * @throws PlatformError already_exists
 */
async function refuseIdOfOthers({ services, boundaryId }: AdmissionChange<GroupRecord>, id: string): Promise<void> {
  const found = (await services.principals.find([id], boundaryId)).get(id)
  if (found === undefined || found.isAssumed === true) return
  throw new PlatformError('already_exists', `The id "${id}" is that of another principal.`, { id })
}

function groupsAfter({ services, boundaryId, next, previous }: AdmissionChange<GroupRecord>): Memberships {
  const groups = new Map(groupsIn(services, boundaryId))
  if (next !== undefined) groups.set(next.metadata.name, next.spec.memberIds)
  else if (previous !== undefined) groups.delete(previous.metadata.name)
  return groups
}

type RequestRecord = RecordOf<typeof JitRequest>

/** People request roles for themselves and may withdraw a request, but they cannot write its decision. */
function judgeRequest(change: AdmissionChange<RequestRecord>): void {
  const { services, caller, boundaryId, scope, next, previous } = change
  if (boundaryId === undefined) throw notWritableHere(JitRequest, 'at the root')
  const { principalId } = caller
  const isOwn = (next ?? previous)?.spec.principalId === principalId
  if (previous !== undefined) {
    if (!services.access.isAllowed(principalId, 'rbac/members/write', formatScope(scope))) {
      requireAction(services, caller, 'boundaries/read', scope)
      if (!isOwn) throw new PlatformError('forbidden', 'This request belongs to somebody else.')
    }
    if (next === undefined || isEqual(next.spec, previous.spec)) return
    throw new PlatformError('forbidden', 'A request cannot be changed: delete it and create a new one.')
  }
  if (next === undefined) return
  requireAction(services, caller, 'boundaries/read', scope)
  if (!isOwn) throw new PlatformError('forbidden', 'You can only request a role for yourself.')
  refuseDecision(next)
  if (next.spec.principalType === 'Group')
    throw refusedFields([
      { field: 'principalType', message: 'must be User or ServicePrincipal: a group asks for nothing' },
    ])
  const role = findRole(services, next.spec.roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, next.spec.scope)
  scopeOfRecord(services, next)
  const requests = services.records.peekAll(JitRequest, { namespace: boundaryNamespace(boundaryId) })
  refuseRequest(services, requests, next.spec)
}

const DECISION = ['decision', 'decidedAt', 'decidedBy', 'decisionReason'] as const

/** @throws PlatformError BAD_REQUEST */
function refuseDecision({ spec }: RequestRecord): void {
  const field = DECISION.find((name) => spec[name] !== undefined)
  if (field !== undefined) throw refusedFields([{ field, message: 'cannot be set by the requester' }])
}

type TrustRecord = RecordOf<typeof BoundaryTrust>

function judgeTrust({ services, caller, scope, next, previous }: AdmissionChange<TrustRecord>): void {
  requireAction(services, caller, 'rbac/boundaryTrusts/admin', scope)
  if (next === undefined || (previous !== undefined && isEqual(next.spec, previous.spec))) return
  checkTrust(services, next.spec)
  if (previous !== undefined) return
  checkIncarnation(services, next.spec.boundaryId, 'boundaryIncarnation', next)
  checkIncarnation(services, next.spec.trustedBoundaryId, 'trustedBoundaryIncarnation', next)
  if (isTrusted(services, next.spec)) throw trustedAlready(next.spec)
}

/** @throws PlatformError BAD_REQUEST */
function checkIncarnation(
  services: Services,
  boundaryId: string,
  field: 'boundaryIncarnation' | 'trustedBoundaryIncarnation',
  { spec }: TrustRecord,
): void {
  const life = incarnationAt(services, { level: 'boundary', boundaryId })
  if (spec[field] === undefined || spec[field] === life) return
  throw refusedFields([{ field, message: 'is not that of the boundary' }])
}

type RoleRecord = RecordOf<typeof RoleDefinition>

/**
 * A custom role may only contain what its writer holds everywhere, even if nobody has the role yet: that may have
 * changed by the time the write is stored.
 */
function judgeRole({ services, caller, scope, next, previous }: AdmissionChange<RoleRecord>): void {
  requireAction(services, caller, 'rbac/members/admin', scope)
  if (next?.spec.isBuiltIn === true || previous?.spec.isBuiltIn === true) {
    throw new PlatformError('forbidden', 'Only the platform can write built-in roles.')
  }
  if (next === undefined || (previous !== undefined && isEqual(next.spec, previous.spec))) return
  refuseTakenRoleName(services, next)
  const { metadata, spec } = next
  const role: Role = { ...spec, name: metadata.name, assignableScopes: ['/', '/boundaries/*'] }
  checkPatterns(role)
  // As a grant to themselves: a Platform Owner may grant any role to others, but not write any role.
  const grant = { role, scope: '/', principalIds: [caller.principalId] }
  refuseExceeding(services, caller, grant, 'GRANT_EXCEEDS_CALLER')
}

/** @throws PlatformError BAD_REQUEST */
function checkPatterns(role: Role): void {
  const faults = patternFaults(role)
  if (faults.length > 0) throw refusedFields(faults.map(({ field, message }) => ({ field, message })))
}

/** Display names must be unique, because assignments refer to them. @throws PlatformError already_exists */
function refuseTakenRoleName({ records }: Services, { metadata, spec: { displayName } }: RoleRecord): void {
  const others = records.peekAll(RoleDefinition).filter((role) => role.metadata.name !== metadata.name)
  const names = [...others.map(({ spec }) => spec.displayName), ...BUILT_IN_ROLES.map((role) => role.displayName)]
  if (!names.includes(displayName)) return
  throw new PlatformError('already_exists', `There is already a role "${displayName}".`, { displayName })
}
