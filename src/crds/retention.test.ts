import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import { AccountBucket } from './objectstorage.ts'
import { RelationalCluster } from './relational.ts'
import { RelationalSnapshot } from './relationalSnapshots.ts'
import { mustBeRetained } from './retention.ts'

describe('a bucket holds its group', () => {
  const at = { storeName: 'media.films', usageAt: '2026-01-01T00:00:00Z' }
  const cases: [sentence: string, objectLock: boolean, status: object | undefined, isHeld: boolean][] = [
    ['while it has locks and holds objects', true, { ...at, objectCount: 1, usedBytes: 9 }, true],
    ['also where these are empty', true, { ...at, objectCount: 1, usedBytes: 0 }, true],
    [
      'also where only former versions are left, which may be locked',
      true,
      { ...at, objectCount: 0, usedBytes: 9 },
      true,
    ],
    ['before anybody looked into it', true, { storeName: 'media.films' }, true],
    ['not once it was found empty', true, { ...at, objectCount: 0, usedBytes: 0 }, false],
    ['not before it is at the store', true, {}, false],
    ['not before it was seen', true, undefined, false],
    ['not without locks', false, { ...at, objectCount: 1, usedBytes: 9 }, false],
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

describe('a completed snapshot holds its group', () => {
  const cases: [sentence: string, kind: string, databases: string[], isHeld: boolean][] = [
    ['once its database is deleted', 'Manual', [], true],
    ['not while its database is there, with which it goes', 'Manual', ['orders'], false],
    ['where it is the last one, also when another database has the name', 'Final', ['orders'], true],
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
