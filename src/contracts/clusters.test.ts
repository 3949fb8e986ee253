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

describe('the state of a cluster', () => {
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
    ['that nobody joined awaits an agent', facts(), 'AwaitingJoin'],
    ['is joining until the agent has opened its tunnel', facts({ joinedAt: 90 }), 'Joining'],
    ['is joining again where the last sign of life is of before', facts({ joinedAt: 95, lastSeenAt: 90 }), 'Joining'],
    ['is joining again after it was offline', facts({ joinedAt: 95, lastSeenAt: 2 }), 'Joining'],
    ['is online for as long as its connection is open', facts({ joinedAt: 0, connection: 'b' }), 'Online'],
    ['is online shortly after it was lost', facts({ ...lost, lastSeenAt: 70 }), 'Online'],
    ['is offline 90 seconds after it was lost', facts({ ...lost, lastSeenAt: 10 }), 'Offline'],
    ['is online if it was an older one that was lost', facts({ ...lost, connection: 'c', lastSeenAt: 10 }), 'Online'],
    ['is offline if the agent never came after it joined', facts({ joinedAt: 0 }), 'Offline'],
    ['is revoked whatever the agent says', facts({ joinedAt: 0, lastSeenAt: 99 }, 50), 'Revoked'],
    ['is revoked before anybody joined', facts({}, 50), 'Revoked'],
    [
      'is revoked though a manifest of before names an earlier revocation again',
      { ...facts({ joinedAt: 20 }, 10), status: { agent: { joinedAt: text(20) }, revokedUntil: text(50) } },
      'Revoked',
    ],
    [
      'is revoked though a manifest of before names no revocation',
      { ...facts({ joinedAt: 20 }), status: { agent: { joinedAt: text(20) }, revokedUntil: text(50) } },
      'Revoked',
    ],
    [
      'is revoked later than before',
      { ...facts({ joinedAt: 20 }, 50), status: { agent: { joinedAt: text(20) }, revokedUntil: text(10) } },
      'Revoked',
    ],
    [
      'is online again once an agent joined after the revocation',
      facts({ joinedAt: 60, lastSeenAt: 99 }, 50),
      'Online',
    ],
  ]
  for (const [name, given, state] of cases) {
    it(name, () => expect(clusterStateOf(given, at(100))).to.equal(state))
  }

  it('of the platform is online, and degraded while a node is not ready', () => {
    const spec = { isPlatform: true }
    expect(clusterStateOf({ spec }, 0)).to.equal('Online')
    expect(clusterStateOf({ spec, status: { nodeCount: 2, readyNodeCount: 1 } }, 0)).to.equal('Degraded')
    expect(msUntilOffline({ spec }, 'Online', 0)).to.equal(undefined)
  })

  it('changes by itself 90 seconds after the connection was lost, and only then', () => {
    expect(msUntilOffline(facts({ joinedAt: 0, connection: 'b' }), 'Online', at(100))).to.equal(undefined)
    expect(msUntilOffline(facts({ joinedAt: 0, lastSeenAt: 70 }), 'Online', at(100))).to.equal(60_000)
    expect(msUntilOffline(facts({ joinedAt: 0, lastSeenAt: 70 }), 'Revoked', at(100))).to.equal(undefined)
  })
})

describe('join tokens', () => {
  const token = (hash: string, expires: number, reusable = false) => ({ hash, expiresAt: text(expires), reusable })

  it('end ten minutes after a newer one, or sooner if they did anyway; those that are over are forgotten', () => {
    const before = [token('over', 5), token('soon', 300), token('long', 9_000)]
    expect(withToken(before, token('new', 3_600), at(10))).to.deep.equal([
      token('soon', 300),
      token('long', 610),
      token('new', 3_600),
    ])
  })

  it('are ten at most, the oldest forgotten', () => {
    const many = Array.from({ length: 12 }, (_, index) => token(`${index}`, 500))
    expect(withToken(many, token('new', 600), at(0)).map(({ hash }) => hash))
      .to.have.length(10)
      .and.include('new')
  })

  it('are good once, or while they last', () => {
    const [once, often] = [token('once', 100), token('often', 100, true)]
    expect(consumeJoinToken([once, often], 'once', at(0))).to.deep.equal([often])
    expect(consumeJoinToken([once, often], 'often', at(0))).to.deep.equal([once, often])
    expect(consumeJoinToken([once], 'other', at(0))).to.equal(undefined)
    expect(consumeJoinToken([once], 'once', at(100))).to.equal(undefined)
  })
})

describe('an agent with a certificate', () => {
  const identity = { clusterId: 'c', incarnation: 'one', issuedAt: at(100) }
  const cluster = (change: object = {}) => ({
    spec: { isPlatform: false },
    incarnation: 'one',
    isBeingDeleted: false,
    ...change,
  })
  const cases: [string, Parameters<typeof agentRefusalOf>[1], RegExp | undefined][] = [
    ['comes in', cluster(), undefined],
    [
      'comes in if it joined after a revocation',
      cluster({ spec: { isPlatform: false, revokedAt: text(99) } }),
      undefined,
    ],
    ['is refused once revoked', cluster({ spec: { isPlatform: false, revokedAt: text(100) } }), /revoked/],
    [
      'is refused though a manifest of before names an earlier revocation again',
      cluster({ spec: { isPlatform: false, revokedAt: text(9) }, status: { revokedUntil: text(100) } }),
      /revoked/,
    ],
    ['is refused where there is no such cluster', undefined, /no such/],
    ['is refused while the cluster is removed', cluster({ isBeingDeleted: true }), /no such/],
    ['is refused where another cluster has the id by now', cluster({ incarnation: 'two' }), /no longer exists/],
    ['is refused for the cluster of the platform', cluster({ spec: { isPlatform: true } }), /own cluster/],
  ]
  for (const [name, given, why] of cases) {
    it(name, () => {
      const said = agentRefusalOf(identity, given)
      if (why === undefined) expect(said).to.equal(undefined)
      else expect(said).to.match(why)
    })
  }
})
