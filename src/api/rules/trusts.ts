import { PlatformError, refusedFields } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { BoundaryTrust } from '../../crds/rbac.ts'
import { LENDABLE, NOT_LENDABLE } from '../../iam/lendable.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { incarnationAt } from './grants.ts'

export type TrustRecord = RecordOf<typeof BoundaryTrust>

export type WantedTrust = {
  /** The boundary that grants. */
  boundaryId: string
  /** The boundary whose people get the actions. */
  trustedBoundaryId: string
  actions: string[]
  expiresAt?: string | null | undefined
}

/** @throws PlatformError BAD_REQUEST, boundary_not_found */
export function checkTrust(services: Services, wanted: WantedTrust): void {
  const { boundaryId, trustedBoundaryId, actions } = wanted
  const errors = actions.flatMap((name, index) =>
    LENDABLE.has(name) ? [] : [{ field: `actions.${index}`, message: NOT_LENDABLE }],
  )
  if (boundaryId === trustedBoundaryId) {
    errors.push({ field: 'trustedBoundaryId', message: 'a boundary cannot trust itself' })
  }
  if (typeof wanted.expiresAt === 'string' && Date.parse(wanted.expiresAt) <= services.clock.now()) {
    errors.push({ field: 'expiresAt', message: 'must lie in the future' })
  }
  if (errors.length > 0) throw refusedFields(errors)
  for (const id of [boundaryId, trustedBoundaryId]) {
    const boundary = services.records.peek(Boundary, { name: id })
    if (boundary !== undefined && boundary.metadata.deletionTimestamp === undefined) continue
    throw new PlatformError('boundary_not_found', `Boundary "${id}" was not found.`, { boundaryId: id })
  }
}

export function isTrusted(services: Services, { boundaryId, trustedBoundaryId }: WantedTrust): boolean {
  return services.records
    .peekAll(BoundaryTrust, { namespace: SYSTEM_NAMESPACE })
    .some(
      ({ spec }) =>
        spec.boundaryId === boundaryId && spec.trustedBoundaryId === trustedBoundaryId && isCurrent(services, spec),
    )
}

export function trustedAlready({ boundaryId, trustedBoundaryId }: WantedTrust): PlatformError {
  const message = `Boundary "${boundaryId}" already trusts "${trustedBoundaryId}".`
  return new PlatformError('already_exists', message, { boundaryId, trustedBoundaryId })
}

function isCurrent(services: Services, spec: TrustRecord['spec']): boolean {
  const incarnations: [string, string | undefined][] = [
    [spec.boundaryId, spec.boundaryIncarnation],
    [spec.trustedBoundaryId, spec.trustedBoundaryIncarnation],
  ]
  return incarnations.every(
    ([boundaryId, incarnation]) =>
      incarnation === undefined || incarnation === incarnationAt(services, { level: 'boundary', boundaryId }),
  )
}
