import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { silentLog } from '../../core/log.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { CacheSet, withCaches } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { AgentHub } from './hub.ts'

describe('AgentHub', () => {
  it('keeps the client of a cluster until the cluster is deleted', async () => {
    const { client, caches } = withCaches(
      (observer) => new FakeKubeClient({ observer }),
      (made) => new CacheSet({ client: made }),
    )
    caches.add(PlatformCluster.resource)
    const { apiVersion, kind, resource } = PlatformCluster
    const hub = new AgentHub(silentLog)
    await hub.open()
    try {
      hub.reads({ client: client as never, caches })
      const names = [randomUUID(), randomUUID()] as const
      for (const name of [...names]) client.seed(resource, { apiVersion, kind, metadata: { name } })
      caches.start()
      await caches.whenAllSynced()
      const [kept, gone] = names.map((name) => hub.clientOf(name))
      await client.remove(resource, { name: names[1] })
      hub.clientOf(randomUUID())
      expect(hub.clientOf(names[0])).to.equal(kept)
      expect(hub.clientOf(names[1])).to.not.equal(gone)
    } finally {
      await hub.stop()
      await caches.stopAll()
    }
  })
})
