import { sourceRanges } from '../../core/cidr.ts'
import { PREFIX } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { SOURCE_RANGES_ANNOTATION } from '../../desired/workload/host.ts'
import { APPLIED_ANNOTATION } from '../../kube/apply.ts'
import { ingress, networkPolicy, service } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Children, Pass } from './pass.ts'

/** Spec fields that restrict who may use an exposure, and under which hosts. @internal Tests read it. */
export const EXPOSURE_LIMIT_FIELDS = ['allowedCidrs', 'customDomains'] as const
type ExposureLimits = {
  readonly allowedCidrs?: string
  readonly customDomains?: readonly string[]
  readonly enableLoadBalancer?: boolean
}

/** Marks an exposure that was narrowed, until its owner writes it in full again. @internal Tests read it. */
export const NARROWED_ANNOTATION = `${PREFIX}narrowed`
/** Replaces the hash of the applied intent, so that the next full write is never skipped. */
const NARROWED_INTENT = 'narrowed'

type Rule = { host?: string }
type Peer = { ipBlock?: { cidr: string } }
type Exposure = KubeObject & {
  spec: {
    type?: string
    loadBalancerSourceRanges?: string[]
    rules?: Rule[]
    tls?: { hosts?: string[] }[]
    hostnames?: string[]
    ingress?: { from?: Peer[] }[]
  }
}
type ExposureFields = { annotations?: Record<string, string>; spec?: object }
type NarrowingPass = Pick<Pass, 'children' | 'workloads'> & { readonly object: { readonly spec: object } }

/**
 * Narrows existing exposures (Ingress, HTTPRoute, Service, NetworkPolicy) to what the spec allows now, under a separate
 * field manager. An obstacle that keeps the steps from writing them in full must not keep access open for clients that
 * were shut out. Once they are written in full, the manager gives up its fields.
 *
 * @param candidates the kinds of exposures that the controller keeps
 * @param isComplete whether all steps are done
 */
export async function narrowExposures(
  pass: NarrowingPass,
  candidates: readonly Resource[],
  isComplete: boolean,
): Promise<void> {
  const { object, children, workloads } = pass
  for (const resource of candidates.filter((each) => workloads.isServed(each)))
    for (const exposure of children.owned<Exposure>(resource)) {
      if (exposure.metadata.deletionTimestamp !== undefined) continue
      const { [NARROWED_ANNOTATION]: narrowedFor, [APPLIED_ANNOTATION]: appliedHash } =
        exposure.metadata.annotations ?? {}
      if (narrowedFor !== undefined && appliedHash !== NARROWED_INTENT)
        await children.amend(resource, exposure, undefined)
      if (!isComplete) await narrowExposure(children, resource, exposure, object.spec)
    }
}

async function narrowExposure(
  children: Children,
  resource: Resource,
  exposure: Exposure,
  bounds: ExposureLimits,
): Promise<void> {
  // A route cannot restrict its clients, so remove it.
  if (resource === httpRoute && sourceRanges(bounds.allowedCidrs) !== undefined) {
    await children.remove(resource, exposure.metadata.namespace, exposure.metadata.name)
    return
  }
  const { stored, allowed } = fieldsOf(exposure, bounds)
  if (JSON.stringify(stored) === JSON.stringify(allowed)) return
  const annotations = { ...allowed.annotations, [NARROWED_ANNOTATION]: 'true', [APPLIED_ANNOTATION]: NARROWED_INTENT }
  await children.amend(resource, exposure, { metadata: { annotations }, ...(allowed.spec && { spec: allowed.spec }) })
}

/** Kinds of exposures that can be narrowed. */
export const NARROWABLE_RESOURCES: readonly Resource[] = [ingress, httpRoute, service, networkPolicy]

/** Returns the restricting fields of an exposure: as stored, and the most that the spec allows. */
function fieldsOf(exposure: Exposure, bounds: ExposureLimits): { stored: ExposureFields; allowed: ExposureFields } {
  const ranges = sourceRanges(bounds.allowedCidrs)
  switch (exposure.kind) {
    case ingress.kind:
      return fieldsOfIngress(exposure, bounds, ranges)
    case httpRoute.kind: {
      const hostnames = exposure.spec.hostnames ?? []
      const kept = hostnames.filter(hostFilter(hostnames[0], bounds))
      return { stored: { spec: { hostnames } }, allowed: { spec: { hostnames: kept } } }
    }
    case service.kind: {
      const before = exposure.spec.loadBalancerSourceRanges
      const after = exposure.spec.type === 'LoadBalancer' ? (ranges ?? before) : before
      return { stored: fieldsOfService(before), allowed: fieldsOfService(after) }
    }
    default: {
      const rules = exposure.spec.ingress ?? []
      const allowed = rules.flatMap((rule) => limitRule(rule, bounds, ranges))
      return { stored: { spec: { ingress: rules } }, allowed: { spec: { ingress: allowed } } }
    }
  }
}

const fieldsOfService = (ranges: readonly string[] | undefined): ExposureFields =>
  ranges === undefined ? {} : { spec: { loadBalancerSourceRanges: ranges } }

/** The first host is the platform's own and always stays. */
function hostFilter(own: string | undefined, { customDomains }: ExposureLimits) {
  return (host: string | undefined) =>
    host === own || customDomains === undefined || (host !== undefined && customDomains.includes(host))
}

function fieldsOfIngress({ metadata, spec }: Exposure, bounds: ExposureLimits, ranges: readonly string[] | undefined) {
  const { rules = [], tls = [] } = spec
  const isKept = hostFilter(rules[0]?.host, bounds)
  const written = metadata.annotations?.[SOURCE_RANGES_ANNOTATION]
  const fields = (range: string | undefined, kept: { rules: Rule[]; tls: object[] }): ExposureFields => ({
    ...(range !== undefined && { annotations: { [SOURCE_RANGES_ANNOTATION]: range } }),
    spec: { rules: kept.rules, tls: kept.tls },
  })
  const kept = {
    rules: rules.filter(({ host }) => isKept(host)),
    tls: tls.filter(({ hosts = [] }) => hosts.every(isKept)),
  }
  return { stored: fields(written, { rules, tls }), allowed: fields(ranges?.join(',') ?? written, kept) }
}

/** Outside networks are peers of their own. A rule without peers would allow everybody, so it is dropped. */
function limitRule(
  rule: { from?: Peer[] },
  { enableLoadBalancer }: ExposureLimits,
  ranges: readonly string[] | undefined,
) {
  const { from = [] } = rule
  const outside = from.filter(({ ipBlock }) => ipBlock !== undefined)
  if (outside.length === 0) return [rule]
  const inside = from.filter(({ ipBlock }) => ipBlock === undefined)
  const allowed = ranges === undefined ? outside : ranges.map((cidr) => ({ ipBlock: { cidr } }))
  const peers = [...inside, ...(enableLoadBalancer === true ? allowed : [])]
  return peers.length === 0 ? [] : [{ ...rule, from: peers }]
}
