import { expect } from 'chai'
import { vectorCluster } from '../../../test/make/vector.ts'
import { connectionInfo, externalAddress } from './access.ts'
import type { VectorView } from './record.ts'

type Given = { spec?: Parameters<typeof vectorCluster>[0]; status?: object }

/** A database with this spec and this status. */
function view({ spec = {}, status = {} }: Given): VectorView {
  const object = { ...vectorCluster(spec), status }
  return { object, cluster: { domain: 'example.test' } } as unknown as VectorView
}

const statusWith = (type: string, reason: string, message: string) => ({
  conditions: [
    { type: 'Ready', status: 'False', reason, message },
    { type, status: 'True', reason, message },
  ],
})

describe('externalAddress', () => {
  const https = { name: 'https', port: 443, protocol: 'TCP' }
  const balanced = [
    { name: 'rest', port: 6333, protocol: 'TCP' },
    { name: 'grpc', port: 6334, protocol: 'TCP' },
  ]
  const host = 'shop.example.test'
  const cases: [sentence: string, given: Given, expected: object][] = [
    [
      'returns Disabled without ingress and load balancer',
      {},
      { enabled: false, status: 'Disabled', hostname: null, ipAddresses: [], ports: [] },
    ],
    [
      'returns the ingress host on port 443 once publicEndpoint is set',
      { spec: { enableIngress: true, ingressHost: host }, status: { publicEndpoint: `https://${host}` } },
      { status: 'Ready', hostname: host, ports: [https], message: null },
    ],
    [
      'returns Pending with the reason until a Gateway accepts the route',
      {
        spec: { enableIngress: true, ingressHost: host },
        status: {
          ingressHost: host,
          ...statusWith('Reconciling', 'WaitingForAddress', 'It has not taken the route yet.'),
        },
      },
      { status: 'Pending', hostname: host, message: 'It has not taken the route yet.' },
    ],
    [
      'returns Failed if nothing runs and the Gateway refuses the route',
      {
        spec: { enableIngress: true, ingressHost: host },
        status: statusWith('Stalled', 'ConfigurationInvalid', 'It does not take the route.'),
      },
      { status: 'Failed', message: 'It does not take the route.' },
    ],
    [
      'returns the IP addresses of the load balancer, on both ports',
      { spec: { enableLoadBalancer: true }, status: { externalAddresses: ['203.0.113.7', '2001:db8::7'] } },
      { status: 'Ready', hostname: null, ipAddresses: ['203.0.113.7', '2001:db8::7'], ports: balanced },
    ],
    [
      'returns the host name of the load balancer',
      { spec: { enableLoadBalancer: true }, status: { externalAddresses: ['lb-1.cloud.example'] } },
      { status: 'Ready', hostname: 'lb-1.cloud.example', ipAddresses: [] },
    ],
    [
      'ignores addresses of a load balancer that is switched off',
      { spec: { enableIngress: true, ingressHost: host }, status: { externalAddresses: ['203.0.113.7'] } },
      { status: 'Pending', ipAddresses: [] },
    ],
  ]
  for (const [sentence, given, expected] of cases) {
    it(sentence, () => expect(externalAddress(view(given))).to.deep.include(expected))
  }
})

describe('public endpoints of connectionInfo', () => {
  const host = 'shop.example.test'
  const reached = (address: string, publicEndpoint: string) => ({ externalAddresses: [address], publicEndpoint })
  const cases: [sentence: string, given: Given, rest: string | null, grpc: string | null][] = [
    ['returns null for both without ingress and load balancer', {}, null, null],
    [
      'returns ports 6333 and 6334 of the load balancer',
      { spec: { enableLoadBalancer: true }, status: reached('203.0.113.7', 'http://203.0.113.7:6333') },
      'http://203.0.113.7:6333',
      'http://203.0.113.7:6334',
    ],
    [
      'puts an IPv6 address in brackets',
      { spec: { enableLoadBalancer: true }, status: reached('2001:db8::7', 'http://[2001:db8::7]:6333') },
      'http://[2001:db8::7]:6333',
      'http://[2001:db8::7]:6334',
    ],
    [
      'returns the ingress host for REST and null for gRPC without a load balancer',
      { spec: { enableIngress: true, ingressHost: host }, status: { publicEndpoint: `https://${host}` } },
      `https://${host}`,
      null,
    ],
    [
      'returns the ingress host for REST and the load balancer for gRPC if both are on',
      {
        spec: { enableIngress: true, ingressHost: host, enableLoadBalancer: true },
        status: reached('203.0.113.7', `https://${host}`),
      },
      `https://${host}`,
      'http://203.0.113.7:6334',
    ],
    [
      'ignores the address of a load balancer that is switched off',
      { status: { externalAddresses: ['203.0.113.7'] } },
      null,
      null,
    ],
  ]
  for (const [sentence, given, publicRestEndpoint, publicGrpcEndpoint] of cases) {
    it(sentence, () => expect(connectionInfo(view(given))).to.include({ publicRestEndpoint, publicGrpcEndpoint }))
  }
})
