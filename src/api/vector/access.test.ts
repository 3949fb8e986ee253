import { expect } from 'chai'
import { vectorCluster } from '../../../test/make/vector.ts'
import { connectionInfo, externalAddress } from './access.ts'
import type { VectorView } from './record.ts'

type Given = { spec?: Parameters<typeof vectorCluster>[0]; status?: object }

/** A database of this spec, of which the controller says this. */
function view({ spec = {}, status = {} }: Given): VectorView {
  const object = { ...vectorCluster(spec), status }
  return { object, cluster: { domain: 'example.test' } } as unknown as VectorView
}

const says = (type: string, reason: string, message: string) => ({
  conditions: [
    { type: 'Ready', status: 'False', reason, message },
    { type, status: 'True', reason, message },
  ],
})

describe('the public address of a vector database', () => {
  const https = { name: 'https', port: 443, protocol: 'TCP' }
  const host = 'shop.example.test'
  const cases: [sentence: string, given: Given, expected: object][] = [
    ['is none by default', {}, { enabled: false, status: 'Disabled', hostname: null, ipAddresses: [], ports: [] }],
    [
      'is the host, over TLS, once it is served',
      { spec: { enableIngress: true, ingressHost: host }, status: { publicEndpoint: `https://${host}` } },
      { status: 'Ready', hostname: host, ports: [https], message: null },
    ],
    [
      'is waited for until a Gateway has taken the route, and says so',
      {
        spec: { enableIngress: true, ingressHost: host },
        status: { ingressHost: host, ...says('Reconciling', 'WaitingForAddress', 'It has not taken the route yet.') },
      },
      { status: 'Pending', hostname: host, message: 'It has not taken the route yet.' },
    ],
    [
      'has failed where nothing runs and the Gateway refuses the route',
      {
        spec: { enableIngress: true, ingressHost: host },
        status: says('Stalled', 'ConfigurationInvalid', 'It does not take the route.'),
      },
      { status: 'Failed', message: 'It does not take the route.' },
    ],
    [
      'is the address of the load balancer, on both ports',
      { spec: { enableLoadBalancer: true }, status: { externalAddresses: ['203.0.113.7', '2001:db8::7'] } },
      { status: 'Ready', hostname: null, ipAddresses: ['203.0.113.7', '2001:db8::7'] },
    ],
    [
      'is the name that the cloud gave the load balancer',
      { spec: { enableLoadBalancer: true }, status: { externalAddresses: ['lb-1.cloud.example'] } },
      { status: 'Ready', hostname: 'lb-1.cloud.example', ipAddresses: [] },
    ],
    [
      'is no more what a load balancer had that was switched off',
      { spec: { enableIngress: true, ingressHost: host }, status: { externalAddresses: ['203.0.113.7'] } },
      { status: 'Pending', ipAddresses: [] },
    ],
  ]
  for (const [sentence, given, expected] of cases) {
    it(sentence, () => expect(externalAddress(view(given))).to.deep.include(expected))
  }
})

describe('the public endpoints of a vector database', () => {
  const host = 'shop.example.test'
  const reached = (address: string, publicEndpoint: string) => ({ externalAddresses: [address], publicEndpoint })
  const cases: [sentence: string, given: Given, rest: string | null, grpc: string | null][] = [
    ['are none by default', {}, null, null],
    [
      'are both ports of the load balancer',
      { spec: { enableLoadBalancer: true }, status: reached('203.0.113.7', 'http://203.0.113.7:6333') },
      'http://203.0.113.7:6333',
      'http://203.0.113.7:6334',
    ],
    [
      'have an IPv6 address in brackets',
      { spec: { enableLoadBalancer: true }, status: reached('2001:db8::7', 'http://[2001:db8::7]:6333') },
      'http://[2001:db8::7]:6333',
      'http://[2001:db8::7]:6334',
    ],
    [
      'are the host alone where no load balancer leads to gRPC',
      { spec: { enableIngress: true, ingressHost: host }, status: { publicEndpoint: `https://${host}` } },
      `https://${host}`,
      null,
    ],
    [
      'are the host for REST and the load balancer for gRPC where both are on',
      {
        spec: { enableIngress: true, ingressHost: host, enableLoadBalancer: true },
        status: reached('203.0.113.7', `https://${host}`),
      },
      `https://${host}`,
      'http://203.0.113.7:6334',
    ],
    [
      'are no more those of a load balancer that was switched off',
      { status: { externalAddresses: ['203.0.113.7'] } },
      null,
      null,
    ],
  ]
  for (const [sentence, given, publicRestEndpoint, publicGrpcEndpoint] of cases) {
    it(sentence, () => expect(connectionInfo(view(given))).to.include({ publicRestEndpoint, publicGrpcEndpoint }))
  }
})
