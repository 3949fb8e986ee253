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

describe('roleChanges', () => {
  const cases: [string, RoleRule[], RoleRule[] | undefined, { added: RoleRule[]; removed: RoleRule[] } | undefined][] =
    [
      [
        'returns nothing if both grant the same, however it is grouped',
        [rule(['get', 'list'])],
        [rule(['list']), rule(['get'])],
        undefined,
      ],
      ['adds all rules of a missing role', [rule(['get'])], undefined, { added: [rule(['get'])], removed: [] }],
      ['adds a missing verb', [rule(['get', 'watch'])], [rule(['get'])], { added: [rule(['watch'])], removed: [] }],
      [
        'removes a surplus verb',
        [rule(['get'])],
        [rule(['get', 'delete'])],
        { added: [], removed: [rule(['delete'])] },
      ],
      [
        'handles a resource name with a space',
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
  kubeRoleCeiling: () => {
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
  FakeRoleCeiling: () => {
    const ceiling = new FakeRoleCeiling()
    ceiling.mayApply = 'Bearer may'
    ceiling.differing = roleChanges({ x: [rule(['get', 'list'])], y: [rule(['get'])] }, [role('x', rule(['get']))])
    return { ceiling, may: 'Bearer may' }
  },
}

for (const [name, make] of Object.entries(worlds))
  describe(`the ceiling of projected roles ${name}`, () => {
    it("applies changes with the caller's rights, and then reports no more", async () => {
      const { ceiling, may } = make()
      const changes = await ceiling.changes()
      expect(changes.map((one) => `${one.name} ${one.stored === undefined}`)).to.deep.equal(['x false', 'y true'])
      expect(await ceiling.apply(may, changes)).to.equal(true)
      expect(await ceiling.changes()).to.deep.equal([])
    })

    it('applies nothing if the API server refuses the caller', async () => {
      const { ceiling } = make()
      expect(await ceiling.apply('Bearer other', await ceiling.changes())).to.equal(false)
      expect(await ceiling.changes()).to.have.length(2)
    })
  })
