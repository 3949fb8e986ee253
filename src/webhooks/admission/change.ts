import type { Services } from '../../api/http/context.ts'
import type { AnyObject } from '../../api/records/records.ts'
import { type Granter, objectAt } from '../../api/rules/grants.ts'
import type { ActionName } from '../../core/actions.ts'
import { PlatformError, permissionMissing, refusedFields } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { formatScope, parseScope, type Scope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import { mayStandIn } from '../../crds/scopeObjects.ts'

/** A write of one object, as admission is asked about it. */
export type Change = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly kind: AnyKind
  readonly caller: Granter
  readonly namespace: string | undefined
  readonly next: AnyObject | undefined
  readonly previous: AnyObject | undefined
}

/** A change of a kind that is known, with what the rules need to know of its place. */
export type Judged<R> = {
  readonly services: Services
  readonly caller: Granter
  /** Of the namespace; undefined in the platform's own. */
  readonly boundaryId: string | undefined
  readonly place: Scope
  /** Absent when the object goes. */
  readonly next: R | undefined
  /** Absent when it comes. */
  readonly previous: R | undefined
}

export function closed({ kind }: Pick<AnyKind, 'kind'>, where: string): PlatformError {
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
 * The scope that a record names, where a record in that place counts. It names what exists, in the life that it has: a
 * record that is made for a namesake of tomorrow would give what nobody has looked at.
 *
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
  if (scope === undefined || !mayStandIn(scope, metadata.namespace)) {
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
  // What stands at a boundary or a group goes with it; at a resource only this tells it from a namesake's.
  if (scopeIncarnation === undefined && scope.level === 'resource') {
    throw refused('scopeIncarnation', `must be the annotation ${INCARNATION_ANNOTATION} of the resource`)
  }
  return scope
}
