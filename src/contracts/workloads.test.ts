import { expect } from 'chai'
import { platformDomainOf } from './workloads.ts'

describe('platformDomainOf', () => {
  const domains = ['apps.example.com', 'apps.east.example.org', '']
  const cases: [sentence: string, host: string, expected: string | undefined][] = [
    ['returns the domain of a host below it', 'shop-1.apps.example.com', 'apps.example.com'],
    ['returns the domain of another cluster', 'a.b.apps.east.example.org', 'apps.east.example.org'],
    ['returns the domain itself', 'apps.example.com', 'apps.example.com'],
    ['returns cluster.local for a cluster-internal name', 'kubernetes.default.svc.cluster.local', 'cluster.local'],
    ['returns undefined for a sibling of a domain', 'shop.example.com', undefined],
    ['returns undefined for a name with the same ending', 'myapps.example.com', undefined],
  ]
  for (const [sentence, host, expected] of cases)
    it(sentence, () => expect(platformDomainOf(host, domains)).to.equal(expected))
})
