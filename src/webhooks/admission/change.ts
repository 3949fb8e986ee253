import type { Services } from '../../api/http/context.ts'
import type { AnyObject } from '../../api/records/records.ts'
import { type Granter, objectAt } from '../../api/rules/grants.ts'
import type { ActionName } from '../../core/actions.ts'
import { PlatformError, permissionMissing, refusedFields } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { formatScope, parseScope, type Scope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import { isAllowedInNamespace } from '../../crds/scopeObjects.ts'

/** A write of one object, as the admission webhook is asked about it. */
export type Change = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly kind: AnyKind
  readonly caller: Granter
  readonly namespace: string | undefined
  readonly next: AnyObject | undefined
  readonly previous: AnyObject | undefined
}

/** A change of a known kind, with what the rules need to know about its scope. */
export type AdmissionChange<R> = {
  readonly services: Services
  readonly caller: Granter
  /** The boundary of the namespace; undefined in the platform's own namespace. */
  readonly boundaryId: string | undefined
  readonly scope: Scope
  /** Undefined on DELETE. */
  readonly next: R | undefined
  /** Undefined on CREATE. */
  readonly previous: R | undefined
}

export function notWritableHere({ kind }: Pick<AnyKind, 'kind'>, where: string): PlatformError {
  return new PlatformError(
    'forbidden',
    `${kind} objects are not written ${where}: ask an administrator of the cluster.`,
  )
}

/** @throws PlatformError FORBIDDEN */
export function requireAction({ access }: Services, { principalId }: Granter, action: ActionName, place: Scope): void {
  const scope = formatScope(place)
  if (access.isAllowed(principalId, action, scope)) return
  throw permissionMissing(action, scope)
}

const refused = (field: string, message: string) => refusedFields([{ field, message }])

/**
 * Returns the scope that a record names, if the record may be stored in its namespace. The scope must exist, with the
 * incarnation that the record names: otherwise the record would grant access to a future object of the same name, which
 * nobody has reviewed.
 * @throws PlatformError BAD_REQUEST
 */
export function scopeOfRecord(
  { records }: Services,
  {
    metadata,
    spec,
  }: { metadata: { namespace?: string }; spec: { scope: string; scopeIncarnation?: string | undefined } },
): Scope {
  const scope = parseScope(spec.scope)
  if (scope === undefined || !isAllowedInNamespace(scope, metadata.namespace)) {
    throw refused('scope', `does not belong to namespace "${metadata.namespace}"`)
  }
  if (scope.level === 'root') return scope
  const object = objectAt(records, scope)
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
    throw refused('scope', 'names nothing that exists')
  }
  const life = object.metadata.annotations?.[INCARNATION_ANNOTATION]
  const { scopeIncarnation } = spec
  if (scopeIncarnation !== undefined && scopeIncarnation !== life) {
    throw refused('scopeIncarnation', 'is not that of the object at the scope')
  }
  // Records at a boundary or group are deleted with it. At a resource, only this tells it from a later namesake.
  if (scopeIncarnation === undefined && scope.level === 'resource') {
    throw refused('scopeIncarnation', `must be the annotation ${INCARNATION_ANNOTATION} of the resource`)
  }
  return scope
}
