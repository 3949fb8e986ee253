import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import type { BoundaryProjection } from '../crds/projections.ts'
import { isOfFormerProjection, type ProjectedNamespace, projectionMark } from '../desired/projections.ts'
import { namespace, persistentVolumeClaim } from '../kube/builtin.ts'
import type { Pass } from './engine/controller.ts'
import { StalledError, WaitingError } from './engine/interruptions.ts'
import { abbreviateNames } from './ownedNamespace.ts'

type ProjectionPass = Pass<typeof BoundaryProjection, unknown>

/** Returns the mark of this boundary's namespaces on this cluster; see `projectionMark`. */
export function projectionMarkOf({ object, records }: ProjectionPass): string {
  const namespaceObject = records.cache(namespace).get(undefined, object.metadata.namespace ?? '')
  const cluster = records.cache(PlatformCluster).get(undefined, object.spec.clusterId)
  const boundary = namespaceObject?.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  return projectionMark(boundary, cluster?.metadata.annotations?.[INCARNATION_ANNOTATION] ?? '')
}

/**
 * Removes a namespace left by a projection that was deleted while its cluster was revoked. All its resources were
 * deleted as well, so this does what the former projection would have done. A namespace with volumes stays: which of
 * them to retain was never recorded there.
 *
 * @throws StalledError if it has volumes, WaitingError until it is gone
 */
export async function removeFormerNamespace(pass: ProjectionPass, name: string): Promise<void> {
  const found = pass.workloads.cache(namespace).get(undefined, name)
  if (found === undefined || !isFormer(pass, found)) return
  const { uid, resourceVersion, deletionTimestamp } = found.metadata
  if (deletionTimestamp === undefined) {
    // From the API server: deleting the namespace deletes its content.
    const { items } = await pass.workloads.client.list(persistentVolumeClaim, { namespace: name })
    if (items.length > 0) {
      const volumes = abbreviateNames(items.map(({ metadata }) => metadata.name).sort())
      throw new StalledError(
        'NameOccupied',
        `Namespace "${name}" there is left over from an earlier projection and has volumes: ${volumes}. Delete the namespace there, or what uses these volumes and then the volumes; it is created again after that.`,
      )
    }
    await pass.workloads.client.remove(namespace, { name }, { uid, resourceVersion })
  }
  const subject = `Namespace "${name}" there is left over from an earlier projection`
  throw new WaitingError('WaitingForDependency', `${subject} and is being removed; it is created again after that.`)
}

/** Clears former namespaces that the present projection does not use. */
export async function removeFormerNamespaces(
  pass: ProjectionPass,
  wanted: ReadonlySet<string>,
): Promise<ProjectedNamespace[]> {
  const remaining: ProjectedNamespace[] = []
  for (const found of pass.workloads.cache(namespace).list()) {
    const { name } = found.metadata
    if (wanted.has(name) || !isFormer(pass, found)) continue
    try {
      await removeFormerNamespace(pass, name)
    } catch (error) {
      if (error instanceof StalledError) remaining.push({ namespace: name, state: 'Drifted', message: error.message })
      else if (error instanceof WaitingError) remaining.push({ namespace: name, state: 'Removing' })
      else throw error
    }
  }
  return remaining
}

function isFormer(pass: ProjectionPass, found: KubeObject): boolean {
  const { boundaryId = '' } = pass.scope
  const { clusterId } = pass.object.spec
  return isOfFormerProjection(found, {
    boundaryId,
    clusterId,
    mark: projectionMarkOf(pass),
    incarnation: pass.incarnation,
  })
}
