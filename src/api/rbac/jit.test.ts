import { expect } from 'chai'
import { ANNA, assign, B1, SHOP } from '../../../test/make/authorizationRecords.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { jitRoutes } from './jit.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const PATH = `${B1}/providers/authorization/jitRequests`

describe('a request for a role for a while', () => {
  it('is not in the way of another one where what it is for was made anew', async () => {
    const facade = makeFacade({ roles: [...BUILT_IN_ROLES], assignments: [assign('Reader', B1)] })
    for (const { name, ...spec } of BUILT_IN_ROLES) facade.records.put(RoleDefinition, { name }, spec)
    facade.boundary(BOUNDARY, {})
    const { metadata, spec } = facade.group(BOUNDARY, 'shop')
    const body = { roleDefinitionName: 'Contributor', scope: SHOP, justification: 'an incident', durationMinutes: 60 }
    const ask = () => codeOf(facade.call(jitRoutes, 'POST', PATH, { body, caller: ANNA }))
    expect(await ask()).to.include({ code: 'none' })
    expect(await ask()).to.include({ code: 'duplicate_pending' })
    facade.records.put(ResourceGroup, { ...metadata, annotations: { [INCARNATION_ANNOTATION]: 'another' } }, spec)
    expect(await ask()).to.include({ code: 'none' })
  })
})
