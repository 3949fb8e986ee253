import { BOUNDARY_LABEL, GROUP_LABEL, RESERVED_LABEL } from '../../core/labels.ts'
import { boundaryOfNamespace } from '../../core/names.ts'
import { type KubeObject, refOfKey } from '../../core/object.ts'
import { type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { CacheView, ObjectScope } from './controller.ts'

/** Whether the engine needs the labels of the namespace for objects of the kind. */
export function dependsOnNamespace(kind: Pick<AnyKind, 'placement'>): boolean {
  return kind.placement === 'group' || kind.placement === 'boundary'
}

/**
 * The scope of the object, or the outcome that ends the pass because it must not be there. Admission refuses a wrong
 * namespace; this also holds if admission was off, or the namespace's labels were removed.
 */
export function resolveObjectScope(
  kind: Pick<AnyKind, 'placement' | 'kind'>,
  object: KubeObject,
  namespaces: CacheView,
): { scope: ObjectScope; obstacle: Outcome | undefined } {
  const { namespace } = object.metadata
  if (namespace === undefined || !dependsOnNamespace(kind)) return { scope: {}, obstacle: undefined }
  const namespaceObject = namespaces.get(undefined, namespace)
  const boundaryId = boundaryAt(namespaceObject, namespace)
  const resourceGroup = namespaceObject?.metadata.labels?.[GROUP_LABEL]
  const scope: ObjectScope = {
    ...(boundaryId === undefined ? {} : { boundaryId }),
    ...(resourceGroup === undefined ? {} : { resourceGroup }),
  }
  return { scope, obstacle: obstacleOf(kind, namespaceObject, namespace, scope) }
}

/** Returns the boundary of a key; undefined for the platform's own objects. */
export function boundaryOfKey(kind: Pick<AnyKind, 'kind'>, key: string, namespaces: CacheView): string | undefined {
  if (kind.kind === Boundary.kind) return key
  const { namespace } = refOfKey(key)
  return namespace && boundaryAt(namespaces.get(undefined, namespace), namespace)
}

function boundaryAt(namespaceObject: KubeObject | undefined, namespace: string): string | undefined {
  return namespaceObject?.metadata.labels?.[BOUNDARY_LABEL] ?? boundaryOfNamespace(namespace)
}

function obstacleOf(
  kind: Pick<AnyKind, 'placement' | 'kind'>,
  namespaceObject: KubeObject | undefined,
  namespace: string,
  scope: ObjectScope,
): Outcome | undefined {
  if (namespaceObject === undefined)
    return waiting('WaitingForGroup', `Namespace "${namespace}" has not been seen yet.`)
  if (namespaceObject.metadata.deletionTimestamp !== undefined) {
    return waiting('WaitingForGroup', `Namespace "${namespace}" is being deleted, with everything in it.`)
  }
  const { labels } = namespaceObject.metadata
  if (labels?.[RESERVED_LABEL] !== undefined && labels[BOUNDARY_LABEL] === undefined) {
    return waiting('WaitingForGroup', `Namespace "${namespace}" waits for its ${labels[RESERVED_LABEL]}.`)
  }
  const wanted = kind.placement === 'group' ? scope.resourceGroup : scope.boundaryId
  const wrong = kind.placement === 'boundary' && scope.resourceGroup !== undefined
  if (wanted !== undefined && !wrong) return undefined
  const parent = kind.placement === 'group' ? 'a resource group' : 'a boundary'
  return stalled(
    'ConfigurationInvalid',
    `${kind.kind} belongs in the namespace of ${parent}; "${namespace}" is not one.`,
  )
}
