import { METRICS, type MetricCollection } from '../../contracts/metrics.ts'
import { notFound } from '../../core/errors.ts'
import type { ResourceScope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { findResource, otherClusterOf } from '../resources/find.ts'

export const MONITORING_PATH = '{RG}/monitoring/{resourceType}/{resourceName}'

export const KIND_BY_COLLECTION = new Map<string, AnyKind>(
  RESOURCE_KINDS.filter(({ segment }) => Object.hasOwn(METRICS, segment)).map((kind) => [kind.segment, kind]),
)

export type MonitoredResource = {
  readonly kind: AnyKind
  readonly object: RecordOf<AnyKind>
  readonly location: Omit<ResourceScope, 'level'> & { readonly collection: MetricCollection }
  readonly namespace: string
}

/** Finds the resource of any kind in the path. @throws PlatformError NOT_FOUND */
export async function findMonitoredResource(context: Context<string, unknown>): Promise<MonitoredResource> {
  const { resourceType = '' } = context.parameters
  const kind = KIND_BY_COLLECTION.get(resourceType)
  if (kind === undefined) throw notFound(`Collection "${resourceType.slice(0, 64)}"`)
  const { object, location, ref } = await findResource(kind, context as Context, 'resourceName')
  return {
    kind,
    object,
    location: { ...location, collection: resourceType as MetricCollection },
    namespace: ref.namespace,
  }
}

/** Whether we know what measures its cluster: of other clusters we do not. */
export function isMeasuredHere({ records }: Context['services'], { object }: MonitoredResource): boolean {
  return otherClusterOf({ records }, (object.spec as { clusterId?: string }).clusterId) === undefined
}
