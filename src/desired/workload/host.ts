import { PREFIX } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Gateway } from '../../crds/clusters.ts'
import { type Child, child, type WorkloadInput } from './child.ts'
import { namespacePeer } from './network.ts'

/** Administrators set it on the namespace of an ingress controller, to let its pods reach what has an Ingress. */
const INGRESS_NAMESPACE_LABEL = `${PREFIX}ingress-controller`

const GROUP = 'gateway.networking.k8s.io'

/** How a proxy treats requests to a workload. */
export type Traffic = { httpsOnly: boolean; sessionAffinity: boolean; requestTimeoutSeconds: number }

/** How a workload is exposed over HTTPS under its own host. */
export type Hosted = {
  /** A claimed host name; undefined for none. */
  host: string | undefined
  ingressClassName: string | undefined
  /** Used instead of an Ingress; undefined if the cluster has no Gateway or no route types. */
  gateway: Gateway | undefined
  /** Traffic settings; the proxy's defaults if absent. */
  traffic?: Traffic | undefined
  /** Custom domains, each with the Secret of its certificate if one is requested. */
  domains?: readonly { host: string; secretName: string | undefined }[]
}

/** The Service behind the host. `service` defaults to `name`, the name of the Ingress or route. */
type Backend = { name: string; service?: string; port: { name: string; number: number } }

const NGINX = 'nginx.ingress.kubernetes.io/'
/** Networks from which ingress-nginx accepts requests. */
export const SOURCE_RANGES_ANNOTATION = `${NGINX}whitelist-source-range`

/** The Ingress API has no fields for these, so they are annotations of ingress-nginx. */
function trafficAnnotations({ httpsOnly, sessionAffinity, requestTimeoutSeconds }: Traffic): Record<string, string> {
  return {
    [`${NGINX}force-ssl-redirect`]: String(httpsOnly),
    [`${NGINX}ssl-redirect`]: String(httpsOnly),
    [`${NGINX}proxy-read-timeout`]: String(requestTimeoutSeconds),
    ...(sessionAffinity && { [`${NGINX}affinity`]: 'cookie' }),
  }
}

/**
 * The Ingress of the host; undefined without a host or if a Gateway serves it. Client networks are not part of the
 * Ingress API: ingress-nginx has an annotation for them, other controllers need their own objects.
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
        // Without a Secret, the controller serves its default certificate, which covers the cluster's domain.
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

/** Returns the network policy peers of the proxies that may serve the host. */
export function proxyPeers({ host, gateway }: Hosted): object[] {
  if (host === undefined) return []
  const ingressController = { namespaceSelector: { matchLabels: { [INGRESS_NAMESPACE_LABEL]: 'true' } } }
  return [ingressController, ...(gateway === undefined ? [] : [namespacePeer(gateway.namespace)])]
}

/** The fields of an HTTPRoute that are read. Each parent writes its own status (Gateway API, RouteStatus). */
export type HttpRoute = KubeObject & {
  status?: {
    parents?: {
      parentRef?: { namespace?: string; name?: string; sectionName?: string }
      conditions?: { type?: string; status?: string; reason?: string; observedGeneration?: number }[]
    }[]
  }
}

/** Returns why a host cannot be served by the Gateway; undefined if it can. */
export function routeObstacle({
  host,
  gateway,
  ranges,
}: Pick<Hosted, 'host' | 'gateway'> & Pick<WorkloadInput, 'ranges'>): string | undefined {
  if (host === undefined || gateway === undefined || ranges === undefined) return undefined
  const name = `"${gateway.namespace}/${gateway.name}"`
  return `allowedCidrs is set, but Gateway ${name} cannot restrict a route to it, so "${host}" is not served. Leave allowedCidrs out, or set enableIngress to false.`
}

/** The route of the host. The Gateway's listener terminates TLS with its own certificate. */
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

/** Requests certificates for the custom domains from cert-manager. */
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

/** The Gateway's verdict on a route: with the refusal's reason, but not its message, which may contain anything. */
export type RouteAcceptance = { kind: 'accepted' } | { kind: 'pending' } | { kind: 'refused'; reason: string }

/**
 * Judges a route by its parent's conditions for the newest generation: `Accepted` means that a listener takes the host,
 * `ResolvedRefs` that the Service was found.
 */
export function judgeRoute(route: HttpRoute | undefined, gateway: Gateway): RouteAcceptance {
  const generation = route?.metadata.generation ?? 1
  const ours = (route?.status?.parents ?? []).filter(
    ({ parentRef }) =>
      parentRef?.name === gateway.name &&
      parentRef.namespace === gateway.namespace &&
      parentRef.sectionName === gateway.sectionName,
  )
  const current = ours
    .flatMap(({ conditions = [] }) => conditions)
    .filter(({ type, observedGeneration = generation }) => {
      return (type === 'Accepted' || type === 'ResolvedRefs') && observedGeneration >= generation
    })
  const refusal = current.find(({ status }) => status === 'False')
  if (refusal !== undefined) return { kind: 'refused', reason: refusal.reason ?? 'Refused' }
  const isAccepted = current.some(({ type, status }) => type === 'Accepted' && status === 'True')
  return { kind: isAccepted ? 'accepted' : 'pending' }
}
