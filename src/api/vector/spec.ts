import { defaultVectorHost, isHostBelow } from '../../contracts/vector.ts'
import { badRequest, PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { NEWEST_VECTOR_VERSION, type VectorCluster } from '../../crds/vector.ts'
import { chooseCluster } from '../resources/chooseCluster.ts'
import { clusterWords } from '../resources/places.ts'
import { holderOf } from '../resources/platformNames.ts'
import {
  chooseImage,
  choosePlan,
  chooseReplicas,
  chooseSizes,
  refuseRequestOverLimit,
  refuseShrinking,
} from '../resources/sizing.ts'
import type { WriteView } from '../resources/types.ts'
import type { VectorBody, VectorSpec } from './record.ts'

export type VectorWrite = WriteView<typeof VectorCluster>

/**
 * The spec for a body (records: vector databases, plans). Fields that no body shows stay; a size that equals the plan's
 * is stored as absent, so that reading and writing back changes nothing; the version and the number of replicas stay
 * where the body says nothing, because an upgrade or a second peer must be asked for.
 *
 * @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, CLUSTER_NOT_PROJECTED, IMAGE_NOT_ALLOWED,
 *   STORAGE_CANNOT_SHRINK, HOST_TAKEN, BAD_REQUEST
 */
export function vectorSpec(body: VectorBody, view: VectorWrite): object {
  const previous = view.previous?.spec
  const plan = choosePlan('Vector', body, view)
  const kept =
    previous === undefined
      ? {}
      : {
          apiKeyVersion: previous.apiKeyVersion,
          running: previous.running,
          restartedAt: previous.restartedAt,
          onDelete: previous.onDelete,
        }
  const spec = {
    ...kept,
    clusterId: chooseCluster(body.clusterId, view),
    computePlan: plan.named,
    ...chooseSizes('Vector', body, view, plan.effective),
    replicas: chooseReplicas(body, view, plan.effective),
    vectorVersion: body.vectorVersion ?? previous?.vectorVersion ?? NEWEST_VECTOR_VERSION,
    imageName: chooseImage(body, view, view.services.vector.allowOwnImages),
    apiKeyEnabled: body.apiKeyEnabled,
    enableIngress: body.enableIngress,
    enableLoadBalancer: body.enableLoadBalancer,
    allowedCidrs: body.allowedCidrs || undefined,
    ingressHost: chooseHost(body, view),
    tags: body.tags,
  }
  refuseRequestOverLimit(spec as VectorSpec, plan.effective)
  refuseShrinking('Vector', spec as VectorSpec, view, plan.effective)
  return spec
}

function chooseHost(body: VectorBody, view: VectorWrite): string | undefined {
  const { services, boundaryId, resourceGroup, name, previous } = view
  const host = body.ingressHost ?? undefined
  if (host === undefined) return undefined
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const { domain } = clusterWords(services, boundaryId, previous?.spec.clusterId ?? body.clusterId)
  if (host === defaultVectorHost(namespace, name, domain)) return undefined
  if (host === previous?.spec.ingressHost) return host
  if (!isHostBelow(host, domain)) {
    throw badRequest(`The host must lie below "${domain}".`, [
      { field: 'ingressHost', message: `must end with .${domain}` },
    ])
  }
  const holder = holderOf(services, 'Host', host)
  if (
    holder !== undefined &&
    !(holder.kind === 'VectorCluster' && holder.namespace === namespace && holder.name === name)
  ) {
    throw new PlatformError('HOST_TAKEN', `The host "${host}" is taken.`, { field: 'ingressHost', value: host })
  }
  return host
}
