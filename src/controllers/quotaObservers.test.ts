import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { Boundary } from '../crds/boundaries.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import type { Observed } from './engine/controller.ts'
import { quotaObservers } from './quota.ts'

type Watched = Extract<Observed, { keysOf: unknown }>

describe('what wakes resources that wait for room', () => {
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
    it(`is the quota of a ${kind} and what is kept in it, not what its status says of itself`, () => {
      expect(wakes({}, { spec: { quota: { cpu: '4' } } })).to.equal(true)
      const retained = [{ kind: 'VectorCluster', name: 'gone', storage: '1Gi' }]
      expect(wakes({ status: { retainedStorage: retained } }, { status: { retainedStorage: [] } })).to.equal(true)
      const says = (message: string) => ({ status: { conditions: [{ type: 'Ready', message }], retainedStorage: [] } })
      expect(wakes(says('One.'), says('Two.'))).to.equal(false)
    })
  }
})
