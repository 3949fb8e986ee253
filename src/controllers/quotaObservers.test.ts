import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import type { Observed } from './engine/controller.ts'
import { quotaObservers } from './quota.ts'

type Watched = Extract<Observed, { keysOf: unknown }>

describe('quotaObservers', () => {
  for (const { kind, resource } of [Boundary, ResourceGroup]) {
    const wakes = (before: object, after: object) => {
      const found = quotaObservers(VectorCluster).find((one) => 'keysOf' in one && one.resource === resource)
      const relevant = (change: object) =>
        (found as Watched).relevant?.({
          apiVersion: 'v1',
          kind,
          metadata: { name: 'shop' },
          spec: { quota: {} },
          ...change,
        } as never)
      return relevant({}) === undefined || !isDeepStrictEqual(relevant(before), relevant(after))
    }
    it(`requeue after a changed quota or retained volume of a ${kind}, but not after its conditions`, () => {
      expect(wakes({}, { spec: { quota: { cpu: '4' } } })).to.equal(true)
      const retained = [{ kind: 'VectorCluster', name: 'gone', storage: '1Gi' }]
      expect(wakes({ status: { retainedStorage: retained } }, { status: { retainedStorage: [] } })).to.equal(true)
      const says = (message: string) => ({ status: { conditions: [{ type: 'Ready', message }], retainedStorage: [] } })
      expect(wakes(says('One.'), says('Two.'))).to.equal(false)
    })
  }

  const ofDatabases = quotaObservers(VectorCluster).find(
    (one): one is Watched => 'keysOf' in one && one.resource === VectorCluster.resource,
  )
  const database = (change: object): KubeObject => ({
    apiVersion: VectorCluster.apiVersion,
    kind: VectorCluster.kind,
    metadata: { name: 'orders', uid: 'one', resourceVersion: '1' },
    spec: { replicas: 3 },
    ...change,
  })
  const changes: [what: string, change: object, wakes: boolean][] = [
    ['requests less', { spec: { replicas: 1 } }, true],
    ['is deleted', { metadata: { name: 'orders', uid: 'one', deletionTimestamp: '2026-01-01T00:00:00Z' } }, true],
    ['has completed', { status: { completedAt: '2026-01-01T00:00:00Z' } }, true],
    ['has another annotation', { metadata: { name: 'orders', uid: 'one', annotations: { note: 'x' } } }, false],
    ['waits for the quota too', { status: { phase: 'QuotaExceeded', conditions: [] } }, false],
  ]
  for (const [what, change, wakes] of changes)
    it(`do ${wakes ? '' : 'not '}requeue after another resource ${what}`, () => {
      const [before, after] = [database({}), database(change)].map((one) => ofDatabases?.relevant?.(one))
      expect(isDeepStrictEqual(before, after)).to.equal(!wakes)
    })

  it('do not requeue after another resource was created', () => {
    expect(ofDatabases?.wakesOnCreate).to.equal(false)
  })
})
