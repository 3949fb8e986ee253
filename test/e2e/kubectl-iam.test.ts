import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { METADATA_REFUSALS } from '../../scripts/generate/metadataPolicy.ts'
import { CREATED_BY_ANNOTATION, INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { FunctionNamespace } from '../../src/crds/functions.ts'
import { PlatformClient, PlatformUser } from '../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../src/crds/invitations.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { BoundaryTrust, DenyAssignment, PlatformTenant, PrincipalGroup, RoleAssignment } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { RULE_CASES } from '../cases/ruleCases.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, until } from '../worlds/platform.ts'
import { administrator, clientWithToken, tokenFor } from '../worlds/tenant.ts'

/** A spec that the rules of the kind accept. */
const caseOf = (kind: AnyKind) => RULE_CASES.find((one) => one.kind === kind && one.refused.length === 0)?.next ?? {}

describe('access control with kubectl', () => {
  let admin: KubeClient
  let boundaryId: string
  let home: string
  let owner: KubeClient
  let rootOwner: KubeClient
  let principalId: string

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    home = boundaryNamespace(boundaryId)
    const caller = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    principalId = caller.principalId
    owner = await clientWithToken(caller.token)
    rootOwner = await clientWithToken((await makeCaller({ Owner: '/' })).token)
    await until('the API server takes tokens', async () => (await owner.request({ path: '/api' })).status === 200)
    await until('the root assignment counts', async () => (await reads(rootOwner, SYSTEM_NAMESPACE)) === 200)
  })
  after(async () => {
    await Promise.all([owner.close(), rootOwner.close()])
    await admin.close()
  })

  async function send(
    client: KubeClient,
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ) {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await client.request({ method, path, headers: { 'content-type': type, ...headers }, ...sent })
    const { message = '' } = JSON.parse(await answer.text()) as { message?: string }
    return { status: answer.status, message }
  }
  const pathOf = ({ resource: { group, version, plural } }: AnyKind, namespace: string | undefined) =>
    `/apis/${group}/${version}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`
  const reads = async (client: KubeClient, namespace: string) =>
    (await send(client, 'GET', pathOf(RoleAssignment, namespace))).status

  function objectOf(kind: AnyKind, namespace: string | undefined, spec: object, metadata: object = {}): KubeObject {
    const { apiVersion, kind: named } = kind
    const place = namespace === undefined ? {} : { namespace }
    return { apiVersion, kind: named, metadata: { name: randomUUID(), ...place, ...metadata }, spec } as KubeObject
  }
  const create = (client: KubeClient, kind: AnyKind, namespace: string | undefined, spec: object, metadata?: object) =>
    send(client, 'POST', pathOf(kind, namespace), objectOf(kind, namespace, spec, metadata))

  const reading = (id: string, scope = `/boundaries/${boundaryId}`) => ({
    principalId: id,
    principalType: 'ServicePrincipal',
    roleDefinitionName: 'Reader',
    scope,
  })

  it('grants a role with an assignment, and withdraws it with its deletion', async () => {
    const { principalId: id, token } = await makeCaller()
    const name = randomUUID()
    expect(await create(owner, RoleAssignment, home, reading(id), { name })).to.include({ status: 201 })
    const read = async () => (await call('GET', `/boundaries/${boundaryId}`, undefined, { token })).status
    await until('REST allows the read', async () => (await read()) === 200)
    await owner.remove(RoleAssignment.resource, { namespace: home, name })
    await until('REST refuses the read', async () => (await read()) !== 200)
  })

  const closed: [AnyKind, object, string | undefined][] = [
    [MemberInvitation, caseOf(MemberInvitation), undefined],
    [PasswordReset, caseOf(PasswordReset), SYSTEM_NAMESPACE],
    [PlatformUser, { userName: 'mallory' }, SYSTEM_NAMESPACE],
    [PlatformClient, { displayName: 'Mallory', secretName: 'x' }, SYSTEM_NAMESPACE],
    [PlatformTenant, { displayName: 'Mallory' }, undefined],
    [ManagedIdentity, { resourceName: 'x', resourceType: 'apps', resourceUid: 'x' }, undefined],
    [PrincipalGroup, { displayName: 'Platform people' }, SYSTEM_NAMESPACE],
    [DenyAssignment, { isEveryone: true, actions: ['*'], scope: '/' }, SYSTEM_NAMESPACE],
  ]
  for (const [kind, spec, namespace] of closed) {
    it(`refuses ${kind.kind} ${namespace === SYSTEM_NAMESPACE ? 'in the namespace of the platform ' : ''}to an Owner at the root`, async () => {
      const place = kind.placement === 'cluster' ? undefined : (namespace ?? home)
      expect(await create(rootOwner, kind, place, spec)).to.include({ status: 403 })
    })
  }

  it('rejects the annotations for creator and incarnation from tenants', async () => {
    const spec = { principalId, principalType: 'ServicePrincipal', roleDefinitionName: 'Reader' }
    const places: [KubeClient, string, string][] = [
      [owner, home, `/boundaries/${boundaryId}`],
      [rootOwner, SYSTEM_NAMESPACE, '/'],
    ]
    for (const [client, namespace, scope] of places) {
      for (const key of [CREATED_BY_ANNOTATION, INCARNATION_ANNOTATION]) {
        const forged = { annotations: { [key]: randomUUID() } }
        const { status, message } = await create(client, RoleAssignment, namespace, { ...spec, scope }, forged)
        expect([status, message], namespace).to.deep.include(403)
        expect(message).to.include('written by the platform only')
      }
    }
  })

  it('rejects a finalizer on a role assignment, which would keep it after its deletion', async () => {
    const spec = reading((await makeCaller()).principalId)
    const held = await create(owner, RoleAssignment, home, spec, { finalizers: ['example.com/stay'] })
    expect(held.message).to.include(METADATA_REFUSALS.finalizers)
    const name = randomUUID()
    await create(owner, RoleAssignment, home, spec, { name })
    const patch = { metadata: { finalizers: ['example.com/stay'] } }
    const later = await send(owner, 'PATCH', `${pathOf(RoleAssignment, home)}/${name}`, patch)
    expect(later.message).to.include(METADATA_REFUSALS.finalizers)
  })

  it('rejects an owner reference on a deny, through which the garbage collector would remove it', async () => {
    const name = randomUUID()
    const spec = {
      principalId,
      principalType: 'ServicePrincipal',
      actions: ['jobs/write'],
      scope: `/boundaries/${boundaryId}`,
    }
    await admin.create(DenyAssignment.resource, objectOf(DenyAssignment, home, spec, { name }))
    const owners = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'nothing', uid: randomUUID() }]
    const patch = { metadata: { ownerReferences: owners } }
    const { status, message } = await send(owner, 'PATCH', `${pathOf(DenyAssignment, home)}/${name}`, patch)
    expect(status).to.equal(403)
    expect(message).to.include(METADATA_REFUSALS.ownerReferences)
    const labelled = { metadata: { labels: { colour: 'red' } } }
    expect(await send(owner, 'PATCH', `${pathOf(DenyAssignment, home)}/${name}`, labelled)).to.include({ status: 200 })
  })

  it('lets cluster administrators assign any role, but not create a trust in a boundary namespace', async () => {
    const given = objectOf(RoleAssignment, home, reading(randomUUID()))
    expect((await admin.create(RoleAssignment.resource, given)).metadata.name).to.equal(given.metadata.name)
    const astray = await create(admin, BoundaryTrust, home, {
      boundaryId,
      trustedBoundaryId: randomUUID(),
      actions: ['jobs/read'],
    })
    expect(astray.message).to.include(`stands only in namespace ${SYSTEM_NAMESPACE}`)
  })

  describe('bypasses in Kubernetes itself', () => {
    const RBAC = '/apis/rbac.authorization.k8s.io/v1'
    const binding = (kind: string, name: string, namespace?: string) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
      metadata: { name: 'mine', ...(namespace === undefined ? {} : { namespace }) },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `p:${principalId}` }],
    })
    const role = (verbs: string[]) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `mine-${principalId}` },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs }],
    })
    const ways: [string, string, () => object][] = [
      ['bind cluster-admin in the boundary', 'rolebindings', () => binding('ClusterRole', 'cluster-admin', home)],
      [
        'bind a projected role in the boundary',
        'rolebindings',
        () => binding('ClusterRole', 'freehold-project-owner', home),
      ],
      ['bind cluster-admin everywhere', 'clusterrolebindings', () => binding('ClusterRole', 'cluster-admin')],
      ['create a ClusterRole with all verbs', 'clusterroles', () => role(['*'])],
      [
        'create a ClusterRole with escalate, bind and impersonate',
        'clusterroles',
        () => role(['escalate', 'bind', 'impersonate']),
      ],
    ]
    for (const [way, plural, body] of ways) {
      it(`are closed to Owners: they may not ${way}`, async () => {
        const path = plural === 'rolebindings' ? `${RBAC}/namespaces/${home}/${plural}` : `${RBAC}/${plural}`
        for (const client of [owner, rootOwner])
          expect(await send(client, 'POST', path, body())).to.include({ status: 403 })
      })
    }

    for (const [header, value] of [
      ['impersonate-user', 'system:serviceaccount:freehold-system:freehold-facade'],
      ['impersonate-user', 'kubernetes-admin'],
      ['impersonate-user', `p:${randomUUID()}`],
    ] as const) {
      it(`are closed to Owners: they may not impersonate ${value.replace(/p:.*/, 'another principal')}`, async () => {
        const path = pathOf(RoleAssignment, home)
        for (const client of [owner, rootOwner]) {
          expect(await send(client, 'GET', path, undefined, { [header]: value })).to.include({ status: 403 })
        }
      })
    }

    it('are closed to Owners: they may not change the webhook or the policies', async () => {
      const registration = '/apis/admissionregistration.k8s.io/v1'
      for (const what of [
        'validatingwebhookconfigurations/freehold-iam',
        'validatingadmissionpolicies/freehold-iam-grants',
      ]) {
        const patch = { metadata: { labels: { colour: 'red' } } }
        expect(await send(rootOwner, 'PATCH', `${registration}/${what}`, patch)).to.include({ status: 403 })
      }
    })
  })

  it('grants roles to the principal of a managed identity', async () => {
    const group = (await makeGroup(boundaryId)).name
    const space = groupNamespace(boundaryId, group)
    const functions = objectOf(FunctionNamespace, space, { runtime: 'nodejs' })
    const named = { ...functions, metadata: { ...functions.metadata, name: 'shop' } }
    const resourceUid = (await admin.create(FunctionNamespace.resource, named)).metadata.uid ?? ''
    const spec = { resourceName: 'shop', resourceType: 'functionnamespaces', resourceUid }
    const made = objectOf(ManagedIdentity, space, spec)
    await admin.create(ManagedIdentity.resource, made)
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}/providers/identity/managedidentities/${resourceUid}`
    const identity = await until('the identity is ready', async () => {
      const { status, body } = await call<{ status: string; principalId: string }>('GET', path)
      return status === 200 && body.status === 'Ready' && body
    })
    type Credentials = { clientId: string; clientSecret: string }
    const { clientId, clientSecret } = (await expectCall<Credentials>(200, 'POST', `${path}/token`)).body
    const client = await clientWithToken(await tokenFor(clientId, clientSecret))
    try {
      expect(await reads(client, home)).to.equal(403)
      // Given by a tenant, with kubectl.
      expect(await create(owner, RoleAssignment, home, reading(identity.principalId))).to.include({ status: 201 })
      await until('it reads', async () => (await reads(client, home)) === 200)
      const given = await create(client, RoleAssignment, home, reading((await makeCaller()).principalId))
      expect(given).to.include({ status: 403 })
      expect(given.message).to.include('The permission boundaries/members/manage is missing')
    } finally {
      await client.close()
    }
  })
})
