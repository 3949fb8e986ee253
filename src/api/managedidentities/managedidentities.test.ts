import { expect } from 'chai'
import { assign, B1 } from '../../../test/make/authorizationRecords.ts'
import { StandInApp } from '../../../test/make/workload.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { managedIdentityPrincipal, managedIdentitySecretName } from '../../contracts/managedIdentities.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { managedIdentityRoutes } from './index.ts'
import type { ManagedIdentityDto } from './record.ts'

const ID = B1.slice(12)
const BASE = `${B1}/resourcegroups/shop/providers/identity/managedidentities`
const SPACE = groupNamespace(ID, 'shop')
const routes = managedIdentityRoutes([StandInApp])
const READY = {
  conditions: [{ type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' }],
  firstReadyAt: '2026-01-01T00:00:00Z',
  secretVersion: 1,
}
const NAME = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'
const PRINCIPAL = managedIdentityPrincipal(SPACE, NAME, 'life')

function shop() {
  const read: string[] = []
  const data: Record<string, SecretData> = {}
  const secrets = {
    read: async (namespace: string, name: string) => {
      read.push(`${namespace}/${name}`)
      return data[name]
    },
  }
  const signIn = { tokenUrl: 'https://id.test/token', audience: 'platform', realm: 'test' }
  const facade = makeFacade(
    { roles: [...BUILT_IN_ROLES], assignments: [assign('Owner', B1)] },
    { managedIdentities: { secrets, signIn } },
  )
  facade.boundary(ID)
  facade.group(ID, 'shop')
  const app = facade.records.put(StandInApp, { namespace: SPACE, name: 'web' }, {})
  const identity = (status: object | undefined = READY, spec: object = {}) =>
    facade.records.put(
      ManagedIdentity,
      { namespace: SPACE, name: NAME, annotations: { [INCARNATION_ANNOTATION]: 'life' } },
      { resourceName: 'web', resourceType: 'apps', resourceUid: app.metadata.uid, ...spec },
      status,
    )
  const uid = app.metadata.uid ?? ''
  return { ...facade, app, uid, identity, read, data }
}

describe('managed identities over REST', () => {
  it('creates an identity for a resource once', async () => {
    const { call, uid } = shop()
    const body = { resourceName: 'web', resourceType: 'apps', resourceUid: uid }
    const first = await call(routes, 'POST', BASE, { body })
    const again = await call(routes, 'POST', BASE, { body })
    expect([first.status, again.status]).to.deep.equal([201, 200])
    const [made, same] = [first.body as ManagedIdentityDto, again.body as ManagedIdentityDto]
    expect(made.id).to.equal(same.id)
    expect([made.status, made.resourceUid, made.resourceGroup]).to.deep.equal(['Provisioning', uid, 'shop'])
  })

  const wrong: [string, (uid: string) => object][] = [
    ['another uid', () => ({ resourceUid: 'f1d2' })],
    ['another resourceName', () => ({ resourceName: 'mail' })],
    ['a collection that is not served', () => ({ resourceType: 'jobs' })],
  ]
  for (const [title, change] of wrong) {
    it(`rejects ${title}: 422 REFERENCE_NOT_FOUND`, async () => {
      const { call, uid } = shop()
      const body = { resourceName: 'web', resourceType: 'apps', resourceUid: uid, ...change(uid) }
      expect((await codeOf(call(routes, 'POST', BASE, { body }))).code).to.equal('REFERENCE_NOT_FOUND')
    })
  }

  it('rejects a resource that is being deleted', async () => {
    const { call, records, uid } = shop()
    records.put(StandInApp, { namespace: SPACE, name: 'web', uid, deletionTimestamp: '2026-01-01T00:00:00Z' }, {})
    const body = { resourceName: 'web', resourceType: 'apps', resourceUid: uid }
    expect((await codeOf(call(routes, 'POST', BASE, { body }))).code).to.equal('REFERENCE_NOT_FOUND')
  })

  it('rejects a collection without code by the schema', () => {
    const post = routes.find(({ method, path }) => method === 'POST' && path.endsWith('managedidentities'))
    const body = { resourceName: 'web', resourceType: 'vectorclusters', resourceUid: 'x' }
    expect(post?.body?.safeParse(body).success).to.equal(false)
  })

  it('shows the role assignments of the identity only', async () => {
    const { call, identity, records, uid } = shop()
    identity()
    const spec = { principalType: 'ServicePrincipal', roleDefinitionName: 'Reader', scope: B1 }
    const namespace = boundaryNamespace(ID)
    records.put(RoleAssignment, { namespace, name: 'a' }, { ...spec, principalId: PRINCIPAL })
    records.put(RoleAssignment, { namespace, name: 'b' }, { ...spec, principalId: ID })
    const { body } = await call(routes, 'GET', `${BASE}/${uid}`)
    const dto = body as ManagedIdentityDto
    expect([dto.status, dto.principalId, dto.clientId]).to.deep.equal(['Ready', PRINCIPAL, PRINCIPAL])
    expect(dto.roleAssignments.map(({ roleDefinitionName, scope }) => [roleDefinitionName, scope])).to.deep.equal([
      ['Reader', B1],
    ])
  })

  it('returns 404 for a resource without an identity and for a missing group', async () => {
    const { call, uid } = shop()
    expect((await codeOf(call(routes, 'GET', `${BASE}/nothing`))).code).to.equal('NOT_FOUND')
    const path = `${BASE.replace('/shop/', '/nowhere/')}/${uid}`
    expect((await codeOf(call(routes, 'GET', path))).code).to.equal('NOT_FOUND')
  })

  it('returns the credentials from the Secret in the system namespace', async () => {
    const { call, identity, data, read, uid } = shop()
    identity()
    const name = managedIdentitySecretName(PRINCIPAL, 1)
    data[name] = secretData({ 'client-secret': 'open sesame' })
    const { body } = await call(routes, 'POST', `${BASE}/${uid}/token`)
    expect(body).to.deep.equal({
      grantType: 'client_credentials',
      clientId: PRINCIPAL,
      clientSecret: 'open sesame',
      tokenUrl: 'https://id.test/token',
      audience: 'platform',
      realm: 'test',
      expiresAt: null,
      secretVersion: 1,
    })
    expect(read).to.deep.equal([`${SYSTEM_NAMESPACE}/${name}`])
  })

  const unready: [string, object | undefined, object][] = [
    ['before the first status', undefined, {}],
    ['while a new secret version is created', READY, { secretVersion: 2 }],
    ['if its Secret is missing', READY, {}],
  ]
  for (const [title, status, spec] of unready) {
    it(`returns 409 INVALID_STATE for credentials ${title}`, async () => {
      const { call, identity, uid, records } = shop()
      identity()
      records.put(
        ManagedIdentity,
        { namespace: SPACE, name: NAME, annotations: { [INCARNATION_ANNOTATION]: 'life' } },
        { resourceName: 'web', resourceType: 'apps', resourceUid: uid, ...spec },
        status,
      )
      expect((await codeOf(call(routes, 'POST', `${BASE}/${uid}/token`))).code).to.equal('INVALID_STATE')
    })
  }

  it('says why an identity that failed has no credentials, instead of advising a retry', async () => {
    const { call, identity, uid } = shop()
    const condition = { status: 'True', reason: 'ReferenceMissing', message: 'No resource.', lastTransitionTime: '' }
    identity({ conditions: [{ ...condition, type: 'Stalled' }] })
    const refused = await call(routes, 'POST', `${BASE}/${uid}/token`).catch((error: Error) => error)
    expect(refused).to.have.property('message', 'This identity has no credentials: No resource.')
  })

  it('deletes an identity with 204', async () => {
    const { call, identity, uid } = shop()
    identity()
    expect((await call(routes, 'DELETE', `${BASE}/${uid}`)).status).to.equal(204)
    expect((await codeOf(call(routes, 'GET', `${BASE}/${uid}`))).code).to.equal('NOT_FOUND')
  })
})
