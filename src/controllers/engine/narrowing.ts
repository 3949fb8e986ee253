import { sourceRanges } from '../../core/cidr.ts'
import { PREFIX } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { SOURCE_RANGES_ANNOTATION } from '../../desired/workload/host.ts'
import { APPLIED_ANNOTATION } from '../../kube/apply.ts'
import { ingress, networkPolicy, service } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Children, Pass } from './pass.ts'

/**
 * The fields of a spec that say who may come in by a way that is open, and under which hosts.
 *
 * @internal Tests read it.
 */
export const BOUNDING = ['allowedCidrs', 'customDomains'] as const
type Bounds = {
  readonly allowedCidrs?: string
  readonly customDomains?: readonly string[]
  readonly enableLoadBalancer?: boolean
}

/**
 * On a way that was narrowed, until its owner has written the whole of it again.
 *
 * @internal Tests read it.
 */
export const NARROWED_ANNOTATION = `${PREFIX}narrowed`
/** In the place of the hash of an intent: the next one is written, whatever it says. */
const NO_INTENT = 'narrowed'

type Rule = { host?: string }
type Peer = { ipBlock?: { cidr: string } }
type Way = KubeObject & {
  spec: {
    type?: string
    loadBalancerSourceRanges?: string[]
    rules?: Rule[]
    tls?: { hosts?: string[] }[]
    hostnames?: string[]
    ingress?: { from?: Peer[] }[]
  }
}
type Fields = { annotations?: Record<string, string>; spec?: object }
type Narrowing = Pick<Pass, 'children' | 'workloads'> & { readonly object: { readonly spec: object } }

/**
 * Ways in from outside that stand as they were written before are narrowed to what the spec allows now, by a field manager of its
 * own: what keeps the steps from writing them as a whole must not keep in whoever was shut out. Once they are written as a whole,
 * that manager lets go.
 *
 * @param among the types of ways that the controller keeps
 * @param isWhole whether the steps have come to their end
 */
export async function narrowWays(pass: Narrowing, among: readonly Resource[], isWhole: boolean): Promise<void> {
  const { object, children, workloads } = pass
  for (const resource of among.filter((each) => workloads.isServed(each)))
    for (const way of children.owned<Way>(resource)) {
      if (way.metadata.deletionTimestamp !== undefined) continue
      const { [NARROWED_ANNOTATION]: mark, [APPLIED_ANNOTATION]: intent } = way.metadata.annotations ?? {}
      if (mark !== undefined && intent !== NO_INTENT) await children.amend(resource, way, undefined)
      if (!isWhole) await narrow(children, resource, way, object.spec)
    }
}

async function narrow(children: Children, resource: Resource, way: Way, bounds: Bounds): Promise<void> {
  // Nothing bounds the clients of a route.
  if (resource === httpRoute && sourceRanges(bounds.allowedCidrs) !== undefined) {
    await children.remove(resource, way.metadata.namespace, way.metadata.name)
    return
  }
  const { stands, allowed } = fieldsOf(way, bounds)
  if (JSON.stringify(stands) === JSON.stringify(allowed)) return
  const annotations = { ...allowed.annotations, [NARROWED_ANNOTATION]: 'true', [APPLIED_ANNOTATION]: NO_INTENT }
  await children.amend(resource, way, { metadata: { annotations }, ...(allowed.spec && { spec: allowed.spec }) })
}

/** What can bound such a way. */
export const NARROWED: readonly Resource[] = [ingress, httpRoute, service, networkPolicy]

/** The fields that bound a way: as they stand, and as the spec allows them at most. */
function fieldsOf(way: Way, bounds: Bounds): { stands: Fields; allowed: Fields } {
  const ranges = sourceRanges(bounds.allowedCidrs)
  switch (way.kind) {
    case ingress.kind:
      return fieldsOfIngress(way, bounds, ranges)
    case httpRoute.kind: {
      const hostnames = way.spec.hostnames ?? []
      const kept = hostnames.filter(keptAmong(hostnames[0], bounds))
      return { stands: { spec: { hostnames } }, allowed: { spec: { hostnames: kept } } }
    }
    case service.kind: {
      const before = way.spec.loadBalancerSourceRanges
      const after = way.spec.type === 'LoadBalancer' ? (ranges ?? before) : before
      return { stands: fieldsOfService(before), allowed: fieldsOfService(after) }
    }
    default: {
      const rules = way.spec.ingress ?? []
      const allowed = rules.flatMap((rule) => boundRule(rule, bounds, ranges))
      return { stands: { spec: { ingress: rules } }, allowed: { spec: { ingress: allowed } } }
    }
  }
}

const fieldsOfService = (ranges: readonly string[] | undefined): Fields =>
  ranges === undefined ? {} : { spec: { loadBalancerSourceRanges: ranges } }

/** The first host is its own. */
function keptAmong(own: string | undefined, { customDomains }: Bounds) {
  return (host: string | undefined) =>
    host === own || customDomains === undefined || (host !== undefined && customDomains.includes(host))
}

function fieldsOfIngress({ metadata, spec }: Way, bounds: Bounds, ranges: readonly string[] | undefined) {
  const { rules = [], tls = [] } = spec
  const isKept = keptAmong(rules[0]?.host, bounds)
  const written = metadata.annotations?.[SOURCE_RANGES_ANNOTATION]
  const fields = (range: string | undefined, kept: { rules: Rule[]; tls: object[] }): Fields => ({
    ...(range !== undefined && { annotations: { [SOURCE_RANGES_ANNOTATION]: range } }),
    spec: { rules: kept.rules, tls: kept.tls },
  })
  const kept = {
    rules: rules.filter(({ host }) => isKept(host)),
    tls: tls.filter(({ hosts = [] }) => hosts.every(isKept)),
  }
  return { stands: fields(written, { rules, tls }), allowed: fields(ranges?.join(',') ?? written, kept) }
}

/** Networks outside are peers of their own beside those inside. A rule without any peer would let in everybody. */
function boundRule(rule: { from?: Peer[] }, { enableLoadBalancer }: Bounds, ranges: readonly string[] | undefined) {
  const { from = [] } = rule
  const outside = from.filter(({ ipBlock }) => ipBlock !== undefined)
  if (outside.length === 0) return [rule]
  const inside = from.filter(({ ipBlock }) => ipBlock === undefined)
  const allowed = ranges === undefined ? outside : ranges.map((cidr) => ({ ipBlock: { cidr } }))
  const peers = [...inside, ...(enableLoadBalancer === true ? allowed : [])]
  return peers.length === 0 ? [] : [{ ...rule, from: peers }]
}
