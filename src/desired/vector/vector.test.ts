import { expect } from 'chai'
import { vectorInput } from '../../../test/make/vector.ts'
import { type VectorInput, vectorAuxiliaryChildren, vectorWorkload } from './index.ts'

const labels = {
  'freehold.dev/owner-kind': 'VectorCluster',
  'freehold.dev/owner-name': 'products',
  'app.kubernetes.io/managed-by': 'freehold',
  'app.kubernetes.io/name': 'qdrant',
  'app.kubernetes.io/instance': 'products',
}
const selector = { 'freehold.dev/owner-kind': 'VectorCluster', 'freehold.dev/owner-name': 'products' }
const metadata = (name: string) => ({ name, namespace: 'search-0123456789', labels })
const rest = { name: 'rest', port: 6333, targetPort: 'rest', protocol: 'TCP' }
const grpc = { name: 'grpc', port: 6334, targetPort: 'grpc', protocol: 'TCP' }
const peer = { name: 'peer', port: 6335, targetPort: 'peer', protocol: 'TCP' }
const clientPorts = [
  { port: 6333, protocol: 'TCP' },
  { port: 6334, protocol: 'TCP' },
]
const platform = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'freehold-system' } } }

type Loose = {
  kind: string
  metadata: { name: string; annotations?: Record<string, string> }
  spec: Record<string, unknown>
}
const all = (input: VectorInput) => vectorAuxiliaryChildren(input) as unknown as Loose[]
const one = (input: VectorInput, kind: string) => all(input).filter((object) => object.kind === kind)

/** The parts of a pod template that the tests read. */
type PodTemplate = {
  metadata: { annotations: Record<string, string> }
  spec: Record<string, unknown> & {
    containers: [Record<string, unknown> & { env: { name: string; valueFrom?: object }[] }]
  }
}
const template = (input: VectorInput) => (vectorWorkload(input).spec as { template: PodTemplate }).template

