import { isOwnedBy, ownerLabelSelector } from '../../contracts/workloads.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { readResources } from '../resources/contents.ts'
import { groupsOfBoundary } from '../resources/find.ts'
import type { ClusterNetworkState, SeenPod } from './networkState.ts'
import { networkVisibilityOf } from './networkVisibility.ts'
import { INTERNET_ADDRESSES, IPV4, POSSIBLE_POD_ADDRESSES, parseNetworks } from './policy/addresses.ts'
import type { End, Pod, Protocol } from './policy/question.ts'
import { selectorMatchesLabels } from './policy/selectors.ts'
import { type EndRequest, faultsOf } from './record.ts'

export type FoundResource = { readonly kind: AnyKind; readonly object: RecordOf<AnyKind> }

/** An end of the connection: outside the cluster, or pods in a group of the boundary. */
export type ConnectionEnd =
  | { readonly end: Exclude<End, Pod> }
  | {
      readonly namespace: string
      readonly labels: Readonly<Record<string, string>>
      /** The resources of that name, maybe of several kinds. Undefined for pods selected by labels. */
      readonly resources: readonly FoundResource[] | undefined
      /** Resources of the group that the caller may not see; their pods are ignored. */
      readonly hidden: readonly FoundResource[]
    }

/** @throws PlatformError BAD_REQUEST for a missing part */
export function checkEnds(ends: { from: EndRequest; to: EndRequest }): void {
  const faults = [...faultsOf(ends.from, 'from'), ...faultsOf(ends.to, 'to')]
  if (faults.length > 0) throw refusedFields(faults)
  const isInBoundary = ({ kind }: EndRequest) => kind === 'Resource' || kind === 'Pods'
  if (isInBoundary(ends.from) || isInBoundary(ends.to)) return
  const message = 'at least one end must be a Resource or Pods of the boundary'
  throw refusedFields([{ field: 'to.kind', message }])
}

/** @throws PlatformError REFERENCE_NOT_FOUND */
export async function resolveConnectionEnd(
  context: Context,
  boundaryId: string,
  { kind, value, labels, name, resourceGroup }: EndRequest,
  at: 'from' | 'to',
): Promise<ConnectionEnd> {
  if (kind === 'Internet') return { end: { kind: 'outside', addresses: INTERNET_ADDRESSES, isInternet: true } }
  if (kind === 'Cidr') return { end: { kind: 'outside', addresses: parseNetworks(value ?? ''), isInternet: false } }
  if (kind === 'Host') return { end: { kind: 'host', host: value ?? '', addresses: IPV4 } }
  const { services, fresh } = context
  const visibility = networkVisibilityOf(context, boundaryId)
  const group = resourceGroup ?? ''
  if (!groupsOfBoundary(services, boundaryId).some((known) => known.name === group && visibility.group(known)))
    throw missing(`There is no resource group "${group}" in this boundary.`, `${at}.resourceGroup`, group)
  const namespace = groupNamespace(boundaryId, group)
  const all = await readResources(services, boundaryId, [group], fresh)
  const hidden = all.filter((one) => !visibility.resource(one))
  if (kind === 'Pods') return { namespace, labels: labels ?? {}, resources: undefined, hidden }
  const resources = all.filter((one) => one.object.metadata.name === name && visibility.resource(one))
  if (resources.length === 0)
    throw missing(`There is no resource "${name}" in group "${group}".`, `${at}.name`, name ?? '')
  return { namespace, labels: {}, resources, hidden }
}

function missing(message: string, field: string, value: string): PlatformError {
  return new PlatformError('REFERENCE_NOT_FOUND', message, { field, value })
}

/** Returns the current pods of a place. */
export function podsAt(place: ConnectionEnd, { pods }: ClusterNetworkState): SeenPod[] {
  if ('end' in place) return []
  const { namespace, labels, resources, hidden } = place
  // Both lists may have thousands of items.
  const unseen = new Set(hidden.map(({ kind, object }) => ownerLabelSelector(kind.kind, object.metadata.name)))
  return pods.filter(({ metadata, status }) => {
    if (metadata.namespace !== namespace || ['Succeeded', 'Failed'].includes(status?.phase ?? '')) return false
    const { [OWNER_KIND_LABEL]: owner = '', [OWNER_NAME_LABEL]: name = '' } = metadata.labels ?? {}
    if (unseen.has(ownerLabelSelector(owner, name))) return false
    if (resources === undefined) return selectorMatchesLabels({ matchLabels: labels }, metadata.labels ?? {})
    return resources.some(({ kind, object }) => isOwnedBy(metadata, kind.kind, object.metadata.name))
  })
}

/** Returns the ends to judge: the outside, the pods or, for labels without pods, a hypothetical pod. */
export function endsAt(
  place: ConnectionEnd,
  found: readonly SeenPod[],
  { namespaceLabels }: ClusterNetworkState,
): End[] {
  if ('end' in place) return [place.end]
  const { namespace, labels, resources } = place
  const base = { kind: 'pod', namespace, namespaceLabels: namespaceLabels.get(namespace) ?? {} } as const
  if (found.length === 0 && resources === undefined)
    return [{ ...base, name: 'a pod with these labels', labels, addresses: POSSIBLE_POD_ADDRESSES, ports: undefined }]
  return found.map(({ metadata, spec, status }) => {
    const ips = [...(status?.podIPs ?? []).flatMap(({ ip }) => ip ?? []), ...(status?.podIP ? [status.podIP] : [])]
    const known = parseNetworks(...ips)
    return {
      ...base,
      name: metadata.name,
      labels: metadata.labels ?? {},
      addresses: known.length === 0 ? POSSIBLE_POD_ADDRESSES : known,
      ports: (spec?.containers ?? []).flatMap(({ ports = [] }) =>
        ports.flatMap(({ name, containerPort, protocol = 'TCP' }) =>
          name === undefined ? [] : [{ name, port: containerPort, protocol: protocol as Protocol }],
        ),
      ),
      serviceAccount: spec?.serviceAccountName,
    }
  })
}
