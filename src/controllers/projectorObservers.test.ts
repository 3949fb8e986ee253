import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { SCOPE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { Resource } from '../core/object.ts'
import { PlatformUser } from '../crds/identity.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { roleBinding } from '../kube/builtin.ts'
import { withProjection } from './projector.ts'
import { resourceGroupController } from './resourcegroups.ts'

const NAMESPACE = 'boundary-11111111-1111-4111-8111-111111111111'

describe('withProjection, for a person with many assignments', () => {
  it('lists the groups of a boundary once, not once per assignment', () => {
    let lists = 0
    const assignments = Array.from({ length: 100 }, (_, index) => ({
      metadata: { name: `assignment-${index}`, namespace: NAMESPACE },
      spec: { principalId: 'anna' },
    }))
    const group = { metadata: { name: 'shop', namespace: NAMESPACE } }
    const cache = (of: { resource?: Resource } & Partial<Resource>) => ({
      byIndex: () => ((of.resource?.plural ?? of.plural) === RoleAssignment.resource.plural ? assignments : []),
      list: () => {
        if ((of.resource?.plural ?? of.plural) !== ResourceGroup.resource.plural) return []
        lists += 1
        return [group]
      },
    })
    const { observes } = withProjection(resourceGroupController(), true)
    const person = { metadata: { name: 'anna', namespace: SYSTEM_NAMESPACE } }
    const keys = observes.flatMap((one) => {
      if (!('keysOf' in one) || one.resource !== PlatformUser.resource) return []
      return [...(one.keysOf?.(person as never, { cache } as never) ?? [])]
    })
    expect(keys).to.deep.equal([`${NAMESPACE}/shop`])
    expect(lists).to.equal(1)
  })
})

describe('withProjection, in a boundary with many groups', () => {
  it('looks at the assignments once after one was added, not once per group', async () => {
    const bench = new ControllerBench([withProjection(resourceGroupController(), true)])
    let looks = 0
    const { records } = bench.environment
    const { cache } = records
    Object.assign(records, {
      cache: (one: Resource) => {
        const view = cache.call(records, one)
        if ((one as Partial<Resource>).plural !== RoleAssignment.resource.plural) return view
        return new Proxy(view, {
          get: (target, property) => {
            if (property === 'list') looks += 1
            const value: unknown = Reflect.get(target, property, target)
            return typeof value === 'function' ? value.bind(target) : value
          },
        })
      },
    })
    const { boundarySpace } = bench.seedGroup('shop')
    for (let index = 0; index < 30; index += 1)
      bench.seed(
        ResourceGroup,
        `shop-${index}`,
        { displayName: 'Shop', quota: {}, tags: {} },
        { namespace: boundarySpace },
      )
    try {
      await bench.start()
      looks = 0
      const scope = `/boundaries/${BOUNDARY_ID}`
      const annotations = { [SCOPE_INCARNATION_ANNOTATION]: 'of-the-boundary' }
      const spec = { principalId: 'anna', principalType: 'User', roleDefinitionName: 'Reader', scope }
      bench.seed(RoleAssignment, 'anna', spec, { namespace: boundarySpace, annotations })
      await bench.rest()
      const { items } = await bench.client.list(roleBinding)
      expect(items.filter(({ metadata }) => metadata.name.includes('reader'))).to.have.length(30)
      // In the boundary and in the platform.
      expect(looks).to.equal(2)
    } finally {
      await bench.stop()
    }
  })
})
