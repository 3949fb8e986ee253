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

describe('the route of a vector database', () => {
  const cases: [sentence: string, look: () => unknown, expected: unknown][] = [
    [
      'takes the place of the Ingress',
      () => kinds(withGateway()).filter((kind) => /Ingress|Route/.test(kind)),
      ['HTTPRoute'],
    ],
    ['is not made without a host', () => kinds(withGateway({}, { host: undefined })).includes('HTTPRoute'), false],
    [
      'is not made without a Gateway',
      () => kinds(withGateway({}, { gateway: undefined })).includes('HTTPRoute'),
      false,
    ],
    [
      'leads the host from the Gateway to the REST port',
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
      'names the listener where the cluster does',
      () => {
        const [spec] = specsOf(withGateway({}, { gateway: { ...gateway, sectionName: 'https' } }), 'HTTPRoute')
        return (spec?.parentRefs as { sectionName?: string }[] | undefined)?.[0]?.sectionName
      },
      'https',
    ],
    [
      'lets the namespace of the Gateway through the policy, and those that an administrator named',
      () => policyFrom(withGateway()).slice(2),
      [
        { namespaceSelector: { matchLabels: { 'freehold.dev/ingress-controller': 'true' } } },
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'infra' } } },
      ],
    ],
    ['opens nothing without a host', () => policyFrom(withGateway({}, { host: undefined })).length, 2],
    [
      'is not made where networks are named that it cannot hold to',
      () => kinds(withGateway({ allowedCidrs: '203.0.113.0/24' })).filter((kind) => /Ingress|Route/.test(kind)),
      [],
    ],
    [
      'and says so, with what to do',
      () => routeObstacle(withGateway({ allowedCidrs: '203.0.113.0/24' })),
      'allowedCidrs is set, but Gateway "infra/public" cannot restrict a route to it, so "p.example.org" is not served. Leave allowedCidrs out, or set enableIngress to false.',
    ],
    [
      'has no obstacle where all networks may use it',
      () => [routeObstacle(withGateway()), routeObstacle(withGateway({ allowedCidrs: '' }))],
      [undefined, undefined],
    ],
    [
      'nor where an Ingress serves the host',
      () => routeObstacle(withGateway({ allowedCidrs: '203.0.113.0/24' }, { gateway: undefined })),
      undefined,
    ],
  ]
  for (const [sentence, look, expected] of cases) it(sentence, () => expect(look()).to.deep.equal(expected))
})

describe('what a Gateway says of a route', () => {
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
    ['nothing of one that is not there', undefined, { kind: 'pending' }],
    ['nothing before it looked', route(), { kind: 'pending' }],
    [
      'that it has taken it',
      route(parent(says('Accepted', 'True'), says('ResolvedRefs', 'True'))),
      { kind: 'accepted' },
    ],
    [
      'nothing yet of the newest generation',
      route(parent(says('Accepted', 'True', 'Accepted', 1))),
      { kind: 'pending' },
    ],
    [
      'a refusal of an older generation counts no more',
      route(parent(says('Accepted', 'False', 'NotAllowedByListeners', 1))),
      { kind: 'pending' },
    ],
    [
      'that no listener takes it',
      route(parent(says('Accepted', 'False', 'NoMatchingListenerHostname'))),
      { kind: 'refused', reason: 'NoMatchingListenerHostname' },
    ],
    [
      'that it does not find what is behind it',
      route(parent(says('Accepted', 'True'), says('ResolvedRefs', 'False', 'BackendNotFound'))),
      { kind: 'refused', reason: 'BackendNotFound' },
    ],
    ['that it cannot tell', route(parent(says('Accepted', 'Unknown', 'Pending'))), { kind: 'pending' }],
    [
      'another listener’s word is not heard',
      route({ parentRef: { ...gateway, sectionName: 'http' }, conditions: [says('Accepted', 'True')] }),
      { kind: 'pending' },
    ],
    [
      'another Gateway’s word is not heard',
      route({ parentRef: { ...gateway, namespace: 'elsewhere' }, conditions: [says('Accepted', 'False')] }),
      { kind: 'pending' },
    ],
  ]
  for (const [sentence, given, expected] of cases) {
    it(sentence, () => expect(judgeRoute(given, gateway)).to.deep.equal(expected))
  }
})
