import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ManagedIdentityDto } from '../../src/api/managedidentities/record.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { FunctionNamespace } from '../../src/crds/functions.ts'
import { PlatformClient } from '../../src/crds/identity.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import {
  call,
  expectCall,
  expectRemoved,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, tokenFor } from '../worlds/tenant.ts'

type Credentials = {
  clientId: string
  clientSecret: string
  secretVersion: number
  grantType: string
  tokenUrl: string
}

/** An administrator creates the object of the resource: its controller is not tested here. */
describe('managed identities', () => {
  let admin: KubeClient
  let boundaryId: string
  let group: string
  let base: string
  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/providers/identity/managedidentities`
  })
  after(() => admin.close())

  const make = async (space = groupNamespace(boundaryId, group)) => {
    const resourceName = uniqueName('shop')
    const { apiVersion, kind } = FunctionNamespace
    const metadata = { name: resourceName, namespace: space }
    const object: KubeObject = { apiVersion, kind, metadata, spec: { runtime: 'nodejs' } }
    const resourceUid = (await admin.create(FunctionNamespace.resource, object)).metadata.uid ?? ''
    await admin.create(ManagedIdentity.resource, {
      apiVersion: ManagedIdentity.apiVersion,
      kind: ManagedIdentity.kind,
      metadata: { name: randomUUID(), namespace: space },
      spec: { resourceName, resourceType: 'functionnamespaces', resourceUid },
    })
    const identity = await until('the identity is ready', async () => {
      const { status, body } = await call<ManagedIdentityDto>('GET', `${base}/${resourceUid}`)
      return status === 200 && body.status === 'Ready' && body
    })
    return { ...identity, path: `${base}/${resourceUid}` }
  }
  const grant = (principalId: string, scope: string) =>
    admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: uniqueName('identity'), namespace: boundaryNamespace(boundaryId) },
      spec: { principalId, principalType: 'ServicePrincipal', roleDefinitionName: 'Reader', scope },
    })
  const accounts = async (name: string) => {
    const { items } = await admin.list(PlatformClient.resource, { namespace: SYSTEM_NAMESPACE })
    return items.filter(({ metadata }) => metadata.name === name)
  }
  const secretsOf = async (principalId: string) => {
    const { items } = await admin.list(secret, { namespace: SYSTEM_NAMESPACE })
    return items.map(({ metadata }) => metadata.name).filter((name) => name.includes(principalId))
  }

  it('sign in with their credentials and hold assigned roles until they are deleted', async () => {
    const identity = await make()
    const answer = await expectCall<Credentials>(200, 'POST', `${identity.path}/token`)
    const { clientId, clientSecret, secretVersion, grantType } = answer.body
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect([clientId, secretVersion, grantType]).to.deep.equal([identity.principalId, 1, 'client_credentials'])
    expect(identity.lastTokenAt).to.equal(null)
    const began = Date.now()
    const token = await tokenFor(clientId, clientSecret)
    const lastTokenAt = await until('the token is noted', async () => {
      return (await expectCall<ManagedIdentityDto>(200, 'GET', identity.path)).body.lastTokenAt ?? undefined
    })
    // Noted to the second.
    expect(Date.parse(lastTokenAt)).to.be.within(began - 1000, Date.now())
    const scope = `/boundaries/${boundaryId}/resourcegroups/${group}`
    expect((await call('GET', scope, undefined, { token })).status).to.equal(403)
    await grant(identity.principalId, scope)
    await until('the assignment counts', async () => (await call('GET', scope, undefined, { token })).status === 200)
    const { body } = await expectCall<ManagedIdentityDto>(200, 'GET', identity.path)
    expect(body.roleAssignments.map(({ roleDefinitionName }) => roleDefinitionName)).to.deep.equal(['Reader'])

    expect(await accounts(identity.principalId)).to.have.length(1)
    expect(await secretsOf(identity.principalId)).to.not.be.empty
    await expectRemoved(identity.path)
    expect(await accounts(identity.principalId)).to.deep.equal([])
    expect(await secretsOf(identity.principalId)).to.deep.equal([])
    const { items } = await admin.list(RoleAssignment.resource, {
      fieldSelector: `spec.principalId=${identity.principalId}`,
    })
    expect(items).to.deep.equal([])
    await until('the token is refused', async () => (await call('GET', scope, undefined, { token })).status === 401)
    expect((await call('GET', identity.path)).status).to.equal(404)
  })

  it('get a new secret on demand, which replaces the old one', async () => {
    const identity = await make()
    const before = (await expectCall<Credentials>(200, 'POST', `${identity.path}/token`)).body
    const after = (await expectCall<Credentials>(200, 'POST', `${identity.path}/token?rotate=true`)).body
    expect([after.secretVersion, after.clientId]).to.deep.equal([2, before.clientId])
    expect(after.clientSecret).not.to.equal(before.clientSecret)
    expect(await tokenFor(after.clientId, after.clientSecret)).to.be.a('string')
    const refusal = await tokenFor(before.clientId, before.clientSecret).catch(String)
    expect(refusal).to.match(/401/)
    expect(await secretsOf(identity.principalId)).to.have.length(1)
  })

  it('are listed by resource, and return credentials only to holders of the data action', async () => {
    const identity = await make()
    const rows = await itemsOf<ManagedIdentityDto>(`${base}?resourceName=${identity.resourceName}`)
    expect(rows.map(({ id }) => id)).to.deep.equal([identity.id])
    const { resourceName, resourceType, resourceUid } = identity
    const again = await expectCall<ManagedIdentityDto>(200, 'POST', base, { resourceName, resourceType, resourceUid })
    expect(again.body.id).to.equal(identity.id)
    const contributor = await makeCaller({ Contributor: `/boundaries/${boundaryId}` })
    const options = { token: contributor.token }
    expect((await call('GET', identity.path, undefined, options)).status).to.equal(200)
    expect((await call('POST', `${identity.path}/token`, undefined, options)).status).to.equal(403)
    expect((await call('POST', `${base}/${randomUUID()}/token`)).status).to.equal(404)
    const body = { resourceName: 'nothing', resourceType: 'apps', resourceUid: randomUUID() }
    const refused = await call('POST', base, body)
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
    const wrong = await call('POST', base, { ...body, resourceType: 'vectorclusters' })
    expect(wrong.status).to.equal(400)
  })

  it('are deleted with their group', async () => {
    const other = (await makeGroup(boundaryId)).name
    const space = groupNamespace(boundaryId, other)
    const path = `/boundaries/${boundaryId}/resourcegroups/${other}`
    await expectCall(201, 'POST', `${path}/resources/jobs/shop`, { image: 'docker.io/library/python' })
    const job = await admin.get(PlatformJob.resource, { namespace: space, name: 'shop' })
    const name = randomUUID()
    await admin.create(ManagedIdentity.resource, {
      apiVersion: ManagedIdentity.apiVersion,
      kind: ManagedIdentity.kind,
      metadata: { name, namespace: space },
      spec: { resourceName: 'shop', resourceType: 'jobs', resourceUid: job.metadata.uid },
    })
    const principalId = await until('it has an account', async () => {
      const { status } = await admin.get<ManagedIdentity & KubeObject>(ManagedIdentity.resource, {
        namespace: space,
        name,
      })
      return status?.principalId !== undefined && status.principalId
    })
    expect(await accounts(principalId)).to.have.length(1)
    await call('DELETE', path)
    await until('the group is deleted', async () => (await call('GET', path)).status === 404)
    expect(await accounts(principalId)).to.deep.equal([])
    expect(await secretsOf(principalId)).to.deep.equal([])
  })

  it('are rejected outside the namespace of a group', async () => {
    const refusal = await make(boundaryNamespace(boundaryId)).catch((error: unknown) => error)
    expect(isKubeError(refusal, 'Invalid')).to.equal(true)
  })
})
