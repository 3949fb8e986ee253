import type { z } from 'zod'
import { isOwnedBy, ownerLabelSelector } from '../../contracts/workloads.ts'
import { sourceRanges } from '../../core/cidr.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { action, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { readResources } from '../resources/contents.ts'
import { clusterInfo, defaultCluster, findBoundary, groupsOfBoundary } from '../resources/find.ts'
import { type ClusterNetworkState, readNetworkState, type SeenPod } from './networkState.ts'
import { networkVisibilityOf } from './networkVisibility.ts'
import { INTERNET_ADDRESSES, IPV4, POSSIBLE_POD_ADDRESSES, parseNetworks } from './policy/addresses.ts'
import { judgePairs } from './policy/pairs.ts'
import type { End, Pod, Protocol } from './policy/question.ts'
import { selectorMatchesLabels } from './policy/selectors.ts'
import { combineDirections, type SideVerdict } from './policy/verdict.ts'
import { type EndRequest, faultsOf, NetworkCheckRequest, NetworkCheckResult } from './record.ts'

type Request = z.output<typeof NetworkCheckRequest>
type Result = Omit<z.output<typeof NetworkCheckResult>, 'clusterId' | 'evaluatedAt'>

/** Pods checked at each end. Pods of one resource mostly have the same labels. */
const CHECKED_PODS_MAX = 20
const NAMED_MAX = 100

async function check(context: Context<'boundaryId', unknown, Request>) {
  const { services, body } = context
  const { boundaryId } = context.parameters
  checkEnds(body)
  await findBoundary(context, boundaryId)
  const from = await resolveConnectionEnd(context, boundaryId, body.from, 'from')
  const to = await resolveConnectionEnd(context, boundaryId, body.to, 'to')
  const clusterId = clusterOf(services, boundaryId, body.clusterId ?? undefined, [from, to])
  const seen = await readNetworkState(services, clusterId, namespacesOf([from, to]))
  const result = typeof seen === 'string' ? unknown(seen) : evaluate(body, from, to, seen)
  return ok({ ...result, clusterId, evaluatedAt: timestamp(services.clock.now()) })
}

/** @throws PlatformError CLUSTER_NOT_PROJECTED */
function clusterOf(
  services: Services,
  boundaryId: string,
  wanted: string | undefined,
  ends: readonly ConnectionEnd[],
): string {
  const own = defaultCluster(services).id
  if (wanted === undefined) {
    const [first] = ends.flatMap((end) => ('end' in end ? [] : (end.resources ?? [])))
    return clusterInfo(services, (first?.object.spec as { clusterId?: string } | undefined)?.clusterId).id
  }
  const isThere =
    wanted === own ||
    services.records.peek(BoundaryProjection, { namespace: boundaryNamespace(boundaryId), name: wanted }) !== undefined
  if (isThere) return wanted
  const message = `The boundary is not projected on cluster "${wanted}".`
  throw new PlatformError('CLUSTER_NOT_PROJECTED', message, { field: 'clusterId', value: wanted })
}

function namespacesOf(ends: readonly ConnectionEnd[]): string[] {
  return [...new Set(ends.flatMap((end) => ('end' in end ? [] : [end.namespace])))]
}

function unknown(message: string): Result {
  const side = { verdict: 'Unknown', isolated: false, rule: null, message } as const
  return {
    ...{ allowed: false, verdict: 'Unknown', decidedBy: null, egress: side, ingress: side },
    ...{ fromMatches: [], toMatches: [], warnings: [message] },
  }
}

const PROTOCOLS = { Tcp: 'TCP', Udp: 'UDP', Sctp: 'SCTP' } as const

function evaluate(
  { port, protocol }: Request,
  from: ConnectionEnd,
  to: ConnectionEnd,
  seen: ClusterNetworkState,
): Result {
  const [fromPods, toPods] = [podsAt(from, seen), podsAt(to, seen)]
  const matches = {
    fromMatches: fromPods.slice(0, NAMED_MAX).map(({ metadata }) => metadata.name),
    toMatches: toPods.slice(0, NAMED_MAX).map(({ metadata }) => metadata.name),
  }
  const withoutPods = [from, to].find((place, index) => isResourceWithoutPods(place, [fromPods, toPods][index] ?? []))
  if (withoutPods !== undefined) return { ...unknown(noPods(withoutPods)), ...matches }
  const ends = {
    from: endsAt(from, fromPods, seen).slice(0, CHECKED_PODS_MAX),
    to: endsAt(to, toPods, seen).slice(0, CHECKED_PODS_MAX),
  }
  const question = { port, protocol: PROTOCOLS[protocol], blocksTakePods: !seen.hasCilium } as const
  const egress = judgePairs('egress', ends, question, seen.policies)
  const ingress = byAllowedCidrs(judgePairs('ingress', ends, question, seen.policies), from, to)
  const { verdict, decidedBy } = combineDirections(egress, ingress)
  const shown = ({ warnings: _, ...side }: SideVerdict) => side
  const warnings = [...warningsOf(from), ...warningsOf(to), ...egress.warnings, ...ingress.warnings]
  if (Math.max(fromPods.length, toPods.length) > CHECKED_PODS_MAX)
    warnings.push(`Only the first ${CHECKED_PODS_MAX} pods of each end were checked.`)
  return {
    ...{ allowed: verdict === 'Allowed', verdict, decidedBy, egress: shown(egress), ingress: shown(ingress) },
    ...matches,
    warnings: [...new Set(warnings)],
  }
}

