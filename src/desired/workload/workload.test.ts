import { expect } from 'chai'
import { type WorkloadInput, workloadInput } from './child.ts'
import { networkPolicy, podDisruptionBudget, publicService, service, servicePort } from './network.ts'
import { restrictedContainer, restrictedPod } from './pod.ts'

const input = (spec: { enableLoadBalancer?: boolean; allowedCidrs?: string } = {}): WorkloadInput<{ job: string }> => {
  const metadata = { name: 'nightly', namespace: 'shop-0123456789' }
  return workloadInput({ kind: 'PlatformJob', metadata, spec }, { job: 'job-nightly' }, 'nightly')
}
const plan = {
  cpuRequest: '100m',
  cpuLimit: '1',
  memoryRequest: '128Mi',
  memoryLimit: '1Gi',
  storageSize: undefined,
  storageClass: '',
  replicas: 1,
}
const ports = [servicePort('http', 80, 8080)]
const rules = (made: { spec: Record<string, unknown> }) => made.spec.ingress

describe('the children that workloads of any kind share', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    [
      'carry the labels of their resource, in its namespace',
      () => service(input(), 'job-nightly', { ports }).metadata,
      {
        name: 'job-nightly',
        namespace: 'shop-0123456789',
        labels: {
          'freehold.dev/owner-kind': 'PlatformJob',
          'freehold.dev/owner-name': 'nightly',
          'app.kubernetes.io/managed-by': 'freehold',
          'app.kubernetes.io/name': 'nightly',
          'app.kubernetes.io/instance': 'nightly',
        },
      },
    ],
    ['are closed to everybody without a port for clients', () => rules(networkPolicy(input(), 'p', {})), []],
    [
      'are not opened to the outside by a load balancer that serves no port',
      () => rules(networkPolicy(input({ enableLoadBalancer: true }), 'p', {})),
      [],
    ],
    [
      'are open to group and platform on the ports for clients',
      () => rules(networkPolicy(input(), 'p', { clientPorts: [8080] })),
      [
        {
          from: [
            { podSelector: {} },
            { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'freehold-system' } } },
          ],
          ports: [{ port: 8080, protocol: 'TCP' }],
        },
      ],
    ],
    ['have no public Service where none is asked for', () => publicService(input(), 'p', { ports }), undefined],
    [
      'bound the public Service by the allowed networks',
      () => {
        const bounded = input({ enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24,2001:db8::/32' })
        return publicService(bounded, 'p', { ports })?.spec.loadBalancerSourceRanges
      },
      ['203.0.113.0/24', '2001:db8::/32'],
    ],
    ['have no disruption budget for one pod', () => podDisruptionBudget(input(), 'p', 1), undefined],
    [
      'keep no node from being drained where they have crashed',
      () => podDisruptionBudget(input(), 'p', 2)?.spec.unhealthyPodEvictionPolicy,
      'AlwaysAllow',
    ],
    [
      'run without volumes: nobody owns them then',
      () => restrictedPod({ user: 1000 }, { containers: [] }),
      {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          runAsGroup: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [],
      },
    ],
    [
      'run as Pod Security demands, on a root file system that cannot be written',
      () => restrictedContainer(plan, { name: 'main', image: 'example.org/nightly:1' }),
      {
        name: 'main',
        image: 'example.org/nightly:1',
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '1Gi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  ]
  for (const [sentence, look, expected] of cases) it(sentence, () => expect(look()).to.deep.equal(expected))
})
