import { expect } from 'chai'
import { type WorkloadInput, workloadInput } from './child.ts'
import {
  allowIngress,
  allowMetrics,
  networkPolicy,
  podDisruptionBudget,
  publicService,
  service,
  servicePort,
} from './network.ts'
import { deployment, probes, resourcesOf, restrictedContainer, restrictedPod, statefulSet } from './pod.ts'

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
const LABELS = {
  'freehold.dev/owner-kind': 'PlatformJob',
  'freehold.dev/owner-name': 'nightly',
  'app.kubernetes.io/managed-by': 'freehold',
  'app.kubernetes.io/name': 'nightly',
  'app.kubernetes.io/instance': 'nightly',
}
const SELECTOR = { 'freehold.dev/owner-kind': 'PlatformJob', 'freehold.dev/owner-name': 'nightly' }
const metadata = (name: string) => ({ name, namespace: 'shop-0123456789', labels: LABELS })
const peer = (namespace: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
})
const rules = (made: { spec: Record<string, unknown> }) => made.spec.ingress

describe('shared children of workloads', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    [
      'have the labels and namespace of their resource',
      () => service(input(), 'job-nightly', { ports }, { tier: 'front' }),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { ...metadata('job-nightly'), labels: { ...LABELS, tier: 'front' } },
        spec: { selector: SELECTOR, ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }] },
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
          from: [{ podSelector: {} }, peer('freehold-system')],
          ports: [{ port: 8080, protocol: 'TCP' }],
        },
      ],
    ],
    [
      'allow ingress to other ports by rules of their own, and egress to named networks only',
      () =>
        networkPolicy(input({ enableLoadBalancer: true, allowedCidrs: '203.0.113.0/24' }), 'p', {
          clientPorts: [8080],
          clients: [peer('front')],
          rules: [allowIngress([peer('peers')], [7000]), allowMetrics(9090)],
          networks: [{ cidr: '10.0.0.0/8', except: ['10.96.0.0/12'], ports: [443, 5000] }, { cidr: '::/0' }],
        }),
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: metadata('p'),
        spec: {
          podSelector: { matchLabels: SELECTOR },
          policyTypes: ['Ingress', 'Egress'],
          ingress: [
            {
              from: [
                { podSelector: {} },
                peer('freehold-system'),
                peer('front'),
                { ipBlock: { cidr: '203.0.113.0/24' } },
              ],
              ports: [{ port: 8080, protocol: 'TCP' }],
            },
            { from: [peer('peers')], ports: [{ port: 7000, protocol: 'TCP' }] },
            {
              from: [{ namespaceSelector: { matchLabels: { 'freehold.dev/metrics-reader': 'true' } } }],
              ports: [{ port: 9090, protocol: 'TCP' }],
            },
          ],
          egress: [
            {
              to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.96.0.0/12'] } }],
              ports: [
                { port: 443, protocol: 'TCP' },
                { port: 5000, protocol: 'TCP' },
              ],
            },
            { to: [{ ipBlock: { cidr: '::/0' } }] },
          ],
        },
      },
    ],
    [
      'leave egress alone without named networks',
      () =>
        networkPolicy(input({ enableLoadBalancer: true }), 'p', { selector: { role: 'proxy' }, clientPorts: [80] })
          .spec,
      {
        podSelector: { matchLabels: { role: 'proxy' } },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [
              { podSelector: {} },
              peer('freehold-system'),
              { ipBlock: { cidr: '0.0.0.0/0' } },
              { ipBlock: { cidr: '::/0' } },
            ],
            ports: [{ port: 80, protocol: 'TCP' }],
          },
        ],
      },
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
    [
      'keep the address of clients at the public Service',
      () => publicService(input({ enableLoadBalancer: true }), 'p', { ports }),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: metadata('p'),
        spec: { selector: SELECTOR, type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports },
      },
    ],
    ['include no PodDisruptionBudget for one pod', () => podDisruptionBudget(input(), 'p', 1), undefined],
    [
      'allow one disruption at a time, and eviction of unhealthy pods',
      () => podDisruptionBudget(input(), 'p', 2),
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: metadata('p'),
        spec: {
          maxUnavailable: 1,
          unhealthyPodEvictionPolicy: 'AlwaysAllow',
          selector: { matchLabels: SELECTOR },
        },
      },
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
    [
      'give volumes to the group of the pod, without a change of their files at every start',
      () => restrictedPod({ fsGroup: 2000 }, { containers: [] }).securityContext,
      {
        runAsNonRoot: true,
        fsGroup: 2000,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
    ],
    [
      'let a container write to its root file system only if its image does',
      () => restrictedContainer(plan, { name: 'main', image: 'a:1' }, { writesToRoot: true }).securityContext,
      {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: false,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
      },
    ],
    [
      'bound the local disk of a container',
      () => resourcesOf(plan, { limit: '4Gi', request: '128Mi' }),
      {
        requests: { cpu: '100m', memory: '128Mi', 'ephemeral-storage': '128Mi' },
        limits: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '4Gi' },
      },
    ],
    [
      'give an engine an hour to open its port',
      () => probes({ exec: 'a' }, { exec: 'b' }),
      {
        startupProbe: { exec: 'a', periodSeconds: 5, failureThreshold: 720, timeoutSeconds: 3 },
        livenessProbe: { exec: 'a', periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 3 },
        readinessProbe: { exec: 'b', periodSeconds: 5, failureThreshold: 3, timeoutSeconds: 3 },
      },
    ],
    [
      'replace no pod of a Deployment before the next one is ready',
      () => deployment(input(), { name: 'd', replicas: 2, labels: { a: 'b' }, annotations: { c: 'd' }, pod: {} }),
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { ...metadata('d'), labels: { ...LABELS, a: 'b' } },
        spec: {
          replicas: 2,
          selector: { matchLabels: SELECTOR },
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
          progressDeadlineSeconds: 600,
          revisionHistoryLimit: 1,
          template: { metadata: { labels: { ...LABELS, a: 'b' }, annotations: { c: 'd' } }, spec: {} },
        },
      },
    ],
    [
      'keep the volumes of a StatefulSet whatever is deleted or scaled',
      () => {
        const own = { ...input(), names: { workload: 'w', peers: 'w-peers' }, incarnation: 'first' }
        const stored = { ...plan, storageSize: '10Gi', storageClass: 'fast' }
        return statefulSet({ ...own, plan: stored }, { replicas: 3, annotations: { c: 'd' }, pod: {} })
      },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { ...metadata('w'), annotations: { 'freehold.dev/storage-size': '10Gi' } },
        spec: {
          replicas: 3,
          serviceName: 'w-peers',
          selector: { matchLabels: SELECTOR },
          podManagementPolicy: 'Parallel',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
          revisionHistoryLimit: 5,
          template: { metadata: { labels: LABELS, annotations: { c: 'd' } }, spec: {} },
          volumeClaimTemplates: [
            {
              apiVersion: 'v1',
              kind: 'PersistentVolumeClaim',
              metadata: {
                name: 'storage',
                labels: LABELS,
                annotations: { 'freehold.dev/incarnation-of-owner': 'first' },
              },
              spec: {
                accessModes: ['ReadWriteOnce'],
                storageClassName: 'fast',
                resources: { requests: { storage: '10Gi' } },
                volumeMode: 'Filesystem',
              },
            },
          ],
        },
      },
    ],
  ]
  for (const [sentence, look, expected] of cases) it(sentence, () => expect(look()).to.deep.equal(expected))
})
