import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import type { AnyKind } from './define.ts'
import { AccountBucket } from './objectstorage.ts'
import { RelationalCluster } from './relational.ts'
import { RelationalSnapshot } from './relationalSnapshots.ts'
import {
  type GroupContents,
  isRetainedClaim,
  listGroupHolders,
  mustBeRetained,
  retainedElsewhere,
  retainedVolumesOf,
} from './retention.ts'
import { SecretVault, VaultEntry } from './vaults.ts'
import { VectorCluster } from './vector.ts'

const NOTHING: GroupContents = () => []
const object = (name: string, spec: object = {}, more: object = {}) =>
  ({ apiVersion: '', kind: '', metadata: { name }, spec, ...more }) as KubeObject

describe('mustBeRetained, buckets', () => {
  const at = { storeName: 'media.films', usageAt: '2026-01-01T00:00:00Z' }
  const cases: [sentence: string, objectLock: boolean, status: object | undefined, isHeld: boolean][] = [
    ['is true for a bucket with object lock and objects', true, { ...at, objectCount: 1, usedBytes: 9 }, true],
    ['is true for a bucket with empty objects', true, { ...at, objectCount: 1, usedBytes: 0 }, true],
    ['is true for a bucket with former versions only', true, { ...at, objectCount: 0, usedBytes: 9 }, true],
    ['is true before the first measurement', true, { storeName: 'media.films' }, true],
    ['is false once the bucket is empty', true, { ...at, objectCount: 0, usedBytes: 0 }, false],
    ['is false before the bucket exists at the store', true, {}, false],
    ['is false without a status', true, undefined, false],
    ['is false without object lock', false, { ...at, objectCount: 1, usedBytes: 9 }, false],
  ]
  for (const [sentence, objectLock, status, isHeld] of cases) {
    it(sentence, () => {
      const metadata = { name: 'media.films', namespace: 'shop' }
      const spec = { accountName: 'media', bucketName: 'films', objectLock }
      const bucket = { apiVersion: '', kind: 'AccountBucket', metadata, spec, status } as KubeObject
      expect(mustBeRetained(AccountBucket, bucket, NOTHING)).to.equal(isHeld)
    })
  }
})

describe('mustBeRetained, snapshots', () => {
  const cases: [sentence: string, kind: string, databases: string[], isHeld: boolean][] = [
    ['is true once the database is deleted', 'Manual', [], true],
    ['is false for a manual snapshot while the database exists', 'Manual', ['orders'], false],
    ['is true while another database exists', 'Manual', ['sales'], true],
    ['is true for a final snapshot, even if another database has the name', 'Final', ['orders'], true],
  ]
  for (const [sentence, kind, databases, isHeld] of cases) {
    it(sentence, () => {
      const snapshot = object('id', { clusterName: 'orders', name: 'last', kind })
      const contents = databases.map((name) => object(name))
      const completed = { ...snapshot, status: { completedAt: '2026-11-29T00:00:00Z' } } as KubeObject
      expect(
        mustBeRetained(RelationalSnapshot, completed, (of) => (of === RelationalCluster ? contents : [])),
      ).to.equal(isHeld)
    })
  }

  it('is false for a snapshot that is not complete, or is being deleted', () => {
    for (const kind of ['Manual', 'Final']) {
      const spec = { clusterName: 'orders', name: 'last', kind }
      expect(mustBeRetained(RelationalSnapshot, object('id', spec), NOTHING), kind).to.equal(false)
      const leaving = object('id', spec, { status: { completedAt: '2026-11-29T00:00:00Z' } })
      leaving.metadata.deletionTimestamp = '2026-11-30T00:00:00Z'
      expect(mustBeRetained(RelationalSnapshot, leaving, NOTHING), kind).to.equal(false)
    }
  })
})

describe('mustBeRetained', () => {
  const ready = { firstReadyAt: '2026-01-01T00:00:00Z', backupEnabled: true }
  const cases: [sentence: string, kind: AnyKind, spec: object, status: object, isHeld: boolean][] = [
    ['is true with deletionProtection', VectorCluster, { deletionProtection: true }, {}, true],
    ['is true with onDelete Retain', VectorCluster, { onDelete: 'Retain' }, {}, true],
    ['is false without either', VectorCluster, { deletionProtection: false, onDelete: 'Delete' }, {}, false],
    ['is true with a final snapshot to take', RelationalCluster, { finalSnapshotOnDelete: true }, ready, true],
    ['is false without a final snapshot', RelationalCluster, { finalSnapshotOnDelete: false }, ready, false],
    [
      'is false for a database that never ran',
      RelationalCluster,
      { finalSnapshotOnDelete: true },
      { backupEnabled: true },
      false,
    ],
    [
      'is false without backups',
      RelationalCluster,
      { finalSnapshotOnDelete: true },
      { ...ready, backupEnabled: false },
      false,
    ],
  ]
  for (const [sentence, kind, spec, status, isHeld] of cases)
    it(sentence, () => expect(mustBeRetained(kind, object('orders', spec, { status }), NOTHING)).to.equal(isHeld))

  const entry = (vaultName: string) =>
    object('one', { vaultName, state: 'Active', history: { versions: [{ version: 1 }] } })
  for (const [sentence, enablePurgeProtection, entries, isHeld] of [
    ['is true for a vault with purge protection and a secret', true, [entry('keys')], true],
    ['is false for a vault without secrets', true, [], false],
    ['is false for a vault with secrets of another one', true, [entry('other')], false],
    ['is false without purge protection', false, [entry('keys')], false],
  ] as const)
    it(sentence, () => {
      const contents: GroupContents = (kind) => (kind === VaultEntry ? entries : [])
      expect(mustBeRetained(SecretVault, object('keys', { enablePurgeProtection }), contents)).to.equal(isHeld)
    })
})

describe('what holds a group', () => {
  const claim = (name: string, annotations: object, deletionTimestamp?: string) =>
    ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, annotations, deletionTimestamp },
    }) as KubeObject
  const kept = claim('kept', { 'freehold.dev/retained-for': 'VectorCluster/orders' })
  const leaving = claim('leaving', kept.metadata.annotations ?? {}, '2026-01-01T00:00:00Z')

  it('are protected resources and retained volumes, sorted', () => {
    const contents: GroupContents = (kind) =>
      kind === VectorCluster ? [object('z', { deletionProtection: true }), object('free')] : []
    const claims = [leaving, claim('used', {}), kept]
    expect(claims.map(isRetainedClaim)).to.deep.equal([false, false, true])
    const held = listGroupHolders(contents, claims, ['persistentvolumeclaims/cluster/far'])
    expect(held).to.deep.equal([
      'persistentvolumeclaims/cluster/far',
      'persistentvolumeclaims/kept',
      'vectorclusters/z',
    ])
    expect(retainedVolumesOf(held)).to.deep.equal(held.slice(0, 2))
  })

  it('are volumes on other clusters, in the namespace of the group', () => {
    const resolvedNamespaces = [
      { namespace: 'shop', retainedVolumes: ['data'] },
      { namespace: 'blog', retainedVolumes: ['other'] },
      { namespace: 'shop' },
    ]
    const projections = [object('cluster', {}, { status: { resolvedNamespaces } }), object('new')]
    expect(retainedElsewhere(projections, 'shop')).to.deep.equal(['persistentvolumeclaims/cluster/data'])
  })
})
