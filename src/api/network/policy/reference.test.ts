import { expect } from 'chai'
import { TEST_CONFIG } from '../../../../test/config.ts'
import { SeededRandom } from '../../../../test/make/random.ts'
import { parseNetworks } from './addresses.ts'
import { directionsOf, type NetworkPolicy } from './kubernetes.ts'
import type { Direction, End, Pod } from './question.ts'
import type { Selector } from './selectors.ts'
import { judgeSide } from './verdict.ts'

/** An independent implementation of the documentation of Kubernetes for one address, one port and one pair of pods. */
type Address = { kind: 'address'; octets: readonly number[] }
type Other = Address | Pod

const octetsOf = (text: string) => text.split('/')[0]?.split('.').map(Number) ?? []
const bits = (octets: readonly number[]) => octets.map((octet) => octet.toString(2).padStart(8, '0')).join('')
const isIn = (octets: readonly number[], cidr: string) => {
  const length = Number(cidr.split('/')[1])
  return bits(octets).slice(0, length) === bits(octetsOf(cidr)).slice(0, length)
}
const takes = (selector: Selector | undefined, labels: Readonly<Record<string, string>>) =>
  Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value)

type Rules = NonNullable<NonNullable<NetworkPolicy['spec']>['ingress']>

function isAllowed(policies: readonly NetworkPolicy[], subject: Pod, direction: Direction, other: Other, port: number) {
  const selecting = policies.filter(
    (policy) =>
      policy.metadata.namespace === subject.namespace &&
      takes(policy.spec?.podSelector, subject.labels) &&
      directionsOf(policy).includes(direction),
  )
  if (selecting.length === 0) return true
  const rules: Rules = selecting.flatMap((policy) => policy.spec?.[direction] ?? [])
  return rules.some((rule) => {
    const ports = rule.ports ?? []
    const isPort = ports.some((each) => port >= Number(each.port) && port <= (each.endPort ?? Number(each.port)))
    if (ports.length > 0 && !isPort) return false
    const peers = (direction === 'ingress' ? rule.from : rule.to) ?? []
    if (peers.length === 0) return true
    return peers.some(({ ipBlock, podSelector, namespaceSelector }) => {
      if (ipBlock !== undefined)
        return (
          other.kind === 'address' &&
          isIn(other.octets, ipBlock.cidr ?? '') &&
          !(ipBlock.except ?? []).some((each) => isIn(other.octets, each))
        )
      if (other.kind === 'address') return false
      if (namespaceSelector === undefined && other.namespace !== subject.namespace) return false
      return takes(namespaceSelector, other.namespaceLabels) && takes(podSelector, other.labels)
    })
  })
}

describe('judgeSide', () => {
  const random = new SeededRandom(TEST_CONFIG.seed)
  const SPACES = ['shop', 'other']
  const CIDRS = ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.0/25', '0.0.0.0/0', '0.0.0.0/1', '10.1.2.3/32']
  const selector = (): Selector => (random.chance(0.4) ? {} : { matchLabels: { app: random.pick(['a', 'b']) } })
  const peer = () => {
    if (random.chance(0.4)) return { ipBlock: { cidr: random.pick(CIDRS), except: random.some(CIDRS, 2) } }
    const namespaceSelector = random.chance(0.5) ? { matchLabels: { name: random.pick(SPACES) } } : {}
    const both = { podSelector: selector(), namespaceSelector }
    return random.pick([both, { podSelector: both.podSelector }, { namespaceSelector }])
  }
  const rule = (side: 'from' | 'to') => ({
    [side]: Array.from({ length: random.below(3) }, peer),
    ...(random.chance(0.5) && { ports: [{ port: 1 + random.below(4), ...(random.chance(0.5) && { endPort: 4 }) }] }),
  })
  const policy = (name: string): NetworkPolicy => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: random.pick(SPACES) },
    spec: {
      podSelector: selector(),
      ...(random.chance(0.5) && { policyTypes: random.some(['Ingress', 'Egress'], 2) }),
      ingress: Array.from({ length: random.below(3) }, () => rule('from')),
      ...(random.chance(0.5) && { egress: Array.from({ length: random.below(3) }, () => rule('to')) }),
    },
  })
  const pod = (name: string): Pod => {
    const namespace = random.pick(SPACES)
    return {
      ...{
        kind: 'pod',
        name,
        namespace,
        namespaceLabels: { name: namespace },
        labels: { app: random.pick(['a', 'b', 'c']) },
      },
      addresses: parseNetworks('10.0.0.1'),
      ports: [],
    }
  }

  it('agrees with the reference implementation for random policies, pods and addresses', () => {
    for (let turn = 0; turn < TEST_CONFIG.sized(3_000, 100_000); turn++) {
      const policies = Array.from({ length: random.below(4) }, (_, index) => policy(`p${index}`))
      const direction = random.pick(['ingress', 'egress'] as const)
      const subject = pod('subject')
      const address = random.chance(0.5) ? `10.${random.below(2)}.2.${random.below(256)}` : `${random.below(224)}.1.2.3`
      const isPod = random.chance(0.5)
      const other: Other = isPod ? pod('other') : { kind: 'address', octets: octetsOf(address) }
      const end: End =
        other.kind === 'pod' ? other : { kind: 'outside', addresses: parseNetworks(address), isInternet: false }
      const port = 1 + random.below(5)
      const [from, to] = direction === 'ingress' ? [end, subject] : [subject, end]
      const question = { from, to, port, protocol: 'TCP', blocksTakePods: false } as const
      const side = judgeSide(direction, question, { kubernetes: policies, cilium: [] })
      const wanted = isAllowed(policies, subject, direction, other, port) ? 'Allowed' : 'Denied'
      if (side.verdict !== wanted)
        expect.fail(
          `seed ${TEST_CONFIG.seed}, turn ${turn}: ${JSON.stringify({ policies, question: { ...question, from: 0, to: 0 }, direction, subject: subject.labels, address, port, side }, (_, value) => (typeof value === 'bigint' ? String(value) : value))} is not ${wanted}`,
        )
    }
  })
})
