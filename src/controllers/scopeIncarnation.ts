import { INCARNATION_ANNOTATION, RESERVED_LABEL, SCOPE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { parseScope, type Scope } from '../core/scope.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { isAllowedInNamespace, isYoungerThanGrant, scopeIncarnationOf, scopeObject } from '../crds/scopeObjects.ts'
import { namespace } from '../kube/builtin.ts'
import type { Controller, Pass, Workspace } from './engine/controller.ts'

type Grant = KubeObject & { spec: { scope: string; scopeIncarnation?: string; expiresAt?: string } }

/** Milliseconds until an object without an incarnation is checked again. */
const RECHECK_DELAY_MS = 1_000
/** Milliseconds for which a missing object is looked for, and between two attempts. */
const MISSING_SCOPE_TIMEOUT_MS = 600_000
const MISSING_SCOPE_RETRY_MS = 10_000

/**
 * Records the incarnation of the scope for grants made with kubectl or Git: that of the object at the time. A scope
 * created later is not meant, so that a re-created object inherits nothing. The exception is a boundary or group whose
 * namespace an administrator had already reserved.
 */
export async function bindToScopeIncarnation(pass: Pass): Promise<Outcome> {
  const grant = pass.object as Grant
  const scope = parseScope(grant.spec.scope)
  if (scope === undefined || !isAllowedInNamespace(scope, grant.metadata.namespace))
    return stalled('ConfigurationInvalid', misplacedMessage(grant))
  if (scope.level === 'root' || scopeIncarnationOf(grant) !== undefined) return done()
  const object = objectAt(scope, pass.records)
  if (object === undefined || isYoungerThanGrant(object, grant)) {
    const isAnnounced = wasReserved(scope, grant, pass.records)
    if (object === undefined && isAnnounced)
      return waiting('WaitingForGroup', `${grant.spec.scope} does not exist yet.`)
    if (!isAnnounced) return laterScopeOutcome(grant, object, pass.clock.now())
  }
  const incarnation = object?.metadata.annotations?.[INCARNATION_ANNOTATION]
  if (incarnation === undefined) return waiting('WaitingForDependency', `${grant.spec.scope} is new.`, RECHECK_DELAY_MS)
  return recordScopeIncarnation(pass, incarnation)
}

/** Returns the object at a scope, if it is cached. */
export function objectAt(scope: Scope, records: Workspace): KubeObject | undefined {
  const target = scopeObject(scope)
  if (target === undefined || !records.isCached(target.resource)) return undefined
  return records.cache(target.resource).get(target.namespace, target.name)
}

/** Records the incarnation. The write wakes us again, with the version that the next steps need. */
export async function recordScopeIncarnation(
  { object, records, kind }: Pick<Pass, 'object' | 'records' | 'kind'>,
  incarnation: string,
): Promise<Outcome> {
  const { uid, resourceVersion } = object.metadata
  const patch = { metadata: { annotations: { [SCOPE_INCARNATION_ANNOTATION]: incarnation } } }
  await records.client.mergePatch(kind.resource, refOf(object as KubeObject), patch, { uid, resourceVersion })
  return waiting('WaitingForDependency', 'The incarnation of the scope was recorded.', RECHECK_DELAY_MS)
}

/** Message for a grant that an administrator placed past admission: it has no effect and must say so. */
function misplacedMessage({ spec, metadata }: Grant): string {
  return `It has no effect, because namespace ${metadata.namespace} may not hold the scope ${spec.scope}. Create it again in the namespace of its boundary; that of / is ${SYSTEM_NAMESPACE}.`
}

function laterScopeOutcome(grant: Grant, object: KubeObject | undefined, now: number): Outcome {
  const subject = object === undefined ? 'Nothing was' : 'What is there now was not'
  const message = `${subject} at ${grant.spec.scope} when this was created: create it again once the resource exists.`
  // The object may reach the cache after the grant.
  const isNew =
    object === undefined && now - Date.parse(grant.metadata.creationTimestamp ?? '') < MISSING_SCOPE_TIMEOUT_MS
  return stalled('ReferenceMissing', message, isNew ? MISSING_SCOPE_RETRY_MS : undefined)
}

/**
 * Whether the scope's namespace was already reserved before the grant. It is deleted with its owner, so a later
 * incarnation has another namespace, younger than the grant.
 */
function wasReserved(scope: Scope, grant: Grant, records: Workspace): boolean {
  if (scope.level !== 'boundary' && scope.level !== 'resourceGroup') return false
  const { boundaryId } = scope
  const name =
    scope.level === 'boundary' ? boundaryNamespace(boundaryId) : groupNamespace(boundaryId, scope.resourceGroup)
  const namespaceObject = records.cache(namespace).get(undefined, name)
  return namespaceObject?.metadata.labels?.[RESERVED_LABEL] !== undefined && !isYoungerThanGrant(namespaceObject, grant)
}

/** Wakes waiting grants of this kind when a boundary or group gets its incarnation. */
export function scopeObservers(kind: AnyKind): Controller['observes'] {
  const relevant = ({ metadata }: KubeObject) => metadata.annotations?.[INCARNATION_ANNOTATION]
  const waitingIn = (namespaceName: string | undefined, records: Workspace) =>
    records
      .cache<Grant>(kind.resource)
      .list({ namespace: namespaceName ?? '' })
      .filter((grant) => scopeIncarnationOf(grant) === undefined)
      .map(keyOf)
  return [
    {
      resource: Boundary.resource,
      relevant,
      keysOf: ({ metadata }, records) => waitingIn(boundaryNamespace(metadata.name), records),
    },
    {
      resource: ResourceGroup.resource,
      relevant,
      keysOf: ({ metadata }, records) => waitingIn(metadata.namespace, records),
    },
  ]
}
