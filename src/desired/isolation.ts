import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { ALLOW_DNS, namespacePeer, outsidePeers } from './workload/network.ts'

/** The default policy of each of our namespaces. Areas allow more traffic by further policies, but cannot deny any. */
const POLICY_NAME = 'freehold-default'

function policy(namespace: string, spec: object): KubeObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: POLICY_NAME, namespace },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ...spec },
  }
}

/** Denies all traffic in a boundary's own namespace: none of our pods runs there. */
export function closedNetworkPolicy(namespace: string): KubeObject {
  return policy(namespace, {})
}

/**
 * Group pods accept traffic from their own group and the platform; as every group does so, boundaries are isolated.
 * Egress is open except for link-local networks, where clouds serve node credentials, and networks that the
 * configuration closes. DNS servers are listed separately because some network plugins do not match pods by address.
 */
export function groupNetworkPolicy(namespace: string, closed: readonly string[] = []): KubeObject {
  return policy(namespace, {
    ingress: [{ from: [{ podSelector: {} }, namespacePeer(SYSTEM_NAMESPACE)] }],
    egress: [{ to: [{ podSelector: {} }, namespacePeer(SYSTEM_NAMESPACE)] }, ALLOW_DNS, { to: outsidePeers(closed) }],
  })
}
