import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { incarnationAt } from '../../api/rules/grants.ts'
import { checkTrust, isTrusted, trustedAlready } from '../../api/rules/trusts.ts'
import { refusedFields } from '../../core/errors.ts'
import type { BoundaryTrust } from '../../crds/rbac.ts'
import { type AdmissionChange, requireAction } from './change.ts'

type TrustRecord = RecordOf<typeof BoundaryTrust>

export function judgeTrust({ services, caller, scope, next, previous }: AdmissionChange<TrustRecord>): void {
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
