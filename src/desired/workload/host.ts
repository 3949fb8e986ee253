import { PREFIX } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Gateway } from '../../crds/clusters.ts'
import { type Child, child, type WorkloadInput } from './child.ts'
import { namespaceNamed } from './network.ts'

/** On the namespace of an ingress controller, set by the administrator: its pods may reach what has an Ingress. */
const INGRESS_NAMESPACE_LABEL = `${PREFIX}ingress-controller`

const GROUP = 'gateway.networking.k8s.io'

/** How a proxy leads requests to the copies of a workload. */
export type Traffic = { httpsOnly: boolean; sessionAffinity: boolean; requestTimeoutSeconds: number }

/** How a workload answers under a host of its own, over HTTPS. */
export type Hosted = {
  /** Claimed before; undefined for none. */
  host: string | undefined
  ingressClassName: string | undefined
  /** What takes the place of an Ingress; undefined if the cluster has none, or no type for its routes. */
  gateway: Gateway | undefined
  /** How requests are led there; as the proxy does by itself if absent. */
  traffic?: Traffic | undefined
  /** Further hosts of the caller's own, each with the Secret of its certificate if one is asked for. */
  domains?: readonly { host: string; secretName: string | undefined }[]
}

/** The Service behind the host, which has the name of what leads to it unless it says another one. */
type Backend = { name: string; service?: string; port: { name: string; number: number } }

const NGINX = 'nginx.ingress.kubernetes.io/'
/** From which networks ingress-nginx takes requests. */
export const SOURCE_RANGES_ANNOTATION = `${NGINX}whitelist-source-range`

/** The Ingress standard has no words for these: they are for ingress-nginx. */
function trafficAnnotations({ httpsOnly, sessionAffinity, requestTimeoutSeconds }: Traffic): Record<string, string> {
  return {
    [`${NGINX}force-ssl-redirect`]: String(httpsOnly),
    [`${NGINX}ssl-redirect`]: String(httpsOnly),
    [`${NGINX}proxy-read-timeout`]: String(requestTimeoutSeconds),
    ...(sessionAffinity && { [`${NGINX}affinity`]: 'cookie' }),
  }
}

/**
 * The Ingress of the host; undefined if there is none, or a Gateway serves it. Which clients may use it is not part
 * of the Ingress standard: for ingress-nginx there is an annotation, other controllers need objects of their own.
 */
export function ingress(
  input: WorkloadInput & Hosted,
  { name, service = name, port }: Backend,
): Child<'Ingress'> | undefined {
  const { host, ingressClassName, gateway, ranges, domains = [] } = input
  if (host === undefined || gateway !== undefined) return undefined
  const annotations = {
    ...(ranges && { [SOURCE_RANGES_ANNOTATION]: ranges.join(',') }),
    ...(input.traffic && trafficAnnotations(input.traffic)),
  }
  const backend = { service: { name: service, port: { name: port.name } } }
  return child(
    input,
    { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name, annotations },
    {
      spec: {
        ...(ingressClassName === undefined ? {} : { ingressClassName }),
        // Without a Secret the controller serves its default certificate, which covers the cluster's domain.
        tls: [
          { hosts: [host] },
          ...domains.map((domain) => ({
            hosts: [domain.host],
            ...(domain.secretName !== undefined && { secretName: domain.secretName }),
          })),
        ],
        rules: [host, ...domains.map((domain) => domain.host)].map((each) => ({
          host: each,
          http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
        })),
      },
    },
  )
}

/** Where the pods of whatever serves the host may run, as peers of a network policy. */
export function proxies({ host, gateway }: Hosted): object[] {
  if (host === undefined) return []
  const ingressController = { namespaceSelector: { matchLabels: { [INGRESS_NAMESPACE_LABEL]: 'true' } } }
  return [ingressController, ...(gateway === undefined ? [] : [namespaceNamed(gateway.namespace)])]
}

/** An HTTPRoute as far as we read it. Each parent writes what it makes of the route (Gateway API, RouteStatus). */
export type HttpRoute = KubeObject & {
  status?: {
    parents?: {
      parentRef?: { namespace?: string; name?: string; sectionName?: string }
      conditions?: { type?: string; status?: string; reason?: string; observedGeneration?: number }[]
    }[]
  }
}

/** Why a host is not given to the Gateway; undefined if it may be. */
export function routeObstacle({
  host,
  gateway,
  ranges,
}: Pick<Hosted, 'host' | 'gateway'> & Pick<WorkloadInput, 'ranges'>): string | undefined {
  if (host === undefined || gateway === undefined || ranges === undefined) return undefined
  const name = `"${gateway.namespace}/${gateway.name}"`
  return `allowedCidrs is set, but Gateway ${name} cannot restrict a route to it, so "${host}" is not served. Leave allowedCidrs out, or set enableIngress to false.`
}

/** The route of the host. The Gateway's listener ends TLS, with a certificate of its own. */
export function httpRoute(
  input: WorkloadInput & Hosted,
  { name, service = name, port }: Backend,
): Child<'HTTPRoute'> | undefined {
  const { host, gateway, domains = [] } = input
  if (host === undefined || gateway === undefined || routeObstacle(input) !== undefined) return undefined
  return child(
    input,
    { apiVersion: `${GROUP}/v1`, kind: 'HTTPRoute', name },
    {
      spec: {
        parentRefs: [{ group: GROUP, kind: 'Gateway', ...gateway }],
        hostnames: [host, ...domains.map((domain) => domain.host)],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/' } }],
            backendRefs: [{ kind: 'Service', name: service, port: port.number }],
            ...(input.traffic && { timeouts: { request: `${input.traffic.requestTimeoutSeconds}s` } }),
          },
        ],
      },
    },
  )
}

/** What asks cert-manager for the certificates of the caller's own hosts. */
export function certificates(
  input: WorkloadInput & Pick<Hosted, 'domains'>,
  issuer: string | undefined,
): Child<'Certificate'>[] {
  const issuerRef = { group: 'cert-manager.io', kind: 'ClusterIssuer', name: issuer }
  return (input.domains ?? []).flatMap(({ host, secretName }) => {
    if (secretName === undefined || issuer === undefined) return []
    const identity = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name: secretName } as const
    return [child(input, identity, { spec: { secretName, dnsNames: [host], issuerRef } })]
  })
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
