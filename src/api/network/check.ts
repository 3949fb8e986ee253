import type { z } from 'zod'
import { sourceRanges } from '../../core/cidr.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { action, route } from '../http/route.ts'
import { clusterInfo, defaultCluster, findBoundary } from '../resources/find.ts'
import { type ConnectionEnd, checkEnds, endsAt, podsAt, resolveConnectionEnd } from './connectionEnds.ts'
import { type ClusterNetworkState, readNetworkState } from './networkState.ts'
import { judgePairs } from './policy/pairs.ts'
import { combineDirections, type SideVerdict } from './policy/verdict.ts'
import { NetworkCheckRequest, NetworkCheckResult } from './record.ts'

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
