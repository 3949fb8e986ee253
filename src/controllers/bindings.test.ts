import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { CREATED_BY_ANNOTATION, INCARNATION_ANNOTATION, ROLE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { PlatformUser } from '../crds/identity.ts'
import { PlatformTenant, PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { IdpBinding } from '../crds/sso.ts'
import { bindingController } from './bindings.ts'

const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const BINDING = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'
const ADA = '11111111-1111-4111-8111-111111111111'
const BEN = '22222222-2222-4222-8222-222222222222'
const GROUP = '33333333-3333-4333-8333-333333333333'
const ISSUER = 'https://login.acme.example'
const namespace = SYSTEM_NAMESPACE
type User = PlatformUser & KubeObject

describe('IdpBinding controller', () => {
  let bench: ControllerBench
  beforeEach(() => {
    bench = new ControllerBench([bindingController])
    bench.seedGroup('orders')
  })
  afterEach(() => bench.stop())

  const person = (id: string, groups: string[], change: object = {}) =>
    bench.seed(
      PlatformUser,
      id,
      {
        userName: id,
        emailVerified: true,
        isEnabled: true,
        isExternal: true,
        tenantIds: [TENANT],
        externalIdentity: { tenantId: TENANT, alias: 'a', issuer: ISSUER, subject: id, claims: { groups }, ...change },
      },
      { namespace },
    )
  const bind = (spec: object) => {
    const base = { tenantId: TENANT, issuer: ISSUER, claim: 'groups', claimValue: 'staff' }
    bench.seed(IdpBinding, BINDING, { ...base, ...spec }, { namespace })
  }
  const group = (home: string, metadata: Partial<KubeObject['metadata']> = {}, memberIds: string[] = []) =>
    bench.seed(
      PrincipalGroup,
      GROUP,
      { displayName: 'Staff', description: '', memberIds },
      { namespace: home, ...metadata },
    )
  const says = (id: string, groups: string[]) =>
    bench.client.edit<User>(PlatformUser.resource, { namespace, name: id }, ({ spec }) => {
      if (spec.externalIdentity !== undefined) spec.externalIdentity.claims = { groups }
    })
  const holders = async () => {
    const { items } = await bench.client.list<KubeObject & { spec: { principalId: string } }>(RoleAssignment.resource)
    return items.map(({ metadata, spec }) => `${metadata.namespace} ${spec.principalId}`).sort()
  }
  const members = async () =>
    (await bench.client.list<KubeObject & { spec: { memberIds: string[] } }>(PrincipalGroup.resource)).items[0]?.spec
      .memberIds
  const removeBinding = async () => {
    await bench.client.remove(IdpBinding.resource, { namespace, name: BINDING })
    await bench.rest()
  }

  it('assigns the role incarnation that the binding was made for', async () => {
    const base = { tenantId: TENANT, issuer: ISSUER, claim: 'groups', claimValue: 'staff' }
    const annotations = { [ROLE_INCARNATION_ANNOTATION]: 'first' }
    const spec = { ...base, roleDefinitionName: 'Custom', scope: `/boundaries/${BOUNDARY_ID}` }
    bench.seed(IdpBinding, BINDING, spec, { namespace, annotations })
    person(ADA, ['staff'])
    await bench.start()
    const [given] = (await bench.client.list(RoleAssignment.resource)).items
    expect(given?.metadata.annotations?.[ROLE_INCARNATION_ANNOTATION]).to.equal('first')
  })

  it('revokes the role when the person signs in for another tenant', async () => {
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}` })
    person(ADA, ['staff'])
    await bench.start()
    expect(await holders()).to.have.length(1)
    bench.client.edit<User>(PlatformUser.resource, { namespace, name: ADA }, ({ spec }) => {
      if (spec.externalIdentity !== undefined) spec.externalIdentity.tenantId = BEN
    })
    await bench.rest()
    expect(await holders()).to.deep.equal([])
  })

  it('makes no pass for a sign-in with the same claims', async () => {
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}` })
    person(ADA, ['staff'])
    await bench.start()
    const [given] = (await bench.client.list(RoleAssignment.resource)).items
    if (given === undefined) throw new Error('nothing was given')
    await bench.client.remove(RoleAssignment.resource, {
      namespace: given.metadata.namespace,
      name: given.metadata.name,
    })
    await bench.client.mergePatch(
      PlatformUser.resource,
      { namespace, name: ADA },
      { status: { lastSignInAt: '2026-01-01T00:00:00Z' } },
      { subresource: 'status' },
    )
    await bench.rest()
    expect(await holders(), 'a pass would have given it again').to.deep.equal([])
  })

  it('makes the tenant the owner of the binding', async () => {
    const tenant = bench.seed(PlatformTenant, TENANT, { displayName: 'Acme' })
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}` })
    await bench.start()
    const found = await bench.find(IdpBinding.resource, BINDING, namespace)
    expect(found?.metadata.ownerReferences?.map(({ uid }) => uid)).to.deep.equal([tenant.metadata.uid])
  })

  it('assigns the role to each user with the exact claim value and revokes it with the claim or binding', async () => {
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}` })
    person(ADA, ['staff', 'x'])
    person(BEN, ['Staff'])
    await bench.start()
    const home = boundaryNamespace(BOUNDARY_ID)
    expect(await holders()).to.deep.equal([`${home} ${ADA}`])
    says(BEN, ['staff'])
    says(ADA, [])
    await bench.rest()
    expect(await holders()).to.deep.equal([`${home} ${BEN}`])
    await removeBinding()
    expect(await holders()).to.deep.equal([])
  })

  it('assigns nothing to people of another tenant or another issuer', async () => {
    bind({ roleDefinitionName: 'Reader', scope: '/' })
    person(ADA, ['staff'], { tenantId: BINDING })
    person(BEN, ['staff'], { issuer: `${ISSUER}/` })
    await bench.start()
    expect(await holders()).to.deep.equal([])
  })

  it('adds members only to the incarnation of the group that had the id, in its boundary', async () => {
    const staff = (home: string, incarnation: string) =>
      group(home, { annotations: { [INCARNATION_ANNOTATION]: incarnation } })
    const membersIn = async (home: string) => {
      const found = await bench.client.get(PrincipalGroup.resource, { namespace: home, name: GROUP })
      return (found.spec as { memberIds: string[] }).memberIds
    }
    const home = boundaryNamespace(BOUNDARY_ID)
    bind({ groupId: GROUP })
    staff(home, 'first')
    person(ADA, ['staff'])
    await bench.start()
    expect(await membersIn(home)).to.deep.equal([ADA])
    staff(namespace, 'foreign')
    person(BEN, ['staff'])
    await bench.rest()
    expect([await membersIn(home), await membersIn(namespace)]).to.deep.equal([[ADA, BEN], []])
    await bench.client.remove(PrincipalGroup.resource, { namespace: home, name: GROUP })
    staff(home, 'second')
    await bench.rest()
    expect([await membersIn(home), await membersIn(namespace)]).to.deep.equal([[], []])
  })

  it('adds members to the oldest group with the id while no incarnation is recorded', async () => {
    const home = boundaryNamespace(BOUNDARY_ID)
    const copy = boundaryNamespace('00000000-0000-4000-8000-000000000001')
    group(copy, { creationTimestamp: '2026-02-01T00:00:00Z' })
    group(home, { creationTimestamp: '2026-01-01T00:00:00Z' })
    bind({ groupId: GROUP })
    person(ADA, ['staff'])
    await bench.start()
    const { items } = await bench.client.list<KubeObject & { spec: { memberIds: string[] } }>(PrincipalGroup.resource)
    const filled = items.filter(({ spec }) => spec.memberIds.length > 0).map(({ metadata }) => metadata.namespace)
    expect(filled).to.deep.equal([home])
  })

  it('adds and removes its own members of a group and keeps the others', async () => {
    bind({ groupId: GROUP })
    group(boundaryNamespace(BOUNDARY_ID), {}, [TENANT])
    person(ADA, ['staff'])
    await bench.start()
    expect(await members()).to.deep.equal([TENANT, ADA])
    says(ADA, [])
    await bench.rest()
    expect(await members()).to.deep.equal([TENANT])
    says(ADA, ['staff'])
    await bench.rest()
    await removeBinding()
    expect(await members()).to.deep.equal([TENANT])
  })

  const leave = async (id: string, home = boundaryNamespace(BOUNDARY_ID)) => {
    const ref = { namespace: home, name: GROUP }
    const { spec } = await bench.client.get<KubeObject & { spec: { memberIds: string[] } }>(
      PrincipalGroup.resource,
      ref,
    )
    const memberIds = spec.memberIds.filter((one) => one !== id)
    await bench.client.mergePatch(PrincipalGroup.resource, ref, { spec: { memberIds } })
  }
  const lose = async (id: string) => {
    const { items } = await bench.client.list<KubeObject & { spec: { principalId: string } }>(RoleAssignment.resource)
    const own = items.find(({ spec }) => spec.principalId === id)
    const { namespace: home, name = '' } = own?.metadata ?? {}
    await bench.client.remove(RoleAssignment.resource, { namespace: home, name })
  }
  const shares: [what: string, spec: object, take: (id: string) => Promise<void>, who: () => Promise<string[]>][] = [
    ['a membership in a group', { groupId: GROUP }, leave, async () => (await members()) ?? []],
    [
      'a role',
      { roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}` },
      lose,
      async () => (await holders()).map((words) => words.split(' ')[1] ?? ''),
    ],
  ]
  for (const [what, spec, take, who] of shares)
    it(`does not restore ${what} that was revoked by hand until the claim has ended and come back`, async () => {
      bind(spec)
      group(boundaryNamespace(BOUNDARY_ID))
      person(ADA, ['staff'])
      person(BEN, ['staff'])
      await bench.start()
      expect(await who()).to.have.members([ADA, BEN])
      await take(ADA)
      says(ADA, ['staff', 'more'])
      says(BEN, ['staff', 'more'])
      await bench.rest()
      expect(await who()).to.deep.equal([BEN])
      says(BEN, ['staff', 'more', 'yet more'])
      await bench.rest()
      expect(await who(), 'in a later pass').to.deep.equal([BEN])
      says(ADA, [])
      await bench.rest()
      says(ADA, ['staff'])
      await bench.rest()
      expect(await who()).to.have.members([ADA, BEN])
      await removeBinding()
      expect(await who()).to.deep.equal([])
    })

  for (const [what, spec, , who] of shares)
    it(`does not give ${what} to the creator of the binding`, async () => {
      const base = { tenantId: TENANT, issuer: ISSUER, claim: 'groups', claimValue: 'staff' }
      const annotations = { [CREATED_BY_ANNOTATION]: ADA }
      bench.seed(IdpBinding, BINDING, { ...base, ...spec }, { namespace, annotations })
      group(boundaryNamespace(BOUNDARY_ID))
      person(ADA, ['staff'])
      person(BEN, ['staff'])
      await bench.start()
      expect(await who()).to.deep.equal([BEN])
    })

  it('finishes the changes of a process that died before it made them', async () => {
    const spec = { tenantId: TENANT, issuer: ISSUER, claim: 'groups', claimValue: 'staff', groupId: GROUP }
    const { apiVersion, kind, resource } = IdpBinding
    const status = { memberIds: [], changingIds: [ADA, BEN], leftIds: [] }
    bench.client.seed(resource, { apiVersion, kind, metadata: { namespace, name: BINDING }, spec, status })
    group(boundaryNamespace(BOUNDARY_ID), {}, [BEN, TENANT])
    person(ADA, ['staff'])
    person(BEN, [])
    await bench.start()
    expect(await members()).to.deep.equal([TENANT, ADA])
  })

  it('reports ReferenceMissing for a role in a boundary that does not exist', async () => {
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BEN}` })
    person(ADA, ['staff'])
    await bench.start()
    expect(await holders()).to.deep.equal([])
    const found = await bench.find<IdpBinding & KubeObject>(IdpBinding.resource, BINDING, namespace)
    expect(found?.status?.phase).to.equal('ReferenceMissing')
  })

  it('assigns the role once the boundary appears after the binding', async () => {
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BEN}` })
    person(ADA, ['staff'])
    await bench.start()
    bench.seed(Boundary, BEN, { displayName: 'Late' })
    await bench.rest()
    expect(await holders()).to.deep.equal([`${boundaryNamespace(BEN)} ${ADA}`])
  })

  for (const [sentence, named] of [
    ['without a scope incarnation', {}],
    ['with a scope incarnation', { scopeIncarnation: 'of-the-boundary' }],
  ] as const)
    it(`assigns nothing in a recreated boundary for a binding ${sentence}`, async () => {
      bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}`, ...named })
      person(ADA, ['staff'])
      await bench.start()
      expect(await holders()).to.deep.equal([`${boundaryNamespace(BOUNDARY_ID)} ${ADA}`])
      await bench.client.remove(Boundary.resource, { name: BOUNDARY_ID })
      for (const { metadata } of (await bench.client.list(RoleAssignment.resource)).items)
        await bench.client.remove(RoleAssignment.resource, { namespace: metadata.namespace ?? '', name: metadata.name })
      await bench.rest()
      const annotations = { [INCARNATION_ANNOTATION]: 'of-the-next' }
      bench.seed(Boundary, BOUNDARY_ID, { displayName: 'Anew' }, { annotations })
      person(BEN, ['staff'])
      await bench.rest()
      expect(await holders()).to.deep.equal([])
      const found = await bench.find<IdpBinding & KubeObject>(IdpBinding.resource, BINDING, namespace)
      expect(found?.status?.phase).to.equal('ReferenceMissing')
    })

  it('assigns nothing in a recreated group', async () => {
    const home = boundaryNamespace(BOUNDARY_ID)
    const live = (incarnation: string) =>
      bench.seed(ResourceGroup, 'web', {}, { namespace: home, annotations: { [INCARNATION_ANNOTATION]: incarnation } })
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}/resourcegroups/web` })
    live('first')
    await bench.start()
    await bench.client.remove(ResourceGroup.resource, { namespace: home, name: 'web' })
    await bench.rest()
    live('second')
    await bench.rest()
    person(ADA, ['staff'])
    await bench.rest()
    expect(await holders()).to.deep.equal([])
  })

  it('writes nothing when nothing changed', async () => {
    bind({ roleDefinitionName: 'Reader', scope: `/boundaries/${BOUNDARY_ID}` })
    person(ADA, ['staff'])
    await bench.start()
    bench.writes()
    await bench.clock.advance(86_400_000)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
  })
})