describe('children of a VectorCluster', () => {
  it('are these beside the workload for one peer of the development plan', () => {
    expect(vectorAuxiliaryChildren(vectorInput())).to.deep.equal([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: metadata('vc-products-config'),
        data: {
          'production.yaml': [
            'log_level: INFO',
            'logger:',
            '  format: json',
            'storage:',
            '  storage_path: /qdrant/storage',
            '  snapshots_path: /qdrant/storage/snapshots',
            'service:',
            '  host: 0.0.0.0',
            '  http_port: 6333',
            '  grpc_port: 6334',
            '  enable_cors: false',
            'cluster:',
            '  enabled: true',
            '  p2p:',
            '    port: 6335',
            'telemetry_disabled: true',
            '',
          ].join('\n'),
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { ...metadata('vcpeers-products'), labels: { ...labels, 'freehold.dev/metrics': 'true' } },
        spec: { selector, clusterIP: 'None', publishNotReadyAddresses: true, ports: [rest, grpc, peer] },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: metadata('vc-products'),
        spec: { selector, type: 'ClusterIP', ports: [rest, grpc] },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: metadata('vc-products'),
        spec: {
          podSelector: { matchLabels: selector },
          policyTypes: ['Ingress'],
          ingress: [
            { from: [{ podSelector: {} }, platform], ports: clientPorts },
            { from: [{ podSelector: { matchLabels: selector } }], ports: [{ port: 6335, protocol: 'TCP' }] },
            {
              from: [{ namespaceSelector: { matchLabels: { 'freehold.dev/metrics-reader': 'true' } } }],
              ports: [{ port: 6333, protocol: 'TCP' }],
            },
          ],
        },
      },
    ])
  })

  it('include this StatefulSet for three peers', () => {
    const secret = (name: string, key: string) => ({
      name,
      valueFrom: { secretKeyRef: { name: 'vc-products-apikey', key } },
    })
    const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
      httpGet: { path, port: 'rest' },
      periodSeconds,
      failureThreshold,
      timeoutSeconds: 3,
    })
    const spread = (topologyKey: string) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: selector },
    })
    const input = vectorInput({ computePlan: 'vector-medium', vectorVersion: '1.16.3', storageClass: 'fast' })
    const { annotations } = template(input).metadata
    expect(annotations['freehold.dev/config']).to.match(/^[0-9a-f]{16}$/)
    expect(vectorWorkload(input)).to.deep.equal({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { ...metadata('vc-products'), annotations: { 'freehold.dev/storage-size': '50Gi' } },
      spec: {
        replicas: 3,
        serviceName: 'vcpeers-products',
        selector: { matchLabels: selector },
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        revisionHistoryLimit: 5,
        template: {
          metadata: { labels, annotations: { ...annotations, 'freehold.dev/api-key-id': 'k1' } },
          spec: {
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            terminationGracePeriodSeconds: 60,
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 1000,
              runAsGroup: 1000,
              fsGroup: 3000,
              fsGroupChangePolicy: 'OnRootMismatch',
              seccompProfile: { type: 'RuntimeDefault' },
            },
            topologySpreadConstraints: [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')],
            containers: [
              {
                name: 'qdrant',
                image: 'docker.io/qdrant/qdrant:v1.16.3-unprivileged',
                command: ['/bin/sh', '-c'],
                args: [
                  [
                    'URI="http://$POD_NAME.vcpeers-products:6335"',
                    `if [ "\${POD_NAME##*-}" = 0 ]; then exec ./entrypoint.sh --uri "$URI"; fi`,
                    'exec ./entrypoint.sh --bootstrap "http://vc-products-0.vcpeers-products:6335" --uri "$URI"',
                    '',
                  ].join('\n'),
                ],
                env: [
                  { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
                  { name: 'QDRANT_INIT_FILE_PATH', value: '/qdrant/init/.qdrant-initialized' },
                  secret('QDRANT__SERVICE__API_KEY', 'api-key.v1'),
                  secret('QDRANT__SERVICE__READ_ONLY_API_KEY', 'read-only-api-key.v1'),
                ],
                ports: [
                  { name: 'rest', containerPort: 6333, protocol: 'TCP' },
                  { name: 'grpc', containerPort: 6334, protocol: 'TCP' },
                  { name: 'peer', containerPort: 6335, protocol: 'TCP' },
                ],
                startupProbe: probe('/livez', 5, 720),
                livenessProbe: probe('/livez', 10, 6),
                readinessProbe: probe('/readyz', 5, 3),
                resources: { requests: { cpu: '1', memory: '4Gi' }, limits: { cpu: '2', memory: '4Gi' } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  runAsNonRoot: true,
                  capabilities: { drop: ['ALL'] },
                },
                volumeMounts: [
                  { name: 'storage', mountPath: '/qdrant/storage' },
                  {
                    name: 'config',
                    mountPath: '/qdrant/config/production.yaml',
                    subPath: 'production.yaml',
                    readOnly: true,
                  },
                  { name: 'init', mountPath: '/qdrant/init' },
                  { name: 'tmp', mountPath: '/tmp' },
                ],
              },
            ],
            volumes: [
              { name: 'config', configMap: { name: 'vc-products-config' } },
              { name: 'init', emptyDir: {} },
              { name: 'tmp', emptyDir: {} },
            ],
          },
        },
        volumeClaimTemplates: [
          {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            metadata: {
              name: 'storage',
              labels,
              annotations: { 'freehold.dev/incarnation-of-owner': 'incarnation-products' },
            },
            spec: {
              accessModes: ['ReadWriteOnce'],
              storageClassName: 'fast',
              resources: { requests: { storage: '50Gi' } },
              volumeMode: 'Filesystem',
            },
          },
        ],
      },
    })
  })
})

