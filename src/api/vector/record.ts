import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { RecordOf } from '../records/records.ts'
import { chooseHost, ownHost } from '../resources/hosts.ts'
import { recordOf } from '../resources/record.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'

export type VectorObject = RecordOf<typeof VectorCluster>
export type VectorView = ResourceView<typeof VectorCluster>

/** Returns the current or future host; undefined if there is none. */
export function hostOf(view: Pick<VectorView, 'object' | 'cluster'>): string | undefined {
  const { spec, status } = view.object
  const own = { enabled: spec.enableIngress, chosen: spec.ingressHost, held: status?.ingressHost }
  return ownHost({ kind: VectorCluster, ...own }, view)
}

/** VectorClusterDto (records: vector databases). */
export const vectorRecord = recordOf(VectorCluster, {
  hidden: ['running', 'restartedAt', 'onDelete', 'apiKeyVersion', 'snapshots'],
  computed: {
    publicEndpoint: z.string().nullable().describe('Where it is reached from outside, once it is'),
    readyReplicas: z.int().nullable(),
  },
  shownAs: { ingressHost: hostOf },
  kept: ['vectorVersion'],
  allowsOwnImages: ({ vector }) => vector.allowOwnImages,
  refine: ({ ingressHost, clusterId, vectorVersion }, view) => {
    refuseEarlyUpgrade(vectorVersion, view)
    return { ingressHost: chooseHost(VectorCluster, { ingressHost, clusterId }, view) }
  },
})

/** @throws PlatformError INVALID_STATE while peers are still being upgraded to the previously requested version */
function refuseEarlyUpgrade(
  version: string | undefined,
  { previous, name }: Pick<WriteView<typeof VectorCluster>, 'previous' | 'name'>,
): void {
  const { spec, status } = previous ?? {}
  if (version === undefined || spec === undefined || version === spec.vectorVersion) return
  const runningVersion = status?.vectorVersion
  if (runningVersion === undefined || runningVersion === spec.vectorVersion) return
  const message = `"${name}" is being upgraded from ${runningVersion} to ${spec.vectorVersion}; change vectorVersion after that.`
  throw new PlatformError('INVALID_STATE', message, { status: 'Updating', phase: 'RollingOut' })
}
