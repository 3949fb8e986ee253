import { expect } from 'chai'
import { ANNA, assign, B1, BERT } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { timestamp } from '../../core/clock.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { roleAssignments } from './roleAssignments.ts'

const TENANT = '55555555-5555-4555-8555-555555555555'

describe('POST of a role assignment', () => {
  it('ignores an expired assignment that is not removed yet', async () => {
    const clock = new ManualClock()
    const facade = makeFacade({ roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', B1)] }, { clock })
    facade.boundary(B1.slice('/boundaries/'.length))
    for (const name of [ANNA, BERT])
      facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name }, { userName: name, tenantIds: [TENANT] })
    const post = (more: object = {}) =>
      facade.call(roleAssignments.routes(), 'POST', `${B1}/providers/authorization/roleAssignments`, {
        body: { principalId: BERT, roleDefinitionName: 'Reader', ...more },
      })
    await post({ expiresAt: timestamp(clock.now() + 60_000) })
    expect((await codeOf(post())).code).to.equal('already_exists')
    await clock.advance(60_000)
    expect((await post()).status).to.equal(201)
    expect((await codeOf(post())).code).to.equal('already_exists')
  })
})
