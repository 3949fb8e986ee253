import { z } from 'zod'
import { hostSuffixOf, isHostOf } from '../../contracts/vector.ts'
import { defaultHost } from '../../contracts/workloads.ts'
import { badRequest, PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { RecordOf } from '../records/records.ts'
import { clusterWords } from '../resources/places.ts'
import { holderOf, hostTaken } from '../resources/platformNames.ts'
import { recordOf } from '../resources/record.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'

export type VectorObject = RecordOf<typeof VectorCluster>
export type VectorView = ResourceView<typeof VectorCluster>
export const COLLECTION = 'vectorclusters'

/** The host that it has or will have; undefined if it has none. */
export function hostOf(view: Pick<VectorView, 'object' | 'cluster'>): string | undefined {
  const { spec, status, metadata } = view.object
  if (spec.ingressHost !== undefined || !spec.enableIngress) return spec.ingressHost
  return (
    status?.ingressHost ?? defaultHost('vectorclusters', metadata.namespace ?? '', metadata.name, view.cluster.domain)
  )
}

/** VectorClusterDto (records: vector databases). */
export const vectorRecord = recordOf(VectorCluster, {
  id: 'VectorClusterDto',
  hidden: ['running', 'restartedAt', 'onDelete', 'apiKeyVersion'],
  computed: {
    publicEndpoint: [
      z.string().nullable().describe('Where it is reached from outside, once it is'),
      ({ object }) => object.status?.publicEndpoint,
    ],
    readyReplicas: [z.int().nullable(), ({ object }) => object.status?.readyReplicas],
  },
  shownAs: { ingressHost: hostOf },
  kept: ['vectorVersion'],
  allowsOwnImages: ({ vector }) => vector.allowOwnImages,
  refine: ({ ingressHost, clusterId, vectorVersion }, view) => {
    refuseHastyUpgrade(vectorVersion, view)
    return { ingressHost: chooseHost(ingressHost, clusterId, view) }
  },
})

/** @throws PlatformError INVALID_STATE while peers still go over to the version that was asked for before */
function refuseHastyUpgrade(
  version: string | undefined,
  { previous, name }: Pick<WriteView<typeof VectorCluster>, 'previous' | 'name'>,
): void {
  const { spec, status } = previous ?? {}
  if (version === undefined || spec === undefined || version === spec.vectorVersion) return
  const running = status?.vectorVersion
  if (running === undefined || running === spec.vectorVersion) return
  const message = `"${name}" is going over from ${running} to ${spec.vectorVersion}; change vectorVersion once it has.`
  throw new PlatformError('INVALID_STATE', message, { status: 'Updating', phase: 'RollingOut' })
}

/** @throws PlatformError BAD_REQUEST, HOST_TAKEN */
function chooseHost(
  host: string | undefined,
  clusterId: string | undefined,
  { services, boundaryId, resourceGroup, name, previous }: WriteView<typeof VectorCluster>,
): string | undefined {
  if (host === undefined) return undefined
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const { domain } = clusterWords(services, boundaryId, clusterId)
  if (host === defaultHost('vectorclusters', namespace, name, domain)) return undefined
  if (host === previous?.spec.ingressHost) return host
  if (!isHostOf(boundaryId, host, domain)) {
    const message = `must end with ${hostSuffixOf(boundaryId, domain)}, as hosts of this boundary do`
    throw badRequest(`ingressHost ${message}.`, [{ field: 'ingressHost', message }])
  }
  const holder = holderOf(services, 'Host', host)
  if (
    holder !== undefined &&
    !(holder.kind === 'VectorCluster' && holder.namespace === namespace && holder.name === name)
  ) {
    throw hostTaken(host, 'ingressHost')
  }
  return host
}
