import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { Resource } from '../core/object.ts'
import { PlatformUser } from '../crds/identity.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
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
