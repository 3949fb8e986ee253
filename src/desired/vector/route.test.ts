import { expect } from 'chai'
import { vectorInput } from '../../../test/make/vector.ts'
import type { KubeObject } from '../../core/object.ts'
import { type HttpRoute, judgeRoute, routeObstacle } from '../workload/host.ts'
import { type VectorInput, vectorAuxiliaryChildren } from './index.ts'

const gateway = { namespace: 'infra', name: 'public' }
const host = 'p.example.org'
const withGateway = (spec: Parameters<typeof vectorInput>[0] = {}, over: Partial<VectorInput> = {}) =>
  vectorInput(spec, { host, gateway, ingressClassName: 'nginx', ...over })

type Loose = KubeObject & { spec: Record<string, unknown> }
const kinds = (input: VectorInput) => vectorAuxiliaryChildren(input).map(({ kind }) => kind)
const specsOf = (input: VectorInput, kind: string) =>
  vectorAuxiliaryChildren(input)
    .filter((object) => object.kind === kind)
    .map(({ spec }) => (spec ?? {}) as Loose['spec'])
const policyFrom = (input: VectorInput) =>
  specsOf(input, 'NetworkPolicy').flatMap(({ ingress }) => (ingress as [{ from: object[] }])[0].from)

describe('HTTPRoute of a VectorCluster', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    ['replaces the Ingress', () => kinds(withGateway()).filter((kind) => /Ingress|Route/.test(kind)), ['HTTPRoute']],
    ['is absent without a host', () => kinds(withGateway({}, { host: undefined })).includes('HTTPRoute'), false],
    ['is absent without a Gateway', () => kinds(withGateway({}, { gateway: undefined })).includes('HTTPRoute'), false],
    [
      'routes the host from the Gateway to the REST port',
      () => specsOf(withGateway(), 'HTTPRoute'),
      [
        {
          parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'infra', name: 'public' }],
          hostnames: [host],
          rules: [
            {
              matches: [{ path: { type: 'PathPrefix', value: '/' } }],
              backendRefs: [{ kind: 'Service', name: 'vc-products', port: 6333 }],
            },
          ],
        },
      ],
    ],
    [
      'names the listener of the Gateway',
      () => {
        const [spec] = specsOf(withGateway({}, { gateway: { ...gateway, sectionName: 'https' } }), 'HTTPRoute')
        return (spec?.parentRefs as { sectionName?: string }[] | undefined)?.[0]?.sectionName
      },
      'https',
    ],
    [
      'allows traffic from the namespaces of the Gateway and of ingress controllers',
      () => policyFrom(withGateway()).slice(2),
      [
        { namespaceSelector: { matchLabels: { 'freehold.dev/ingress-controller': 'true' } } },
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'infra' } } },
      ],
    ],
    ['allows no further traffic without a host', () => policyFrom(withGateway({}, { host: undefined })).length, 2],
    [
      'is absent with allowedCidrs',
      () => kinds(withGateway({ allowedCidrs: '203.0.113.0/24' })).filter((kind) => /Ingress|Route/.test(kind)),
      [],
    ],
    [
      'has an obstacle with allowedCidrs that says what to change',
      () => routeObstacle(withGateway({ allowedCidrs: '203.0.113.0/24' })),
      'allowedCidrs is set, but Gateway "infra/public" cannot restrict a route to it, so "p.example.org" is not served. Leave allowedCidrs out, or set enableIngress to false.',
    ],
    [
      'has no obstacle without allowedCidrs',
      () => [routeObstacle(withGateway()), routeObstacle(withGateway({ allowedCidrs: '' }))],
      [undefined, undefined],
    ],
    [
      'has no obstacle with allowedCidrs and an Ingress',
      () => routeObstacle(withGateway({ allowedCidrs: '203.0.113.0/24' }, { gateway: undefined })),
      undefined,
    ],
  ]
  for (const [sentence, look, expected] of cases) it(sentence, () => expect(look()).to.deep.equal(expected))
})

describe('judgeRoute', () => {
  type Parent = NonNullable<NonNullable<HttpRoute['status']>['parents']>[number]
  const says = (type: string, status: string, reason = type, observedGeneration = 2) => ({
    type,
    status,
    reason,
    observedGeneration,
  })
  const parent = (...conditions: NonNullable<Parent['conditions']>): Parent => ({ parentRef: gateway, conditions })
  const route = (...parents: Parent[]): HttpRoute => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'vc-products', generation: 2 },
    status: { parents },
  })
  const cases: [sentence: string, route: HttpRoute | undefined, expected: object][] = [
    ['returns pending without a route', undefined, { kind: 'pending' }],
    ['returns pending without a status', route(), { kind: 'pending' }],
    ['returns accepted', route(parent(says('Accepted', 'True'), says('ResolvedRefs', 'True'))), { kind: 'accepted' }],
    [
      'returns pending for an acceptance of an older generation',
      route(parent(says('Accepted', 'True', 'Accepted', 1))),
      { kind: 'pending' },
    ],
    [
      'returns pending for a refusal of an older generation',
      route(parent(says('Accepted', 'False', 'NotAllowedByListeners', 1))),
      { kind: 'pending' },
    ],
    [
      'returns refused without a matching listener',
      route(parent(says('Accepted', 'False', 'NoMatchingListenerHostname'))),
      { kind: 'refused', reason: 'NoMatchingListenerHostname' },
    ],
    [
      'returns refused for unresolved references',
      route(parent(says('Accepted', 'True'), says('ResolvedRefs', 'False', 'BackendNotFound'))),
      { kind: 'refused', reason: 'BackendNotFound' },
    ],
    [
      'returns pending for an unknown condition',
      route(parent(says('Accepted', 'Unknown', 'Pending'))),
      { kind: 'pending' },
    ],
    [
      'ignores another listener',
      route({ parentRef: { ...gateway, sectionName: 'http' }, conditions: [says('Accepted', 'True')] }),
      { kind: 'pending' },
    ],
    [
      'ignores another Gateway',
      route({ parentRef: { ...gateway, namespace: 'elsewhere' }, conditions: [says('Accepted', 'False')] }),
      { kind: 'pending' },
    ],
  ]
  for (const [sentence, given, expected] of cases) {
    it(sentence, () => expect(judgeRoute(given, gateway)).to.deep.equal(expected))
  }
})
