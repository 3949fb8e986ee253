// @inTurn plain: takes the Owners from the platform.
import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { makePerson } from '../make/people.ts'
import { until } from '../make/until.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Body = { id: string; code: string; assignmentId: string }

describe('the last Owner at the root', () => {
  let own: OwnPlatform
  const taken: (RoleAssignment & KubeObject)[] = []

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator()
  })
  after(async () => {
    // Other files need them.
    for (const { apiVersion, kind, metadata, spec } of taken) {
      const { name, namespace } = metadata
      await own.admin.create(RoleAssignment.resource, {
        apiVersion,
        kind,
        metadata: { name, namespace },
        spec,
      } as never)
    }
    await giveBack(own)
  })

  const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => callOwn<Body>(own, method, path, body)
  const ownersAtRoot = async () => {
    const { items } = await own.admin.list<RoleAssignment & KubeObject>(RoleAssignment.resource, {
      namespace: SYSTEM_NAMESPACE,
    })
    return items.filter(({ spec }) => spec.roleDefinitionName === 'Owner' && spec.scope === '/')
  }
  /** A member of the tenant who is therefore Owner at the root. */
  async function makeOwner(tenantId: string): Promise<{ userId: string; assignmentId: string }> {
    const { userId } = await makePerson(own.admin)
    const body = { userId, tenantId, roleDefinitionName: 'Owner' }
    const added = await until('the person is known', async () => {
      const answer = await ask('POST', '/admin/iam/members', body)
      return answer.status === 201 && answer
    })
    return { userId, assignmentId: added.body.assignmentId }
  }

  it('stays a member of the tenant until there is another Owner at the root', async () => {
    const { body: tenant } = await ask('POST', '/admin/tenants', { displayName: 'Acme' })
    const { clientId } = own.platform
    await own.admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: 'platform-owner', namespace: SYSTEM_NAMESPACE },
      spec: {
        principalId: clientId,
        principalType: 'ServicePrincipal',
        roleDefinitionName: 'Platform Owner',
        scope: '/',
      },
    })
    const last = await makeOwner(tenant.id)
    for (const owner of await ownersAtRoot()) {
      if (owner.spec.principalId === last.userId) continue
      await own.admin.remove(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE, name: owner.metadata.name })
      taken.push(owner)
    }
    const membership = `/admin/iam/members/${last.userId}/${tenant.id}`
    const refused = await ask('DELETE', membership)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'last_owner'])
    expect((await ownersAtRoot()).map(({ spec }) => spec.principalId)).to.deep.equal([last.userId])

    const next = await makeOwner(tenant.id)
    expect((await ask('DELETE', membership)).status).to.equal(204)
    expect((await ownersAtRoot()).map(({ spec }) => spec.principalId)).to.deep.equal([next.userId])
    const again = await ask('DELETE', `/admin/iam/members/${next.userId}/${tenant.id}`)
    expect([again.status, again.body.code]).to.deep.equal([409, 'last_owner'])
  })
})
