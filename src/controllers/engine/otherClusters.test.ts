import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { silentLog } from '../../core/log.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { namespace, pod } from '../../kube/builtin.ts'
import { CacheSet } from '../../kube/caches.ts'
import { KubeError } from '../../kube/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { WatchObserver } from '../../kube/watch.ts'
import { ConnectedClusters, type ConnectOtherCluster } from './otherClusters.ts'

const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const LOST = new KubeError('Unavailable', 'The stream was lost.', { status: 0 })

describe('ConnectedClusters', () => {
  const clock = new ManualClock()
  const records = new FakeKubeClient()
  const told: string[] = []
  let silence = 0
  let observer: WatchObserver
  let followed: ConnectedClusters
  let clusters: CacheSet

  const connect: ConnectOtherCluster = (_, watched) => {
    observer = watched
    const client = new FakeKubeClient()
    const caches = new CacheSet({ client })
    Object.defineProperty(caches, 'silence', { get: () => silence })
    return { client, caches, close: async () => {} }
  }
  const says = (connection: string) => {
    const status = { state: 'Online', agent: { connection } }
    return records.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
  }
  const passes = async (milliseconds: number) => {
    if (silence > 0) silence += milliseconds
    await clock.advance(milliseconds)
  }

  before(async () => {
    records.seed(PlatformCluster.resource, {
      apiVersion: PlatformCluster.apiVersion,
      kind: PlatformCluster.kind,
      metadata: { name: FAR },
      spec: { isPlatform: false },
      status: { state: 'Online', agent: { connection: 'first' } },
    })
    clusters = new CacheSet({ client: records, clock })
    const cache = clusters.add(PlatformCluster.resource)
    clusters.start()
    await clusters.whenAllSynced()
    followed = new ConnectedClusters(connect, [namespace], { clock, log: silentLog })
    followed.onLost((clusterId) => told.push(clusterId))
    followed.start(cache)
  })
  after(async () => {
    await followed.stop()
    await clusters.stopAll()
  })

  it('checks a connected cluster once and starts no timers while its watches last', async () => {
    await passes(31_000)
    const { pending } = clock
    await passes(3_600_000)
    expect(told).to.deep.equal([])
    expect(clock.pending).to.be.at.most(pending)
    expect(followed.lost(FAR)).to.equal(undefined)
  })

  it('keeps a cluster whose watch recovers within 30 seconds', async () => {
    observer.ended?.(namespace, LOST)
    silence = 1
    await passes(10_000)
    silence = 0
    await passes(60_000)
    expect(told).to.deep.equal([])
  })

  it('reports a cluster as lost after 30 seconds of silence, with its connection', async () => {
    silence = 1
    observer.ended?.(namespace, LOST)
    await passes(61_000)
    expect(told).to.deep.equal([FAR])
    expect(followed.lost(FAR)?.connection).to.equal('first')
  })

  it('grants a new connection another 30 seconds', async () => {
    await says('second')
    await clock.advance(0)
    expect(followed.lost(FAR)).to.equal(undefined)
    await passes(20_000)
    expect(told).to.have.length(1)
    await passes(20_000)
    expect(told).to.have.length(2)
    expect(followed.lost(FAR)?.connection).to.equal('second')
  })

  it('reports a forbidden watch at once, and ten seconds later that it has recovered', async () => {
    const before = told.length
    const refused = new KubeError('Forbidden', 'Namespaces may not be watched.', { status: 403 })
    for (const error of [refused, refused, LOST]) observer.ended?.(namespace, error)
    expect(followed.refused(FAR)).to.deep.equal(['Namespaces may not be watched.'])
    expect(told.length - before).to.equal(1)
    observer.live?.(namespace)
    await passes(10_000)
    expect(followed.refused(FAR)).to.deep.equal([])
    expect(told.length - before).to.equal(2)
  })

  it('reports a watch that is refused and recovers all the time at most once in ten seconds', async () => {
    silence = 0
    await passes(10_000)
    const before = told.length
    for (let second = 0; second < 60; second += 1) {
      const refused = new KubeError('Forbidden', `Refused for the time ${second}.`, { status: 403 })
      observer.ended?.(namespace, refused)
      if (second % 2 === 0) observer.live?.(namespace)
      await passes(1_000)
    }
    expect(told.length - before).to.be.within(2, 7)
    observer.live?.(namespace)
    await passes(10_000)
    expect(followed.refused(FAR)).to.deep.equal([])
  })

  it('reports a list that never completes once', async () => {
    await passes(10_000)
    const before = told.length
    const full = new KubeError('Unexpected', 'There is too much of it.', { status: 200 })
    for (const error of [full, full, full]) {
      observer.opened?.(namespace)
      observer.ended?.(namespace, error)
    }
    expect(followed.refused(FAR)).to.deep.equal(['There is too much of it.'])
    expect(told.length - before).to.equal(1)
    observer.live?.(namespace)
    await passes(10_000)
  })

  it('ignores a 503 of a starting API server', () => {
    const busy = new KubeError('Unavailable', 'It starts.', { status: 503 })
    observer.ended?.(namespace, busy)
    expect(followed.refused(FAR)).to.deep.equal([])
    observer.live?.(namespace)
  })

  it('reports a 500 of one type after a minute and clears it when the watch is live', async () => {
    const broken = new KubeError('Unavailable', 'Its conversion fails.', { status: 500 })
    for (const wait of [0, 30_000, 29_000]) {
      await passes(wait)
      observer.ended?.(namespace, broken)
    }
    expect(followed.refused(FAR)).to.deep.equal([])
    await passes(1_000)
    observer.ended?.(pod, broken)
    expect(followed.refused(FAR)).to.deep.equal([])
    observer.ended?.(namespace, broken)
    expect(followed.refused(FAR)).to.deep.equal(['Its conversion fails.'])
    observer.live?.(namespace)
    await passes(10_000)
    expect(followed.refused(FAR)).to.deep.equal([])
    observer.ended?.(namespace, broken)
    expect(followed.refused(FAR)).to.deep.equal([])
  })
})
