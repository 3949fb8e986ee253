import { expect } from 'chai'
import { PlatformTenant } from '../../crds/rbac.ts'
import { CacheSet } from '../../kube/caches.ts'
import type { WatchEvent } from '../../kube/client.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { TURN_TIMINGS } from '../../kube/keyedLeaseMutex.ts'
import { createRecords } from '../records/kubeRecords.ts'
import type { Records } from '../records/records.ts'
import { withChangeLock, withLocalChangeLock } from './changeLocks.ts'

const caller = { principalId: '22222222-2222-4222-8222-222222222222', principalType: 'User', expiresAt: 0 } as const
const TENANTS = { key: 'tenants', sees: [{ kind: PlatformTenant }] }

/** A replica whose watch events arrive some turns of the event loop late. */
class Replica {
  readonly caches: CacheSet
  readonly records: Records

  constructor(server: FakeKubeClient) {
    const late = new Proxy(server, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target)
        if (property !== 'watchStream') return typeof value === 'function' ? value.bind(target) : value
        return async function* (...given: Parameters<FakeKubeClient['watchStream']>) {
          for await (const event of target.watchStream(...given) as AsyncIterable<WatchEvent<never>>) {
            for (let count = 0; count < 50; count += 1) await new Promise((resolve) => setImmediate(resolve))
            yield event
          }
        }
      },
    })
    this.caches = new CacheSet({ client: late })
    this.caches.add(PlatformTenant.resource)
    this.records = createRecords({ client: server, caches: this.caches })
  }

  async start(): Promise<void> {
    this.caches.start()
    await this.caches.whenAllSynced()
  }
}

describe('withChangeLock', () => {
  it('shows a holder the writes of the previous one, even if its watch is late', async () => {
    const server = new FakeKubeClient()
    const replicas = [new Replica(server), new Replica(server), new Replica(server)]
    await Promise.all(replicas.map((replica) => replica.start()))
    const makeUnlessThere = ({ records }: Replica, name: string) =>
      withChangeLock({ records }, TENANTS, async () => {
        if (records.peekAll(PlatformTenant).length > 0) return false
        await records.create(PlatformTenant, { name, spec: { displayName: 'Acme' }, caller })
        return true
      })
    const made = await Promise.all(replicas.map((replica, index) => makeUnlessThere(replica, `tenant-${index}`)))
    await Promise.all(replicas.map(({ caches }) => caches.stopAll()))
    expect(made.filter(Boolean)).to.have.length(1)
    expect((await server.list(PlatformTenant.resource)).items).to.have.length(1)
  })

  it('counts the wait for a local lock towards the timeout', async () => {
    const first = Promise.withResolvers<void>()
    const ahead = withLocalChangeLock(TENANTS.key, () => first.promise)
    const timeouts: (number | undefined)[] = []
    const records = {
      exclusively: async (_key: string, _work: unknown, options?: { timeout?: number }) => {
        timeouts.push(options?.timeout)
      },
    } as unknown as Records
    const second = withChangeLock({ records }, TENANTS, async () => {})
    await new Promise((resolve) => setImmediate(resolve))
    first.resolve()
    await Promise.all([ahead, second])
    expect(timeouts[0]).to.be.lessThan(TURN_TIMINGS.timeout)
  })
})
