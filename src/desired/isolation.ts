import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'

/** The policies that each namespace of ours has from the start; areas add to what they allow, never to what they close. */
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

/** No pod of ours runs in a boundary's own namespace, so whatever does gets no traffic in either direction. */
export function closedNetworkPolicy(namespace: string): KubeObject {
  return policy(namespace, {})
}

/**
 * Pods of a group hear from their own group and from the platform. Each group closes its own side, which closes the
 * traffic between boundaries. Outwards all is open but the link-local networks, where clouds serve the credentials of
 * nodes, and what the platform is told to close; the name servers are named apart because some network plugins do not match pods by address.
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
      // The second is where a node's own cache of the name service listens.
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