/** Which policies apply to a resource is only known from its pods. */
function isResourceWithoutPods(place: ConnectionEnd, pods: readonly unknown[]): boolean {
  return !('end' in place) && place.resources !== undefined && pods.length === 0
}

function noPods(place: ConnectionEnd): string {
  const [first] = 'end' in place ? [] : (place.resources ?? [])
  const name = first?.object.metadata.name ?? ''
  return `"${name}" has no pods on this cluster now; without pods, no policy can be checked.`
}

function warningsOf(place: ConnectionEnd): string[] {
  if ('end' in place || place.resources === undefined || place.resources.length < 2) return []
  const collections = place.resources.map(({ kind }) => kind.segment).join(' and ')
  return [`Several resources have the name "${place.resources[0]?.object.metadata.name}": ${collections}.`]
}

export const checkRoute = route('POST', '{B}/network/check', {
  auth: action('boundaries/network/read'),
  summary: 'Whether policies allow a connection, and the rule that decides',
  body: NetworkCheckRequest,
  example: {
    from: { kind: 'Resource', resourceGroup: 'shop', name: 'web' },
    to: { kind: 'Resource', resourceGroup: 'shop', name: 'search' },
    port: 6333,
    protocol: 'Tcp',
  },
  reply: NetworkCheckResult,
  handler: check as never,
})

/**
 * Names the field `allowedCidrs` of the resource as the deciding rule: callers who ask about an outside address know
 * that field, not the policy that the platform generates from it.
 */
function byAllowedCidrs(ingress: SideVerdict, from: ConnectionEnd, to: ConnectionEnd): SideVerdict {
  const { rule } = ingress
  if (!('end' in from) || 'end' in to || rule === null) return ingress
  const [resource] = to.resources ?? []
  const spec = resource?.object.spec as { enableLoadBalancer?: boolean; allowedCidrs?: string } | undefined
  const ranges = sourceRanges(spec?.allowedCidrs)
  if (resource === undefined || spec?.enableLoadBalancer !== true || ranges === undefined) return ingress
  const isDefault = rule.kind === 'PlatformDefault'
  const isFromRanges = rule.kind === 'NetworkPolicy' && ranges.some((range) => rule.text.includes(`"${range}"`))
  if (!isDefault && !isFromRanges) return ingress
  const { name, namespace = null } = resource.object.metadata
  const text = `allowedCidrs of "${name}" of ${resource.kind.segment}: ${ranges.join(', ')}`
  const deciding = { kind: 'AllowedCidrs', namespace, name, ruleIndex: null, effect: rule.effect, text } as const
  const message = isDefault ? `allowedCidrs of "${name}" does not hold it.` : ingress.message
  return { ...ingress, rule: deciding, message }
}

type FoundResource = { readonly kind: AnyKind; readonly object: RecordOf<AnyKind> }

/** An end of the connection: outside the cluster, or pods in a group of the boundary. */
type ConnectionEnd =
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
function checkEnds(ends: { from: EndRequest; to: EndRequest }): void {
  const faults = [...faultsOf(ends.from, 'from'), ...faultsOf(ends.to, 'to')]
  if (faults.length > 0) throw refusedFields(faults)
  const isInBoundary = ({ kind }: EndRequest) => kind === 'Resource' || kind === 'Pods'
  if (isInBoundary(ends.from) || isInBoundary(ends.to)) return
  const message = 'at least one end must be a Resource or Pods of the boundary'
  throw refusedFields([{ field: 'to.kind', message }])
}

/** @throws PlatformError REFERENCE_NOT_FOUND */
async function resolveConnectionEnd(
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
function podsAt(place: ConnectionEnd, { pods }: ClusterNetworkState): SeenPod[] {
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
function endsAt(place: ConnectionEnd, found: readonly SeenPod[], { namespaceLabels }: ClusterNetworkState): End[] {
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
