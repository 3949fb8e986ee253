import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { findRole, rootOnlyRefused } from '../../api/rules/grants.ts'
import { refuseRequest } from '../../api/rules/requests.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { formatScope } from '../../core/scope.ts'
import { JitRequest } from '../../crds/rbac.ts'
import { isRootOnly } from '../../iam/roles.ts'
import { type AdmissionChange, notWritableHere, requireAction, scopeOfRecord } from './change.ts'

type RequestRecord = RecordOf<typeof JitRequest>

/** People request roles for themselves and may withdraw a request, but they cannot write its decision. */
export function judgeRequest(change: AdmissionChange<RequestRecord>): void {
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
