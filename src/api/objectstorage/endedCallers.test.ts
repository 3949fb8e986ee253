import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeUserDirectory } from '../../adapters/identity/fake.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import type { KubeObject } from '../../core/object.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { directoryPrincipals } from '../callers/directoryPrincipals.ts'
import { endSessionsOfEnded } from './endedCallers.ts'

const MINUTE = 60_000

describe('endSessionsOfEnded', () => {
  let [clock, client, users] = [new ManualClock(), new FakeKubeClient(), new FakeUserDirectory()]
  let lookups: number
  let isAway: boolean
  let running: { stop(): void }
  beforeEach(() => {
    clock = new ManualClock()
    client = new FakeKubeClient()
    users = new FakeUserDirectory()
    lookups = 0
    isAway = false
    const find = async (id: string) => {
      lookups += 1
      if (isAway) throw new Error('It does not answer.')
      return users.find(id)
    }
    const stored: (ObjectAccessKey & KubeObject)[] = []
    client.seed = ((seed) => (resource, object) => {
      const made = seed(resource, object)
      stored.push(made as never)
      return made
    })(client.seed.bind(client))
    const principals = directoryPrincipals({ find: async () => new Map() }, { find }, clock)
    running = endSessionsOfEnded({ keys: { list: () => stored }, principals, client, clock, log: silentLog })
  })
  afterEach(() => running.stop())

  const issue = (name: string, caller: string, isSession = true) =>
    client.seed(ObjectAccessKey.resource, {
      apiVersion: ObjectAccessKey.apiVersion,
      kind: ObjectAccessKey.kind,
      metadata: { namespace: 'shop', name, annotations: { [CREATED_BY_ANNOTATION]: caller } },
      spec: { accountName: 'media', isSession },
    } as KubeObject)
  const left = async () =>
    (await client.list(ObjectAccessKey.resource, { namespace: 'shop' })).items.map(({ metadata }) => metadata.name)

  it('ends sessions within a minute after their user is disabled or deleted, but no keys and no other sessions', async () => {
    const [ada, bob] = [users.put({ userName: 'ada' }), users.put({ userName: 'bob' })]
    issue('of-ada', ada.id)
    issue('of-bob', bob.id)
    issue('of-nobody', randomUUID())
    issue('key', ada.id, false)
    await clock.advance(MINUTE)
    expect(await left()).to.have.members(['of-ada', 'of-bob', 'key'])
    await users.update(ada.id, { isEnabled: false })
    await clock.advance(MINUTE)
    expect(await left()).to.have.members(['of-bob', 'key'])
    await users.delete(bob.id)
    await clock.advance(MINUTE)
    expect(await left()).to.deep.equal(['key'])
  })

  it('keeps sessions while the directory does not answer, and ends them once it does', async () => {
    issue('of-nobody', randomUUID())
    isAway = true
    await clock.advance(2 * MINUTE)
    expect(await left()).to.deep.equal(['of-nobody'])
    isAway = false
    await clock.advance(MINUTE)
    expect(await left()).to.deep.equal([])
  })

  it('does not ask the directory without sessions, nor after stop', async () => {
    issue('key', randomUUID(), false)
    await clock.advance(3 * MINUTE)
    expect(lookups).to.equal(0)
    running.stop()
    issue('of-nobody', randomUUID())
    await clock.advance(3 * MINUTE)
    expect([lookups, await left()]).to.deep.equal([0, ['key', 'of-nobody']])
  })
})
