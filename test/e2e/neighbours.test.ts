import { expect } from 'chai'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { DenyAssignment } from '../../src/crds/rbac.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { StaticWebApp } from '../../src/crds/staticwebapps.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { itemsOf, makeBoundary, makeCaller, makeGroup, type TestCaller, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

const SNAPSHOT = '0ad1b2c3-4d5e-4f60-8a7b-9c0d1e2f3a4b'
const GRANTED = 'a4ec9d2e-8d3e-4be7-855b-4bfb1732a647'

/**
 * A Contributor of a group, excluded from one database and one account by a deny: no object that names them, and no
 * part of them, is a way around it with kubectl.
 */
describe('a resource under a deny, for a Contributor of its group', () => {
  let admin: KubeClient
  let client: KubeClient
  let caller: TestCaller
  let space: string
  const at = (name: string) => ({ namespace: space, name })
  const objectOf = (kind: AnyKind, name: string, spec: object): KubeObject => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: at(name),
    spec,
  })
  async function refusalOf(write: Promise<unknown>): Promise<string> {
    try {
      await write
      return 'It was taken.'
    } catch (error) {
      if (!isKubeError(error)) throw error
      return `${error.reason} ${error.denial?.message ?? error.message}`
    }
  }

  before(async () => {
    admin = await administrator()
    const boundaryId = (await makeBoundary()).id
    const { name: group } = await makeGroup(boundaryId)
    space = groupNamespace(boundaryId, group)
    caller = await makeCaller({ Contributor: `/boundaries/${boundaryId}` })
    client = await clientWithToken(caller.token)
    await until('the API server takes tokens', async () => (await client.request({ path: '/api' })).status === 200)
    await admin.create(RelationalCluster.resource, objectOf(RelationalCluster, 'guarded', { running: false }))
    await admin.create(RelationalCluster.resource, objectOf(RelationalCluster, 'mine', { running: false }))
    await admin.create(ObjectStorageAccount.resource, objectOf(ObjectStorageAccount, 'vaulted', {}))
    await admin.create(
      AccountBucket.resource,
      objectOf(AccountBucket, 'vaulted-reports', { accountName: 'vaulted', bucketName: 'reports' }),
    )
    const spec = { accountName: 'vaulted' }
    await admin.create(ObjectAccessKey.resource, objectOf(ObjectAccessKey, 'production', spec))
    const scope = `/boundaries/${boundaryId}/resourcegroups/${group}/resources`
    const denied = [
      { scope: `${scope}/relationalclusters/guarded`, actions: ['*'] },
      { scope: `${scope}/objectstorageaccounts/vaulted`, actions: ['*'] },
      { scope: `/boundaries/${boundaryId}`, actions: ['kernel/deployments/token'] },
    ]
    for (const [index, deny] of denied.entries()) {
      await admin.create(DenyAssignment.resource, {
        apiVersion: DenyAssignment.apiVersion,
        kind: DenyAssignment.kind,
        metadata: { namespace: boundaryNamespace(boundaryId), name: GRANTED.replace(/^a/, String(index)) },
        spec: {
          principalId: caller.principalId,
          principalType: 'ServicePrincipal',
          ...deny,
          dataActions: deny.actions[0] === '*' ? ['*'] : [],
        },
      })
    }
    const denies = `/boundaries/${boundaryId}/providers/authorization/denyAssignments`
    await until('the denies are known', async () => (await itemsOf(denies)).length === denied.length)
    for (const [kind, name] of [
      [RelationalCluster, 'guarded'],
      [ObjectStorageAccount, 'vaulted'],
    ] as const) {
      const isDenied = async () => /Forbidden/.test(await refusalOf(client.get(kind.resource, at(name))))
      await until(`the deny of ${name} counts`, isDenied)
    }
  })
  after(async () => {
    await Promise.all([client?.close(), admin?.close()])
  })

  const restoreFrom = { clusterName: 'guarded', snapshotId: SNAPSHOT }
  const made: [what: string, kind: AnyKind, spec: object, refusal: RegExp][] = [
    ['a restore of its snapshot', RelationalCluster, { restoreFrom }, /snapshots you may not restore/],
    [
      'a database that takes over its name',
      RelationalCluster,
      { restoreFrom, takesOver: 'guarded' },
      /may not (change|restore)/,
    ],
    [
      'a database that connects to it',
      RelationalCluster,
      { connectTo: 'guarded' },
      /connectTo of a RelationalCluster is written by an administrator/,
    ],
    [
      'a bucket in it',
      AccountBucket,
      { accountName: 'vaulted', bucketName: 'more' },
      /holder of the verb createbuckets/,
    ],
    [
      'a site that is built with denied credentials',
      StaticWebApp,
      { repositoryUrl: 'https://git.example.com/a/b', deploymentSourceId: SNAPSHOT },
      /credentials you may not use/,
    ],
    ['a key to it', ObjectAccessKey, { accountName: 'vaulted', permission: 'Admin' }, /holder of the verb createkeys/],
  ]
  for (const [what, kind, spec, refusal] of made) {
    it(`refuses ${what}`, async () => {
      expect(await refusalOf(client.create(kind.resource, objectOf(kind, 'new', spec)))).to.match(refusal)
    })
  }

  it('refuses a snapshot of it', async () => {
    const object = objectOf(RelationalSnapshot, SNAPSHOT, { clusterName: 'guarded', name: 'nightly' })
    expect(await refusalOf(client.create(RelationalSnapshot.resource, object))).to.match(
      /holder of the verb createsnapshot/,
    )
  })

  it('refuses to connect another database to it, and allows other changes of that database', async () => {
    const patch = (spec: object) => refusalOf(client.mergePatch(RelationalCluster.resource, at('mine'), { spec }))
    expect(await patch({ connectTo: 'guarded' })).to.match(
      /connectTo of a RelationalCluster is written by an administrator/,
    )
    expect(await patch({ tags: { team: 'search' } })).to.equal('It was taken.')
  })

  const parts: [kind: AnyKind, name: string][] = [
    [AccountBucket, 'vaulted-reports'],
    [ObjectAccessKey, 'production'],
  ]
  for (const [kind, name] of parts) {
    it(`refuses to read, change and delete its ${kind.kind}`, async () => {
      const { resource } = kind
      expect(await refusalOf(client.get(resource, at(name)))).to.match(/^Forbidden/)
      expect(await refusalOf(client.list(resource, { namespace: space }))).to.match(/^Forbidden/)
      const labels = { metadata: { labels: { team: 'x' } } }
      expect(await refusalOf(client.mergePatch(resource, at(name), labels))).to.match(/^Forbidden/)
      expect(await refusalOf(client.remove(resource, at(name)))).to.match(/^Forbidden/)
    })
  }

  it('allows everything on an account of the caller', async () => {
    await client.create(ObjectStorageAccount.resource, objectOf(ObjectStorageAccount, 'own', {}))
    const bucket = objectOf(AccountBucket, 'own-reports', { accountName: 'own', bucketName: 'reports' })
    expect(await refusalOf(client.create(AccountBucket.resource, bucket))).to.equal('It was taken.')
    await until('the bucket is known as a part of the account', async () => {
      return (await refusalOf(client.get(AccountBucket.resource, at('own-reports')))) === 'It was taken.'
    })
    expect(await refusalOf(client.remove(AccountBucket.resource, at('own-reports')))).to.equal('It was taken.')
  })
})
