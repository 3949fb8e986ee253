import { buildLabels } from '../../contracts/builds/labels.ts'
import type { BuildRequest, BuildSettings } from '../../contracts/builds/request.ts'
import type { Network } from '../../contracts/networks.ts'
import type { KubeObject } from '../../core/object.ts'
import { child } from '../workload/child.ts'
import { ALLOW_DNS, allowEgress } from '../workload/network.ts'

/**
 * Returns the network policy of a build: no ingress, and egress to DNS, the networks that the administrator allowed and
 * the host of its source. The namespace denies everything by default, so nothing is open before this policy exists.
 */
export function buildNetworkPolicy(
  place: { namespace: string; labels: Readonly<Record<string, string>> },
  name: string,
  request: BuildRequest,
  { networks }: BuildSettings,
): KubeObject {
  const { source } = request
  const own = source.kind === 'Git' ? hostNetworks(source) : []
  return child(
    place,
    { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name },
    {
      spec: {
        podSelector: { matchLabels: buildLabels(request) },
        policyTypes: ['Ingress', 'Egress'],
        egress: [ALLOW_DNS, ...[...networks, ...own].map(allowEgress)],
      },
    },
  )
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80, 'ssh:': 22 }

function hostNetworks({ url, hostAddresses = [] }: Extract<BuildRequest['source'], { kind: 'Git' }>): Network[] {
  const { protocol, port } = new URL(url)
  const ports = [port === '' ? (DEFAULT_PORTS[protocol] ?? 443) : Number(port)]
  return hostAddresses.map((address) => ({ cidr: `${address}/${address.includes(':') ? 128 : 32}`, ports }))
}
