import { expect } from 'chai'
import { platformDomainOf } from './workloads.ts'

describe('hosts that the platform gives', () => {
  const domains = ['apps.example.com', 'apps.east.example.org', '']
  const cases: [sentence: string, host: string, expected: string | undefined][] = [
    ['lie below the domain of a cluster', 'shop-1.apps.example.com', 'apps.example.com'],
    ['lie below that of another cluster', 'a.b.apps.east.example.org', 'apps.east.example.org'],
    ['are the domain itself', 'apps.example.com', 'apps.example.com'],
    ['are names inside a cluster', 'kubernetes.default.svc.cluster.local', 'cluster.local'],
    ['are not those beside it', 'shop.example.com', undefined],
    ['are not those that only end alike', 'myapps.example.com', undefined],
  ]
  for (const [sentence, host, expected] of cases)
    it(sentence, () => expect(platformDomainOf(host, domains)).to.equal(expected))
})
