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

describe('shared children of workloads', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    [
      'have the labels and namespace of their resource',
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
    ['allow no ingress without a client port', () => rules(networkPolicy(input(), 'p', {})), []],
    [
      'allow no ingress for a load balancer without a client port',
      () => rules(networkPolicy(input({ enableLoadBalancer: true }), 'p', {})),
      [],
    ],
    [
      'allow ingress from group and platform to client ports',
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
    ['include no public Service by default', () => publicService(input(), 'p', { ports }), undefined],
    [
      'limit the public Service to allowedCidrs',
      () => {
        const bounded = input({ enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24,2001:db8::/32' })
        return publicService(bounded, 'p', { ports })?.spec.loadBalancerSourceRanges
      },
      ['203.0.113.0/24', '2001:db8::/32'],
    ],
    ['include no PodDisruptionBudget for one pod', () => podDisruptionBudget(input(), 'p', 1), undefined],
    [
      'allow eviction of unhealthy pods',
      () => podDisruptionBudget(input(), 'p', 2)?.spec.unhealthyPodEvictionPolicy,
      'AlwaysAllow',
    ],
    [
      'set no fsGroup without volumes',
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
      'run containers restricted with a read-only root file system',
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
