import { expect } from 'chai'
import { vectorCluster } from '../../../test/make/vector.ts'
import { externalAddress } from './access.ts'
import type { VectorView } from './record.ts'

type Given = { spec?: Parameters<typeof vectorCluster>[0]; status?: object }

/** What the route shows of a database of this spec, of which the controller says this. */
function shown({ spec = {}, status = {} }: Given) {
  const object = { ...vectorCluster(spec), status }
  return externalAddress({ object, cluster: { domain: 'example.test' } } as unknown as VectorView)
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
    it(sentence, () => expect(shown(given)).to.deep.include(expected))
  }
})
