import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ANNA, assign, B1, SHOP } from '../../../test/make/authorizationRecords.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { JitRequest, RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { MAX_ROLE_REQUESTS } from '../rules/requests.ts'
import { jitRoutes } from './jit.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const PATH = `${B1}/providers/authorization/jitRequests`

describe('POST of a JitRequest', () => {
  it('ignores a pending request for a former incarnation of the scope', async () => {
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

  it('returns QUOTA_EXCEEDED above MAX_ROLE_REQUESTS of the caller, ended ones included', async () => {
    const facade = makeFacade({ roles: [...BUILT_IN_ROLES], assignments: [assign('Reader', B1)] })
    for (const { name, ...spec } of BUILT_IN_ROLES) facade.records.put(RoleDefinition, { name }, spec)
    facade.boundary(BOUNDARY, {})
    facade.group(BOUNDARY, 'shop')
    const body = { roleDefinitionName: 'Contributor', scope: SHOP, justification: 'an incident', durationMinutes: 60 }
    const ask = () => codeOf(facade.call(jitRoutes, 'POST', PATH, { body, caller: ANNA }))
    const put = (principalId: string, count: number) => {
      for (let index = 0; index < count; index += 1) {
        const spec = { ...body, principalId, principalType: 'User', decision: 'Cancelled' }
        facade.records.put(JitRequest, { namespace: boundaryNamespace(BOUNDARY), name: randomUUID() }, spec)
      }
    }
    put(randomUUID(), MAX_ROLE_REQUESTS)
    put(ANNA, MAX_ROLE_REQUESTS - 1)
    expect(await ask()).to.include({ code: 'none' })
    facade.group(BOUNDARY, 'depot')
    const other = { ...body, scope: SHOP.replace('shop', 'depot') }
    const refused = codeOf(facade.call(jitRoutes, 'POST', PATH, { body: other, caller: ANNA }))
    expect(await refused).to.include({ code: 'QUOTA_EXCEEDED' })
  })
})
