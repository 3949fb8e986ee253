import { expect } from 'chai'
import {
  type AgentFacts,
  agentRefusalOf,
  type ClusterFacts,
  clusterStateOf,
  consumeJoinToken,
  msUntilOffline,
  withToken,
} from './clusters.ts'

const at = (seconds: number) => Date.UTC(2026, 0, 1) + seconds * 1000
const text = (seconds: number) => new Date(at(seconds)).toISOString()

describe('clusterStateOf and msUntilOffline', () => {
  type Times = { joinedAt?: number; lastSeenAt?: number } & Pick<AgentFacts, 'connection' | 'lostConnection'>
  const facts = ({ joinedAt, lastSeenAt, ...connections }: Times = {}, revokedAt?: number): ClusterFacts => ({
    spec: { isPlatform: false, ...(revokedAt !== undefined && { revokedAt: text(revokedAt) }) },
    status: {
      agent: {
        ...connections,
        ...(joinedAt !== undefined && { joinedAt: text(joinedAt) }),
        ...(lastSeenAt !== undefined && { lastSeenAt: text(lastSeenAt) }),
      },
    },
  })
  const lost = { joinedAt: 0, connection: 'b', lostConnection: 'b' }
  const cases: [string, ClusterFacts, string][] = [
    ['AwaitingJoin without an agent', facts(), 'AwaitingJoin'],
    ['Joining until the agent opens its tunnel', facts({ joinedAt: 90 }), 'Joining'],
    ['Joining if the last heartbeat was before the join', facts({ joinedAt: 95, lastSeenAt: 90 }), 'Joining'],
    ['Joining again after it was offline', facts({ joinedAt: 95, lastSeenAt: 2 }), 'Joining'],
    ['Online while its connection is open', facts({ joinedAt: 0, connection: 'b' }), 'Online'],
    ['Online shortly after the connection was lost', facts({ ...lost, lastSeenAt: 70 }), 'Online'],
    ['Offline 90 seconds after the connection was lost', facts({ ...lost, lastSeenAt: 10 }), 'Offline'],
    ['Online if only an older connection was lost', facts({ ...lost, connection: 'c', lastSeenAt: 10 }), 'Online'],
    ['Offline if the agent never connected after it joined', facts({ joinedAt: 0 }), 'Offline'],
    ['Revoked, whatever the agent reports', facts({ joinedAt: 0, lastSeenAt: 99 }, 50), 'Revoked'],
    ['Revoked before the first join', facts({}, 50), 'Revoked'],
    [
      'Revoked although an old manifest restores an earlier revocation',
      { ...facts({ joinedAt: 20 }, 10), status: { agent: { joinedAt: text(20) }, revokedUntil: text(50) } },
      'Revoked',
    ],
    [
      'Revoked although an old manifest removes the revocation',
      { ...facts({ joinedAt: 20 }), status: { agent: { joinedAt: text(20) }, revokedUntil: text(50) } },
      'Revoked',
    ],
    [
      'Revoked by a later revocation',
      { ...facts({ joinedAt: 20 }, 50), status: { agent: { joinedAt: text(20) }, revokedUntil: text(10) } },
      'Revoked',
    ],
    ['Online after an agent joined again', facts({ joinedAt: 60, lastSeenAt: 99 }, 50), 'Online'],
  ]
  for (const [name, given, state] of cases) {
    it(name, () => expect(clusterStateOf(given, at(100))).to.equal(state))
  }

  it("return Online for the platform's cluster, and Degraded while a node is not ready", () => {
    const spec = { isPlatform: true }
    expect(clusterStateOf({ spec }, 0)).to.equal('Online')
    expect(clusterStateOf({ spec, status: { nodeCount: 2, readyNodeCount: 1 } }, 0)).to.equal('Degraded')
    expect(msUntilOffline({ spec }, 'Online', 0)).to.equal(undefined)
  })

  it('return the time until 90 seconds after the connection was lost, only while Online', () => {
    expect(msUntilOffline(facts({ joinedAt: 0, connection: 'b' }), 'Online', at(100))).to.equal(undefined)
    expect(msUntilOffline(facts({ joinedAt: 0, lastSeenAt: 70 }), 'Online', at(100))).to.equal(60_000)
    expect(msUntilOffline(facts({ joinedAt: 0, lastSeenAt: 70 }), 'Revoked', at(100))).to.equal(undefined)
  })
})

describe('withToken and consumeJoinToken', () => {
  const token = (hash: string, expires: number, reusable = false) => ({ hash, expiresAt: text(expires), reusable })

  it('shorten other tokens to ten minutes when a token is added, and drop expired ones', () => {
    const before = [token('over', 5), token('soon', 300), token('long', 9_000)]
    expect(withToken(before, token('new', 3_600), at(10))).to.deep.equal([
      token('soon', 300),
      token('long', 610),
      token('new', 3_600),
    ])
  })

  it('keep the ten newest tokens', () => {
    const many = Array.from({ length: 12 }, (_, index) => token(`${index}`, 500))
    expect(withToken(many, token('new', 600), at(0)).map(({ hash }) => hash))
      .to.have.length(10)
      .and.include('new')
  })

  it('accept a token once, or until it expires if it is reusable', () => {
    const [once, often] = [token('once', 100), token('often', 100, true)]
    expect(consumeJoinToken([once, often], 'once', at(0))).to.deep.equal([often])
    expect(consumeJoinToken([once, often], 'often', at(0))).to.deep.equal([once, often])
    expect(consumeJoinToken([once], 'other', at(0))).to.equal(undefined)
    expect(consumeJoinToken([once], 'once', at(100))).to.equal(undefined)
  })
})

describe('agentRefusalOf', () => {
  const identity = { clusterId: 'c', incarnation: 'one', issuedAt: at(100) }
  const cluster = (change: object = {}) => ({
    spec: { isPlatform: false },
    incarnation: 'one',
    isBeingDeleted: false,
    ...change,
  })
  const cases: [string, Parameters<typeof agentRefusalOf>[1], RegExp | undefined][] = [
    ['accepts a certificate of the cluster', cluster(), undefined],
    [
      'accepts an agent that joined after a revocation',
      cluster({ spec: { isPlatform: false, revokedAt: text(99) } }),
      undefined,
    ],
    [
      'refuses a certificate from before the revocation',
      cluster({ spec: { isPlatform: false, revokedAt: text(100) } }),
      /revoked/,
    ],
    [
      'refuses it although an old manifest restores an earlier revocation',
      cluster({ spec: { isPlatform: false, revokedAt: text(9) }, status: { revokedUntil: text(100) } }),
      /revoked/,
    ],
    ['refuses a certificate of an unknown cluster', undefined, /no such/],
    ['refuses a certificate of a cluster that is being deleted', cluster({ isBeingDeleted: true }), /no such/],
    ['refuses a certificate of another cluster with the same id', cluster({ incarnation: 'two' }), /no longer exists/],
    ["refuses a certificate of the platform's cluster", cluster({ spec: { isPlatform: true } }), /own cluster/],
  ]
  for (const [name, given, expected] of cases) {
    it(name, () => {
      const refusal = agentRefusalOf(identity, given)
      if (expected === undefined) expect(refusal).to.equal(undefined)
      else expect(refusal).to.match(expected)
    })
  }
})
