import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'

/** The default policy of each of our namespaces. Areas allow more traffic by further policies, but cannot deny any. */
const POLICY_NAME = 'freehold-default'

const namespaceNamed = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

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
  const closedIn = (isWanted: (cidr: string) => boolean) => closed.filter(isWanted)
  const dns = [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ]
  return policy(namespace, {
    ingress: [{ from: [{ podSelector: {} }, namespaceNamed(SYSTEM_NAMESPACE)] }],
    egress: [
      { to: [{ podSelector: {} }, namespaceNamed(SYSTEM_NAMESPACE)] },
      // The address is that of NodeLocal DNSCache.
      { to: [namespaceNamed('kube-system'), { ipBlock: { cidr: '169.254.20.10/32' } }], ports: dns },
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', ...closedIn((cidr) => !cidr.includes(':'))] } },
          {
            ipBlock: {
              cidr: '::/0',
              except: ['fe80::/10', 'fd00:ec2::254/128', ...closedIn((cidr) => cidr.includes(':'))],
            },
          },
        ],
      },
    ],
  })
}
