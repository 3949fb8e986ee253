import type { Services } from '../../api/http/context.ts'
import { findBoundary } from '../../api/resources/find.ts'
import { refuseWhileDeleting } from '../../api/resources/writes.ts'
import { refusePast } from '../../api/rules/expiry.ts'
import { boundaryOfNamespace } from '../../core/names.ts'
import { ROOT_SCOPE, type Scope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from '../../crds/rbac.ts'
import { judgeAssignment } from './assignments.ts'
import { type AdmissionChange, type Change, notWritableHere } from './change.ts'
import { judgeDeny } from './denies.ts'
import { judgeGroup } from './groups.ts'
import { judgeRequest } from './requests.ts'
import { judgeRole } from './roles.ts'
import { judgeTrust } from './trusts.ts'

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
