import { defaultHost, HOST_OWNER_ADVICE, hostSuffixOf, isHostOf, platformDomainOf } from '../../contracts/workloads.ts'
import { sourceRanges } from '../../core/cidr.ts'
import { type KubeObject, keyOf, type ObjectMeta, objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { type Gateway, PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { type HttpRoute, judgeRoute, type RouteAcceptance, routeObstacle } from '../../desired/workload/host.ts'
import { ingress } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Observed } from '../engine/controller.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import { acquireNameClaim, type ClaimingPass, observedClaims, releaseClaims } from '../nameClaims.ts'
import { gatewayOf } from './cluster.ts'
import type { WorkloadPass, WorkloadState } from './pass.ts'

type HostedPass = Pick<WorkloadPass, 'workloads'> & {
  readonly object: { readonly spec: { readonly allowedCidrs?: string | undefined } }
  readonly state: WorkloadState & { readonly host?: string | undefined; readonly route?: RouteAcceptance | undefined }
}

/**
 * Wakes the holder of a claimed host, and resources that wait for it.
 *
 * @param hostsOf returns the hosts that an object asks for below a cluster's domain
 */
export function hostObserver<Stored extends KubeObject>(
  kind: AnyKind,
  hostsOf: (object: Stored, domain: string) => readonly (string | undefined)[],
): Observed {
  return observedClaims(({ spec: { value, holder } }, records) => {
    const waiting = records.cache<Stored>(kind.resource).byIndex(PHASE_INDEX, 'NameOccupied')
    const domains = records.cache(PlatformCluster).list()
    const wants = waiting.filter((each) => domains.some(({ spec }) => hostsOf(each, spec.domain).includes(value)))
    return [...(holder.kind === kind.kind ? [objectKey(holder.namespace, holder.name)] : []), ...wants.map(keyOf)]
  })
}

type HostedObject = {
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly isPublic: boolean
    readonly customDomains: readonly string[]
    readonly ingressHost?: string | undefined
  }
}

/** Returns the hosts that a spec asks for, the platform's host first. */
export function wantedHosts(segment: string, { metadata, spec }: HostedObject, domain: string): string[] {
  if (!spec.isPublic) return []
  const own = spec.ingressHost ?? defaultHost(segment, metadata.namespace ?? '', metadata.name, domain)
  return [own, ...spec.customDomains]
}

type ClaimPass = ClaimingPass & {
  readonly workloads: WorkloadPass['workloads']
  readonly scope: WorkloadPass['scope']
  readonly kind: AnyKind
  readonly object: HostedObject
  readonly state: WorkloadState & { host?: string | undefined; domains: readonly string[] }
}

/** Claims the hosts before anything serves them. Previous hosts are released once nothing serves them any more. */
export async function claimHosts(pass: ClaimPass): Promise<Outcome> {
  const domain = pass.state.cluster?.spec.domain ?? ''
  const [host, ...domains] = wantedHosts(pass.kind.segment, pass.object, domain)
  const { boundaryId = '' } = pass.scope
  if (host !== undefined && host === pass.object.spec.ingressHost && !isHostOf(boundaryId, host, domain)) {
    const suffix = hostSuffixOf(boundaryId, domain)
    return stalled(
      'ConfigurationInvalid',
      `ingressHost "${host}" must end with ${suffix}, as hosts of this boundary do.`,
    )
  }
  const clusters = pass.records.cache(PlatformCluster).list()
  const isOfPlatform = (each: string) => platformDomainOf(each, [domain, ...clusters.map(({ spec }) => spec.domain)])
  const foreign = domains.find((each) => isOfPlatform(each) !== undefined)
  if (foreign !== undefined) {
    const message = `Custom domain "${foreign}" is below "${isOfPlatform(foreign)}", whose hosts the platform assigns.`
    return stalled('ConfigurationInvalid', message)
  }
  for (const each of host === undefined ? [] : [host, ...domains]) {
    if (await acquireNameClaim(pass, 'Host', each)) continue
    const advice = each === pass.object.spec.ingressHost ? '; choose another ingressHost.' : `. ${HOST_OWNER_ADVICE}`
    return stalled('NameOccupied', `Host "${each}" is taken by another resource of the platform${advice}`)
  }
  pass.state.host = host
  pass.state.domains = domains
  return done()
}

/** Releases all our hosts that are not served now. */
export async function releaseHosts(pass: ClaimingPass & Pick<ClaimPass, 'state'>): Promise<Outcome> {
  const kept = new Set([pass.state.host, ...pass.state.domains])
  return releaseClaims(pass, (value) => !kept.has(value))
}

type RouteObject = KubeObject & { spec: { rules?: { host?: string }[]; hostnames?: string[] } }

/**
 * Releases hosts that the spec gave up and nothing serves, before any step that can stop the pass: the next owner of a
 * domain need not wait until this resource is healthy.
 */
export async function releaseUnserved(
  pass: Omit<ClaimPass, 'state' | 'scope'> & Pick<WorkloadPass, 'children'>,
): Promise<Outcome> {
  const { kind, object, records, workloads, children } = pass
  const clusters = records.cache(PlatformCluster).list()
  // Include the empty domain, so that explicit host names count even without a cluster record.
  const domains = ['', ...clusters.map(({ spec }) => spec.domain)]
  const wanted = domains.flatMap((domain) => wantedHosts(kind.segment, object, domain))
  const ways = [ingress, httpRoute].filter((each) => workloads.isServed(each))
  const served = ways
    .flatMap((each) => children.owned<RouteObject>(each))
    .flatMap(({ spec: { rules = [], hostnames = [] } }) => [...rules.map(({ host }) => host), ...hostnames])
  const kept = new Set([...wanted, ...served])
  return releaseClaims(pass, (value) => !kept.has(value))
}

/** Returns the Gateway's verdict on the route among the written children; undefined without a route. */
export function routeAcceptance(
  gateway: Gateway | undefined,
  written: readonly KubeObject[],
): RouteAcceptance | undefined {
  const route = written.find(({ kind }) => kind === httpRoute.kind)
  return route === undefined || gateway === undefined ? undefined : judgeRoute(route as HttpRoute, gateway)
}

/** Returns undefined if the host is served, or none was requested. */
export function judgeHost(pass: HostedPass): Outcome | undefined {
  const { host, route } = pass.state
  const gateway = gatewayOf(pass)
  if (host === undefined || gateway === undefined) return undefined
  const obstacle = routeObstacle({ host, gateway, ranges: sourceRanges(pass.object.spec.allowedCidrs) })
  if (obstacle !== undefined) return stalled('ConfigurationInvalid', obstacle)
  const name = `Gateway "${gateway.namespace}/${gateway.name}"`
  if (route?.kind === 'refused')
    return stalled('ConfigurationInvalid', `${name} does not accept the route of "${host}": ${route.reason}.`)
  if (route?.kind === 'accepted') return undefined
  return waiting('WaitingForAddress', `${name} has not accepted the route of "${host}" yet.`)
}
