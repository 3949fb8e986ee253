import { sourceRanges, VECTOR_PORTS, vectorNames } from '../../contracts/vector.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Gateway } from '../../crds/clusters.ts'
import { metadataOf } from './metadata.ts'
import type { WithSpec } from './network.ts'
import type { Child, VectorInput } from './types.ts'

const GROUP = 'gateway.networking.k8s.io'

/** An HTTPRoute as far as we read it. Each parent writes what it makes of the route (Gateway API, RouteStatus). */
export type HttpRoute = KubeObject & {
  status?: {
    parents?: {
      parentRef?: { namespace?: string; name?: string; sectionName?: string }
      conditions?: { type?: string; status?: string; reason?: string; observedGeneration?: number }[]
    }[]
  }
}

const nameOf = ({ namespace, name }: Gateway) => `"${namespace}/${name}"`

/** Why a host is not given to the Gateway; undefined where it may be. */
export function routeObstacle({
  cluster,
  host,
  gateway,
}: Pick<VectorInput, 'cluster' | 'host' | 'gateway'>): string | undefined {
  const isBounded = sourceRanges(cluster.spec.allowedCidrs) !== undefined
  if (host === undefined || gateway === undefined || !isBounded) return undefined
  return `allowedCidrs is set, and a route of Gateway ${nameOf(gateway)} cannot be bounded by it, so "${host}" is not served. Leave allowedCidrs out, or set enableIngress to false.`
}

/** The route of the REST port. The Gateway's listener ends TLS, with a certificate of its own. */
export function httpRoute(input: VectorInput): Child<'HTTPRoute', WithSpec> | undefined {
  const { host, gateway } = input
  if (host === undefined || gateway === undefined || routeObstacle(input) !== undefined) return undefined
  const { workload } = vectorNames(input.cluster.metadata.name)
  return {
    apiVersion: `${GROUP}/v1`,
    kind: 'HTTPRoute',
    metadata: metadataOf(input, workload),
    spec: {
      parentRefs: [{ group: GROUP, kind: 'Gateway', ...gateway }],
      hostnames: [host],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ kind: 'Service', name: workload, port: VECTOR_PORTS.rest }],
        },
      ],
    },
  }
}

/** What the Gateway makes of the route. A refusal carries its reason word; its message may hold anything. */
export type RouteVerdict = { kind: 'accepted' } | { kind: 'pending' } | { kind: 'refused'; reason: string }

/**
 * Judges a route by what its parent wrote of the newest generation: `Accepted` says that a listener takes the host,
 * `ResolvedRefs` that the Service was found.
 */
export function judgeRoute(route: HttpRoute | undefined, gateway: Gateway): RouteVerdict {
  const generation = route?.metadata.generation ?? 1
  const ours = (route?.status?.parents ?? []).filter(
    ({ parentRef }) =>
      parentRef?.name === gateway.name &&
      parentRef.namespace === gateway.namespace &&
      parentRef.sectionName === gateway.sectionName,
  )
  const judged = ours
    .flatMap(({ conditions = [] }) => conditions)
    .filter(({ type, observedGeneration = generation }) => {
      return (type === 'Accepted' || type === 'ResolvedRefs') && observedGeneration >= generation
    })
  const refusal = judged.find(({ status }) => status === 'False')
  if (refusal !== undefined) return { kind: 'refused', reason: refusal.reason ?? 'Refused' }
  const isAccepted = judged.some(({ type, status }) => type === 'Accepted' && status === 'True')
  return { kind: isAccepted ? 'accepted' : 'pending' }
}
