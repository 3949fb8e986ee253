import { expect } from 'chai'
import { ManualClock, settle } from '../../test/make/clock.ts'
import { heapUsed } from '../../test/make/garbage.ts'
import { until } from '../../test/make/until.ts'
import type { KubeObject } from '../core/object.ts'
import { currentOrigin, onBehalfOf } from '../core/origin.ts'
import { event as eventResource } from './builtin.ts'
import { EventRecorder } from './events.ts'
import { FakeKubeClient } from './fake.ts'

const regarding: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x', namespace: 'a', uid: 'uid-x' },
}
type Event = KubeObject & { series?: { count: number; lastObservedTime: string }; note?: string }

describe('EventRecorder', () => {
  let server = new FakeKubeClient()
  let clock = new ManualClock()
  let recorder: EventRecorder
  beforeEach(() => {
    server = new FakeKubeClient()
    clock = new ManualClock()
    recorder = new EventRecorder({ client: server, controller: 'freehold.dev/test', instance: 'test', clock })
  })
  const say = (note: string, about = regarding) =>
    recorder.record({ regarding: about, type: 'Warning', reason: 'Tested', note })
  const sayOf = (about: KubeObject) => {
    say('large', about)
    return new WeakRef(about)
  }
  const events = async () => (await server.list<Event>(eventResource)).items

  it('aggregates equal events and updates their count once a minute', async () => {
    for (let time = 0; time < 100; time += 1) say('again')
    await settle()
    expect(await events()).to.have.length(1)
    await clock.advance(60_000)
    expect((await events())[0]?.series?.count).to.equal(100)
    expect(server.count('patch')).to.equal(1)
  })

  it('tells when an event was last observed, not when it was written', async () => {
    say('again')
    await settle()
    await clock.advance(1_000)
    const observed = clock.now()
    say('again')
    await clock.advance(60_000)
    const [event] = await events()
    expect(Date.parse(event?.series?.lastObservedTime ?? '')).to.equal(observed)
  })

  it('sets no timer if nothing repeats', async () => {
    say('once')
    await settle()
    expect(clock.pending).to.equal(0)
  })

  it('limits an object to 10 different events, without affecting other objects', async () => {
    for (let time = 0; time < 100; time += 1) say(`words ${time}`)
    say('me too', { ...regarding, metadata: { ...regarding.metadata, name: 'y', uid: 'uid-y' } })
    await settle()
    await settle()
    expect((await events()).map(({ note }) => note))
      .to.include('me too')
      .and.have.length(11)
    expect(recorder.dropped).to.equal(90)
    await clock.advance(30_000)
    say('after a while')
    await settle()
    expect(await events()).to.have.length(12)
  })

  it('sends events of each boundary in turn, and drops only those of the one that fills the queue', async () => {
    const sayFor = (caller: string, name: string) =>
      onBehalfOf({ caller }, () => say('busy', { ...regarding, metadata: { ...regarding.metadata, name, uid: name } }))
    for (let index = 0; index < 1_000; index += 1) sayFor('busy', `busy-${index}`)
    for (let index = 0; index < 3; index += 1) sayFor('calm', `calm-${index}`)
    await until('all are sent', async () =>
      (await events()).some(({ metadata }) => metadata.name.startsWith('calm-2.')),
    )
    const order = (await events()).map(({ metadata }) => metadata.name.replace(/\..*/, ''))
    expect(order.indexOf('calm-2')).to.be.at.most(7)
    expect(recorder.dropped).to.be.above(0)
  })

  it('sends events without the caller of the current work, which has few concurrent calls', async () => {
    const callers: unknown[] = []
    const create = server.create.bind(server)
    server.create = (...given: Parameters<typeof create>) => {
      callers.push(currentOrigin())
      return create(...given) as never
    }
    onBehalfOf({ caller: 'busy' }, () => say('first'))
    await settle()
    expect(callers).to.deep.equal([undefined])
  })

  it('drops events that the server refuses, without throwing', async () => {
    server.fail('create', eventResource, 'Unavailable', 2)
    say('lost')
    say('lost too')
    say('kept')
    await settle()
    expect((await events()).map(({ note }) => note)).to.deep.equal(['kept'])
    expect(recorder.dropped).to.equal(2)
  })

  it('keeps only the name of an object, until ten minutes after its last event', async () => {
    const held = sayOf({ ...regarding, metadata: { ...regarding.metadata } })
    await settle()
    await heapUsed()
    expect(held.deref(), 'the object itself').to.equal(undefined)
    say('large')
    await clock.advance(60_000)
    expect((await events())[0]?.series?.count).to.equal(2)
    await clock.advance(600_000)
    for (const name of ['y', 'z']) say('another', { ...regarding, metadata: { name, uid: name } })
    expect(recorder.remembered, 'of the other objects').to.deep.equal({ series: 2, objects: 2 })
  })

  it('forgets the least recent of more than 5,000 objects', async () => {
    const about = (index: number) => ({ ...regarding, metadata: { ...regarding.metadata, uid: `uid-${index}` } })
    for (let index = 0; index < 5_100; index += 1) {
      say('again', about(index))
      if (index % 100 === 0) await until('all are sent', () => server.count('create') === index + 1)
    }
    expect(recorder.remembered).to.deep.equal({ series: 5_000, objects: 5_000 })
    await until('all are sent', () => server.count('create') === 5_100)
    for (const index of [100, 5_000]) say('again', about(index))
    await settle()
    expect(server.count('create')).to.equal(5_100)
  })

  it('creates events of cluster-scoped objects in "default", and truncates long notes', async () => {
    const cluster = { ...regarding, metadata: { name: 'c', uid: 'uid-c' } }
    say('x'.repeat(5_000), cluster)
    await settle()
    const [event] = await events()
    expect(event?.metadata.namespace).to.equal('default')
    expect(event?.note?.length).to.be.at.most(1_024)
  })
})
