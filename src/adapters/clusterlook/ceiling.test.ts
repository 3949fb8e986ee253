import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import { clusterRole } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { kubeRoleCeiling, type RoleCeiling } from './ceiling.ts'
import { FakeRoleCeiling } from './fake.ts'
import type { RoleRule } from './port.ts'
import { roleChanges } from './roles.ts'

const rule = (verbs: string[], resourceNames?: string[]): RoleRule => ({
  ...{ apiGroups: ['a'], resources: ['b'], verbs },
  ...(resourceNames !== undefined && { resourceNames }),
})
const role = (name: string, ...rules: RoleRule[]) =>
  ({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules }) as KubeObject

describe('what roles have to change', () => {
  const cases: [string, RoleRule[], RoleRule[] | undefined, { added: RoleRule[]; removed: RoleRule[] } | undefined][] =
    [
      [
        'is nothing if they give the same, however it is grouped',
        [rule(['get', 'list'])],
        [rule(['list']), rule(['get'])],
        undefined,
      ],
      ['is all of one that is not there', [rule(['get'])], undefined, { added: [rule(['get'])], removed: [] }],
      ['is a verb too few', [rule(['get', 'watch'])], [rule(['get'])], { added: [rule(['watch'])], removed: [] }],
      ['is a verb too many', [rule(['get'])], [rule(['get', 'delete'])], { added: [], removed: [rule(['delete'])] }],
      [
        'is a name that holds a space',
        [rule(['grant'], ['Platform Owner'])],
        [rule(['grant'])],
        { added: [rule(['grant'], ['Platform Owner'])], removed: [rule(['grant'])] },
      ],
    ]
  for (const [sentence, wanted, stored, expected] of cases)
    it(sentence, () => {
      const [change] = roleChanges({ x: wanted }, [
        role('other'),
        ...(stored === undefined ? [] : [role('x', ...stored)]),
      ])
      expect(change && { added: change.added, removed: change.removed }).to.deep.equal(expected)
    })
})

type World = { ceiling: RoleCeiling; may: string }

const worlds: Record<string, () => World> = {
  'of an API server': () => {
    const client = new FakeKubeClient()
    client.seed(clusterRole, role('x', rule(['get'])))
    const clientAs = (authorization: string) => {
      if (authorization !== 'Bearer may') client.fail('patch', clusterRole, 'Forbidden')
      return client
    }
    return {
      ceiling: kubeRoleCeiling({
        type: clusterRole,
        client,
        clientAs,
        roles: { x: [rule(['get', 'list'])], y: [rule(['get'])] },
      }),
      may: 'Bearer may',
    }
  },
  'in memory': () => {
    const ceiling = new FakeRoleCeiling()
    ceiling.mayApply = 'Bearer may'
    ceiling.differing = roleChanges({ x: [rule(['get', 'list'])], y: [rule(['get'])] }, [role('x', rule(['get']))])
    return { ceiling, may: 'Bearer may' }
  },
}

for (const [name, make] of Object.entries(worlds))
  describe(`the ceiling of projected roles ${name}`, () => {
    it('is changed with the rights of whoever asks, and then differs no more', async () => {
      const { ceiling, may } = make()
      const changes = await ceiling.changes()
      expect(changes.map((one) => `${one.name} ${one.stored === undefined}`)).to.deep.equal(['x false', 'y true'])
      expect(await ceiling.apply(may, changes)).to.equal(true)
      expect(await ceiling.changes()).to.deep.equal([])
    })

    it('is not changed by whom the API server refuses', async () => {
      const { ceiling } = make()
      expect(await ceiling.apply('Bearer other', await ceiling.changes())).to.equal(false)
      expect(await ceiling.changes()).to.have.length(2)
    })
  })
