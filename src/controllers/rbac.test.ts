import { expect } from 'chai'
import { BOUNDARY_ID, type ControllerBench } from '../../test/worlds/controllers.ts'
import { GrantsBench, HOUR, LIFE, PRINCIPAL, REQUEST, SCOPE, SHOP } from '../../test/worlds/grantsWorld.ts'
import {
  INCARNATION_ANNOTATION,
  PRINCIPAL_INCARNATIONS_ANNOTATION,
  ROLE_INCARNATION_ANNOTATION,
  SCOPE_INCARNATION_ANNOTATION,
} from '../core/labels.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { reservedNamespaceObject } from '../core/namespaces.ts'
import type { KubeObject } from '../core/object.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformUser } from '../crds/identity.ts'
import { DenyAssignment, JitRequest, RoleAssignment, RoleDefinition } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import { namespace } from '../kube/builtin.ts'

describe('controllers of assignments and custom roles', () => {
  let world: GrantsBench
  let bench: ControllerBench
  let space: string
  let group: KubeObject
  const inFuture = (milliseconds: number) => world.inFuture(milliseconds)
  const seed = (kind: AnyKind, name: string, spec: object) => world.seed(kind, name, spec)
  const assign = (name: string, spec: object) => world.assign(name, spec)
  const names = (kind: AnyKind) => world.names(kind)
  const ask = (spec: object) => world.ask(spec)

  beforeEach(() => {
    world = new GrantsBench()
    ;({ bench, space, group } = world)
  })
  afterEach(() => bench.stop())

  const astray: [sentence: string, scope: string][] = [
    ['in another boundary', '/boundaries/00000000-0000-4000-8000-000000000009'],
    ['at the root', '/'],
    ['with an invalid path', `${SCOPE}/resourcegroups/-shop-`],
  ]
  for (const [sentence, scope] of astray) {
    for (const kind of [RoleAssignment, DenyAssignment]) {
      it(`report ConfigurationInvalid for a ${kind.kind} in a boundary with a scope ${sentence}`, async () => {
        const spec = kind === DenyAssignment ? { actions: ['apps/read'] } : { roleDefinitionName: 'Reader' }
        bench.client.seed(kind.resource, {
          apiVersion: kind.apiVersion,
          kind: kind.kind,
          metadata: { name: 'astray', namespace: space },
          spec: {
            principalId: PRINCIPAL,
            principalType: 'User',
            excludedPrincipalIds: [],
            dataActions: [],
            ...spec,
            scope,
          },
        })
        await bench.start()
        const found = (await bench.find(kind.resource, 'astray', space)) as KubeObject & {
          status?: { conditions?: { reason: string; message: string }[] }
        }
        expect(JSON.stringify(found.status?.conditions)).to.include('ConfigurationInvalid').and.include('has no effect')
      })
    }
  }

  it('delete expired assignments and keep the others', async () => {
    assign('for-ever', {})
    assign('hour', { expiresAt: inFuture(HOUR) })
    assign('over', { expiresAt: inFuture(-1) })
    seed(DenyAssignment, 'held', {
      isEveryone: false,
      actions: ['jobs/write'],
      scope: SCOPE,
      expiresAt: inFuture(HOUR),
    })
    await bench.start()
    expect(await names(RoleAssignment)).to.deep.equal(['for-ever', 'hour'])
    await bench.clock.advance(HOUR - 1000)
    await bench.rest()
    expect(await names(RoleAssignment)).to.deep.equal(['for-ever', 'hour'])
    await bench.clock.advance(2000)
    await bench.rest()
    expect(await names(RoleAssignment)).to.deep.equal(['for-ever'])
    expect(await names(DenyAssignment)).to.deep.equal([])
  })

  for (const [title, annotations, isLate] of [
    ['exists', LIFE, false],
    ['was created with kubectl', {}, false],
    ['is created later', LIFE, true],
    ['is created later with kubectl', {}, true],
  ] as const) {
    it(`record the incarnation of a principal that ${title}`, async () => {
      const come = () =>
        bench.seed(PlatformUser, PRINCIPAL, { userName: 'anna' }, { namespace: SYSTEM_NAMESPACE, annotations })
      if (!isLate) come()
      assign('grant', { scopeIncarnation: 'now' })
      seed(DenyAssignment, 'deny', { actions: ['apps/read'], scope: SCOPE })
      ask({})
      await bench.start()
      if (isLate) come()
      await bench.clock.advance(2000)
      await bench.rest()
      const life = (await bench.find(PlatformUser.resource, PRINCIPAL, SYSTEM_NAMESPACE))?.metadata.annotations?.[
        INCARNATION_ANNOTATION
      ]
      expect(life).to.match(/\S/)
      for (const [kind, name] of [
        [RoleAssignment, 'grant'],
        [DenyAssignment, 'deny'],
        [JitRequest, REQUEST],
      ] as const) {
        const { annotations: written } = (await bench.find(kind.resource, name, space))?.metadata ?? {}
        expect(written?.[PRINCIPAL_INCARNATIONS_ANNOTATION], kind.kind).to.equal(JSON.stringify({ [PRINCIPAL]: life }))
      }
    })
  }

  describe('for a custom role', () => {
    const define = (name: string, displayName: string, incarnation: string) =>
      bench.seed(
        RoleDefinition,
        name,
        { displayName, actions: ['apps/read'], assignableScopes: ['/boundaries/*'] },
        { annotations: { [INCARNATION_ANNOTATION]: incarnation } },
      )
    const lifeOf = async (name: string) =>
      (await bench.find(RoleAssignment.resource, name, space))?.metadata.annotations?.[ROLE_INCARNATION_ANNOTATION]

    it('record the incarnation of the role', async () => {
      define('custom', 'Custom', 'first')
      assign('one', { roleDefinitionName: 'Custom', scopeIncarnation: 'now' })
      assign('built-in', { scopeIncarnation: 'now' })
      await bench.start()
      await bench.clock.advance(2000)
      await bench.rest()
      expect(await lifeOf('one')).to.equal('first')
      expect(await lifeOf('built-in')).to.equal(undefined)
    })

    const conditionsOf = async (kind: AnyKind, name: string, home?: string) =>
      JSON.stringify(((await bench.find(kind.resource, name, home)) as { status?: object } | undefined)?.status ?? {})
    const pass = async () => {
      await bench.rest()
      await bench.clock.advance(2000)
      await bench.rest()
    }

    it('report a missing and a deleted role for its assignment', async () => {
      assign('one', { roleDefinitionName: 'Custom', scopeIncarnation: 'now' })
      await bench.start()
      await pass()
      expect(await conditionsOf(RoleAssignment, 'one', space)).to.include('There is no role \\"Custom\\" yet.')
      define('custom', 'Custom', 'first')
      await pass()
      expect(await conditionsOf(RoleAssignment, 'one', space)).to.include('"reason":"Available"')
      await bench.client.remove(RoleDefinition.resource, { name: 'custom' })
      await pass()
      expect(await conditionsOf(RoleAssignment, 'one', space))
        .to.include('ReferenceMissing')
        .and.include('was deleted, so this assignment grants nothing')
      define('anew', 'Custom', 'second')
      await pass()
      expect(await conditionsOf(RoleAssignment, 'one', space)).to.include('ReferenceMissing')
    })

    it('report NameOccupied for a role with the name of an older or built-in one', async () => {
      define('zeta', 'Custom', 'first')
      await bench.start()
      bench.seed(
        RoleDefinition,
        'alpha',
        { displayName: 'Custom', actions: ['apps/write'], assignableScopes: ['/'] },
        { creationTimestamp: inFuture(HOUR) },
      )
      define('reads', 'Reader', 'first')
      await pass()
      expect(await conditionsOf(RoleDefinition, 'zeta')).to.include('"reason":"Available"')
      expect(await conditionsOf(RoleDefinition, 'alpha'))
        .to.include('NameOccupied')
        .and.include('belongs to the older role zeta')
      expect(await conditionsOf(RoleDefinition, 'reads')).to.include('belongs to a built-in role')
      await bench.client.remove(RoleDefinition.resource, { name: 'zeta' })
      await pass()
      expect(await conditionsOf(RoleDefinition, 'alpha')).to.include('"reason":"Available"')
    })

    it('record the incarnation of a role that is created later', async () => {
      assign('one', { roleDefinitionName: 'Custom', scopeIncarnation: 'now' })
      await bench.start()
      define('custom', 'Custom', 'first')
      await bench.rest()
      await bench.clock.advance(2000)
      await bench.rest()
      expect(await lifeOf('one')).to.equal('first')
    })
  })

  it('follow a later expiresAt', async () => {
    assign('hour', { expiresAt: inFuture(HOUR) })
    await bench.start()
    bench.client.edit(RoleAssignment.resource, { namespace: space, name: 'hour' }, (object) => {
      Object.assign(object.spec as object, { expiresAt: inFuture(3 * HOUR) })
    })
    await bench.rest()
    await bench.clock.advance(2 * HOUR)
    await bench.rest()
    expect(await names(RoleAssignment)).to.deep.equal(['hour'])
  })

  describe('for an assignment without a scope incarnation', () => {
    const lifeOf = async (name: string) =>
      (await bench.find(RoleAssignment.resource, name, space))?.metadata.annotations?.[SCOPE_INCARNATION_ANNOTATION]

    it('record the incarnation of its scope', async () => {
      assign('silent', { scope: SHOP })
      await bench.start()
      expect(await lifeOf('silent')).to.equal('now')
    })

    it('record the incarnation of a scope that the cache shows later', async () => {
      assign('silent', { scope: `${SHOP}/resources/${VectorCluster.segment}/safe` })
      await bench.start()
      const metadata = { namespace: groupNamespace(BOUNDARY_ID, 'shop'), annotations: LIFE }
      bench.seed(VectorCluster, 'safe', {}, { ...metadata, creationTimestamp: inFuture(-HOUR) })
      await bench.clock.advance(60_000)
      await bench.rest()
      expect(await lifeOf('silent')).to.equal('now')
    })

    it('report ReferenceMissing if the scope was created later', async () => {
      const metadata = { namespace: space, creationTimestamp: inFuture(-HOUR).replace('.000', '') }
      const spec = { principalId: PRINCIPAL, principalType: 'User', roleDefinitionName: 'Reader', scope: SHOP }
      bench.seed(RoleAssignment, 'older', spec, metadata)
      await bench.start()
      expect(await lifeOf('older')).to.equal(undefined)
      const found = await bench.find<KubeObject>(RoleAssignment.resource, 'older', space)
      expect(JSON.stringify(found?.status)).to.include('ReferenceMissing')
    })
  })

  describe('for an assignment older than its group', () => {
    const lifeOf = async (name: string) =>
      (await bench.find(RoleAssignment.resource, name, space))?.metadata.annotations?.[SCOPE_INCARNATION_ANNOTATION]
    const reserve = (creationTimestamp: string) => {
      const home = reservedNamespaceObject({ for: 'ResourceGroup', name: groupNamespace(BOUNDARY_ID, 'later') })
      bench.client.seed(namespace, { ...home, metadata: { ...home.metadata, creationTimestamp } })
    }
    const assignAt = (creationTimestamp: string) =>
      bench.seed(
        RoleAssignment,
        'early',
        {
          principalId: PRINCIPAL,
          principalType: 'User',
          roleDefinitionName: 'Reader',
          scope: `${SCOPE}/resourcegroups/later`,
        },
        { namespace: space, creationTimestamp },
      )
    const comes = async () => {
      const creationTimestamp = inFuture(0)
      bench.seed(
        ResourceGroup,
        'later',
        { tags: {}, quota: {} },
        { namespace: space, annotations: LIFE, creationTimestamp },
      )
      await bench.rest()
    }

    it('record the incarnation of the group if its namespace was reserved before', async () => {
      reserve(inFuture(-HOUR))
      assignAt(inFuture(-HOUR))
      await bench.start()
      expect(await lifeOf('early')).to.equal(undefined)
      const found = await bench.find<KubeObject>(RoleAssignment.resource, 'early', space)
      expect(JSON.stringify(found?.status)).to.include('WaitingForGroup')
      await comes()
      expect(await lifeOf('early')).to.equal('now')
    })

    it('record nothing if the namespace was reserved later', async () => {
      reserve(inFuture(-HOUR / 2))
      assignAt(inFuture(-HOUR))
      await bench.start()
      await comes()
      expect(await lifeOf('early')).to.equal(undefined)
    })
  })

  it('set the group as owner of an assignment at it, but not of one at another incarnation', async () => {
    bench.seed(VectorCluster, 'index', {}, { namespace: groupNamespace(BOUNDARY_ID, 'shop'), annotations: LIFE })
    assign('in-group', { scope: SHOP, scopeIncarnation: 'now' })
    assign('in-resource', { scope: `${SHOP}/resources/vectorclusters/index` })
    assign('of-earlier', { scope: SHOP, scopeIncarnation: 'before' })
    assign('at-boundary', {})
    await bench.start()
    const ownersOf = async (name: string) =>
      (await bench.find(RoleAssignment.resource, name, space))?.metadata.ownerReferences?.map(({ uid }) => uid)
    expect(await ownersOf('in-group')).to.deep.equal([group.metadata.uid])
    expect(await ownersOf('in-resource')).to.deep.equal([group.metadata.uid])
    expect(await ownersOf('of-earlier')).to.equal(undefined)
    expect(await ownersOf('at-boundary')).to.equal(undefined)
  })

  it('write nothing at rest', async () => {
    assign('for-ever', {})
    await bench.start()
    bench.writes()
    await bench.clock.advance(3 * 24 * HOUR)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
  })
})
