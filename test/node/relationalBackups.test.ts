import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { installRelationalEngine } from '../../scripts/node/relationalEngine.ts'
import { ENGINE_CLUSTER_LABEL, ENGINE_ROLE_LABEL, relationalNames } from '../../src/contracts/relational.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { installBackupStore } from './backupStore.ts'
import { installRelationalBackups } from './barmanPlugin.ts'
import { type Databases, databasesIn } from './databases.ts'
import { testNode } from './shell.ts'

type Window = { isAvailable: boolean; earliest: string | null; latest: string | null; archiving: string }

/** @backups */
describe('relational database with backups, on a node', () => {
  let client: KubeClient
  let namespace: string
  let base: string
  let path: string
  let untilIt: Databases['untilIt']
  let untilServed: Databases['untilServed']
  let ask: Databases['ask']
  let snapshotOf: Databases['snapshotOf']

  before(async () => {
    client = await administrator()
    const home = { node: await testNode(), client, kubectl: testPlatform().kubectlPath }
    const search = { progress: silentProgress, signal: undefined }
    await installBackupStore(client)
    const version = await installRelationalEngine(home, search)
    await installRelationalBackups(home, search)
    const { id } = await makeBoundary()
    const group = (await makeGroup(id)).name
    namespace = groupNamespace(id, group)
    base = `/boundaries/${id}/resourcegroups/${group}/resources/relationalclusters`
    path = `${base}/orders`
    ;({ untilIt, untilServed, ask, snapshotOf } = databasesIn({ client, namespace, version }))
    await expectCall(201, 'POST', path, { databaseName: 'shop', engineVersion: version })
    await untilServed(path)
  })
  after(() => client?.close())

  const primary = async () => {
    const labels = { [ENGINE_CLUSTER_LABEL]: relationalNames('orders').cluster, [ENGINE_ROLE_LABEL]: 'primary' }
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',')
    const { items } = await client.list(pod, { namespace, labelSelector })
    return items[0]?.metadata.name
  }

  it('fails over to its other instance', async () => {
    await ask(path, 'CREATE TABLE kept (id INT PRIMARY KEY); INSERT INTO kept VALUES (1)')
    await expectCall(202, 'POST', `${path}/scale`, { targetScale: 2 })
    await untilIt(path, 'has two instances', (one) => one.status === 'Running' && one.readyReplicas === 2)
    const before = (await primary()) ?? ''
    await client.remove(pod, { namespace, name: before })
    await until('another instance leads', async () => {
      const now = await primary()
      return now !== undefined && now !== before
    })
    await untilIt(path, 'has two instances', (one) => one.status === 'Running' && one.readyReplicas === 2)
    expect(await ask(path, 'SELECT id FROM kept')).to.equal('1')
  })

  it('is restored to a time from a snapshot and the log', async () => {
    const snapshot = await snapshotOf(path, { name: 'first' })
    await ask(path, 'INSERT INTO kept VALUES (2)')
    const time = Date.now() + 1_000
    await until('that time is over', async () => Date.now() > time + 1_000)
    await ask(path, 'INSERT INTO kept VALUES (3)')
    const targetTime = new Date(time).toISOString()
    await until(
      'the log reaches that time',
      async () => {
        const { body } = await expectCall<Window>(200, 'GET', `${path}/snapshots/pitr-window`)
        if (body.latest !== null && Date.parse(body.latest) >= Date.parse(targetTime)) return true
        throw new Error(JSON.stringify(body))
      },
      400_000,
    )
    await expectCall(202, 'POST', `${path}/snapshots/${snapshot}/restore`, { newName: 'restored', targetTime })
    await untilServed(`${base}/restored`)
    expect((await ask(`${base}/restored`, 'SELECT id FROM kept ORDER BY id')).split('\n')).to.deep.equal(['1', '2'])
    expect((await ask(path, 'SELECT id FROM kept ORDER BY id')).split('\n')).to.deep.equal(['1', '2', '3'])
  })

  it('is restored to a time after the last write', async () => {
    const { body } = await expectCall<{ items: { id: string; kind: string }[] }>(200, 'GET', `${path}/snapshots`)
    const snapshot = body.items.find(({ kind }) => kind === 'Manual')
    const targetTime = new Date(Date.now() - 1_000).toISOString()
    await expectCall(202, 'POST', `${path}/snapshots/${snapshot?.id}/restore`, { newName: 'idle', targetTime })
    await untilServed(`${base}/idle`)
    expect((await ask(`${base}/idle`, 'SELECT id FROM kept ORDER BY id')).split('\n')).to.deep.equal(['1', '2', '3'])
  })

  it('keeps its rows over stop and start', async () => {
    await expectCall(202, 'PUT', `${path}/actions/stop`)
    await untilIt(path, 'is stopped', ({ status }) => status === 'Stopped')
    await expectCall(202, 'PUT', `${path}/actions/start`)
    await untilServed(path)
    expect((await ask(path, 'SELECT count(*) FROM kept')).trim()).to.equal('3')
  })
})
