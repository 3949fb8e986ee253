import { sourceRanges } from '../../core/cidr.ts'
import { type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { type Gateway, PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { type HttpRoute, judgeRoute, type RouteVerdict, routeObstacle } from '../../desired/workload/host.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Observed } from '../engine/controller.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import type { ClaimObject } from '../nameClaims.ts'
import { gatewayOf } from './home.ts'
import type { WorkloadPass, WorkloadState } from './pass.ts'

type HostedPass = Pick<WorkloadPass, 'workloads'> & {
  readonly object: { readonly spec: { readonly allowedCidrs?: string | undefined } }
  readonly state: WorkloadState & { readonly host: string | undefined; readonly route: RouteVerdict | undefined }
}

/**
 * Wakes the holder of a claimed host, and whoever waits for the host to become free.
 *
 * @param hostsOf the hosts that an object asks for below the domain of a cluster
 */
export function hostObserver<Stored extends KubeObject>(
  kind: AnyKind,
  hostsOf: (object: Stored, domain: string) => readonly (string | undefined)[],
): Observed {
  return {
    resource: NameClaim.resource,
    keysOf: (object, records) => {
      const { value, holder } = (object as ClaimObject).spec
      const waiting = records.cache<Stored>(kind.resource).byIndex(PHASE_INDEX, 'NameOccupied')
      const domains = records.cache<PlatformCluster & { [key: string]: unknown }>(PlatformCluster.resource).list()
      const wants = waiting.filter((each) => domains.some(({ spec }) => hostsOf(each, spec.domain).includes(value)))
      return [...(holder.kind === kind.kind ? [objectKey(holder.namespace, holder.name)] : []), ...wants.map(keyOf)]
    },
  }
}

/** What the Gateway says of the route among the children that were written; undefined if there is none. */
export function routeVerdict(gateway: Gateway | undefined, written: readonly KubeObject[]): RouteVerdict | undefined {
  const route = written.find(({ kind }) => kind === httpRoute.kind)
  return route === undefined || gateway === undefined ? undefined : judgeRoute(route as HttpRoute, gateway)
}

/** Undefined if the host is served, or none was asked for. */
export function judgeHost(pass: HostedPass): Outcome | undefined {
  const { host, route } = pass.state
  const gateway = gatewayOf(pass)
  if (host === undefined || gateway === undefined) return undefined
  const obstacle = routeObstacle({ host, gateway, ranges: sourceRanges(pass.object.spec.allowedCidrs) })
  if (obstacle !== undefined) return stalled('ConfigurationInvalid', obstacle)
  const name = `Gateway "${gateway.namespace}/${gateway.name}"`
  if (route?.kind === 'refused')
    return stalled('ConfigurationInvalid', `${name} does not take the route of "${host}": ${route.reason}.`)
  if (route?.kind === 'accepted') return undefined
  return waiting('WaitingForAddress', `${name} has not taken the route of "${host}" yet.`)
}