describe('options of a VectorCluster', () => {
  const env = (input: VectorInput) => template(input).spec.containers[0].env.map(({ name }) => name)
  const policyFrom = (input: VectorInput) =>
    one(input, 'NetworkPolicy').flatMap(({ spec }) => (spec.ingress as [{ from: object[] }])[0].from)
  const cidrs = '203.0.113.0/24,2001:db8::/32'

  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    ['include no PodDisruptionBudget for one peer', () => one(vectorInput(), 'PodDisruptionBudget'), []],
    [
      'allow one of three peers to be unavailable',
      () => one(vectorInput({ computePlan: 'vector-medium' }), 'PodDisruptionBudget').map(({ spec }) => spec),
      [{ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels: selector } }],
    ],
    ['run no peer while stopped', () => vectorWorkload(vectorInput({}, { peers: 0 })).spec.replicas, 0],
    [
      'set no key variables without keys',
      () => env(vectorInput({}, { keys: undefined })),
      ['POD_NAME', 'QDRANT_INIT_FILE_PATH'],
    ],
    [
      'set a third variable and both key ids for an alternative key',
      () => {
        const input = vectorInput(
          {},
          { keys: { main: { version: 2, id: 'k2' }, alternative: { version: 1, id: 'k1' } } },
        )
        return [env(input).slice(2), template(input).metadata.annotations['freehold.dev/api-key-id']]
      },
      [['QDRANT__SERVICE__API_KEY', 'QDRANT__SERVICE__READ_ONLY_API_KEY', 'QDRANT__SERVICE__ALT_API_KEY'], 'k2 k1'],
    ],
    [
      'set the restart annotation of pods',
      () =>
        template(vectorInput({ restartedAt: '2026-11-02T00:00:00Z' })).metadata.annotations[
          'freehold.dev/restarted-at'
        ],
      '2026-11-02T00:00:00Z',
    ],
    [
      'use imageName unchanged',
      () => template(vectorInput({ imageName: 'registry.example.org/qdrant:mine' })).spec.containers[0].image,
      'registry.example.org/qdrant:mine',
    ],
    ['include no Ingress without a claimed host', () => one(vectorInput({ enableIngress: true }), 'Ingress'), []],
    [
      'route the host to the REST port over TLS',
      () =>
        one(vectorInput({}, { host: 'p.example.org', ingressClassName: 'nginx' }), 'Ingress').map(({ spec }) => spec),
      [
        {
          ingressClassName: 'nginx',
          tls: [{ hosts: ['p.example.org'] }],
          rules: [
            {
              host: 'p.example.org',
              http: {
                paths: [
                  {
                    path: '/',
                    pathType: 'Prefix',
                    backend: { service: { name: 'vc-products', port: { name: 'rest' } } },
                  },
                ],
              },
            },
          ],
        },
      ],
    ],
    [
      'set the annotation of the Ingress for allowedCidrs',
      () => one(vectorInput({ allowedCidrs: cidrs }, { host: 'p.example.org' }), 'Ingress')[0]?.metadata.annotations,
      { 'nginx.ingress.kubernetes.io/whitelist-source-range': cidrs },
    ],
    [
      'allow traffic from the namespace of the ingress controller',
      () => policyFrom(vectorInput({}, { host: 'p.example.org' })).at(-1),
      { namespaceSelector: { matchLabels: { 'freehold.dev/ingress-controller': 'true' } } },
    ],
    [
      'add a public Service for a load balancer',
      () =>
        one(vectorInput({ enableLoadBalancer: true }), 'Service').map((service) => [
          service.metadata.name,
          service.spec.type,
        ]),
      [
        ['vcpeers-products', undefined],
        ['vc-products', 'ClusterIP'],
        ['vcpublic-products', 'LoadBalancer'],
      ],
    ],
    [
      'allow traffic from all addresses for a load balancer without allowedCidrs',
      () => policyFrom(vectorInput({ enableLoadBalancer: true })).slice(2),
      [{ ipBlock: { cidr: '0.0.0.0/0' } }, { ipBlock: { cidr: '::/0' } }],
    ],
    [
      'limit load balancer and NetworkPolicy to allowedCidrs',
      () => {
        const input = vectorInput({ enableLoadBalancer: true, allowedCidrs: cidrs })
        return [one(input, 'Service').at(-1)?.spec.loadBalancerSourceRanges, policyFrom(input).slice(2)]
      },
      [
        ['203.0.113.0/24', '2001:db8::/32'],
        [{ ipBlock: { cidr: '203.0.113.0/24' } }, { ipBlock: { cidr: '2001:db8::/32' } }],
      ],
    ],
    [
      'allow no traffic for allowedCidrs without a load balancer',
      () => policyFrom(vectorInput({ allowedCidrs: cidrs })),
      [{ podSelector: {} }, platform],
    ],
    [
      'omit the default storage class',
      () => Object.keys((vectorWorkload(vectorInput()).spec.volumeClaimTemplates as [{ spec: object }])[0].spec),
      ['accessModes', 'resources', 'volumeMode'],
    ],
  ]
  for (const [sentence, look, expected] of cases) it(sentence, () => expect(look()).to.deep.equal(expected))

  it('build equal objects from equal inputs', () => {
    expect(vectorAuxiliaryChildren(vectorInput())).to.deep.equal(vectorAuxiliaryChildren(vectorInput()))
    expect(vectorWorkload(vectorInput())).to.deep.equal(vectorWorkload(vectorInput()))
  })
})
