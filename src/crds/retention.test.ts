import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import { AccountBucket } from './objectstorage.ts'
import { RelationalCluster } from './relational.ts'
import { RelationalSnapshot } from './relationalSnapshots.ts'
import { mustBeRetained } from './retention.ts'

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
      const object = { apiVersion: '', kind: 'AccountBucket', metadata, spec, status } as KubeObject
      expect(mustBeRetained(AccountBucket, object, () => [])).to.equal(isHeld)
    })
  }
})

describe('mustBeRetained, snapshots', () => {
  const cases: [sentence: string, kind: string, databases: string[], isHeld: boolean][] = [
    ['is true once the database is deleted', 'Manual', [], true],
    ['is false for a manual snapshot while the database exists', 'Manual', ['orders'], false],
    ['is true for a final snapshot, even if another database has the name', 'Final', ['orders'], true],
  ]
  for (const [sentence, kind, databases, isHeld] of cases) {
    it(sentence, () => {
      const object = (name: string, spec: object) =>
        ({ apiVersion: '', kind: '', metadata: { name }, spec }) as KubeObject
      const snapshot = object('id', { clusterName: 'orders', name: 'last', kind })
      const contents = databases.map((name) => object(name, {}))
      const completed = { ...snapshot, status: { completedAt: '2026-11-29T00:00:00Z' } } as KubeObject
      expect(
        mustBeRetained(RelationalSnapshot, completed, (of) => (of === RelationalCluster ? contents : [])),
      ).to.equal(isHeld)
    })
  }
})
