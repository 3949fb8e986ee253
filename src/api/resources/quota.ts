import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { parseQuantity } from '../../core/quantity.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Services } from '../http/context.ts'
import { type GroupResource, resourcesOfBoundary, resourcesOfGroup } from './contents.ts'
import type { Place } from './places.ts'
import { type Usage, usageOf } from './usage.ts'

const NAMES = ['cpu', 'memory', 'storage', 'pods', 'resources'] as const
type Limits = { readonly [Name in (typeof NAMES)[number]]?: string | number | undefined }

/**
 * Refuses what would take a group or its boundary over a limit. What is over it already may stay and shrink: only growth
 * is refused. Two requests at once may both pass; the controller then stalls the younger one.
 *
 * @throws PlatformError QUOTA_EXCEEDED
 */
export function enforceQuota(kind: AnyKind, place: Place, spec: object, services: Services): void {
  const { boundaryId, resourceGroup } = place
  const { records } = services
  const group = records.peek(ResourceGroup, { namespace: boundaryNamespace(boundaryId), name: resourceGroup })
  const boundary = records.peek(Boundary, { name: boundaryId })
  const next = { kind, resourceGroup, object: objectOf(kind, place, spec) }
  if (hasLimits(group?.spec.quota)) {
    const now = resourcesOfGroup(services, boundaryId, resourceGroup)
    refuseGrowth(`group "${resourceGroup}"`, group?.spec.quota ?? {}, now, next, services)
  }
  if (hasLimits(boundary?.spec.quota)) {
    const now = resourcesOfBoundary(services, boundaryId)
    refuseGrowth(`boundary "${boundaryId}"`, boundary?.spec.quota ?? {}, now, next, services)
  }
}

function objectOf(kind: AnyKind, place: Place, spec: object): GroupResource['object'] {
  const namespace = groupNamespace(place.boundaryId, place.resourceGroup)
  const { apiVersion, kind: word } = kind
  return { apiVersion, kind: word, metadata: { namespace, name: place.name }, spec } as GroupResource['object']
}

function hasLimits(limits: Limits | undefined): boolean {
  return limits !== undefined && NAMES.some((name) => limits[name] !== undefined)
}

function refuseGrowth(
  where: string,
  limits: Limits,
  now: readonly GroupResource[],
  next: GroupResource,
  services: Services,
): void {
  const isSame = ({ kind, object: { metadata } }: GroupResource) =>
    kind === next.kind &&
    metadata.namespace === next.object.metadata.namespace &&
    metadata.name === next.object.metadata.name
  const others = now.filter((resource) => !isSame(resource))
  const used = usageOf(services, others)
  const [before, after] = [usageOf(services, now), usageOf(services, [...others, next])]
  for (const quota of NAMES) {
    const limit = limits[quota]
    if (limit === undefined || amount(after[quota]) <= amount(limit) || amount(after[quota]) <= amount(before[quota]))
      continue
    const requested = usageOf(services, [next])[quota]
    const message = `The quota ${quota} of ${where} is ${limit}; ${used[quota]} is used and ${requested} is asked for.`
    throw new PlatformError('QUOTA_EXCEEDED', message, { quota, limit, used: used[quota], requested })
  }
}

function amount(value: Usage[keyof Usage]): bigint {
  return typeof value === 'number' ? BigInt(value) * 1000n : parseQuantity(value)
}
