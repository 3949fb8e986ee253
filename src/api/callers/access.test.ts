import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import {
  FORMER_INCARNATIONS_ANNOTATION,
  INCARNATION_ANNOTATION,
  INITIAL_OWNER_ASSIGNED_ANNOTATION,
  SCOPE_INCARNATION_ANNOTATION,
} from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { BoundaryTrust, DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { formerScope } from '../../iam/formerScope.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { createAccess } from './access.ts'

const B1 = '11111111-1111-4111-8111-111111111111'
const B2 = '22222222-2222-4222-8222-222222222222'
const ANNA = '33333333-3333-4333-8333-333333333333'
const TEAM = '44444444-4444-4444-8444-444444444444'
const SCOPE = `/boundaries/${B1}`
const GROUP = `${SCOPE}/resourcegroups/shop`
const ITEM = `${GROUP}/resources/vectorclusters/orders`
/** The incarnation of all objects unless given. */
const LIFE = { [INCARNATION_ANNOTATION]: 'life' }

describe('createAccess', () => {
  let version = 1
  let caches: CacheSet
  let access: ReturnType<typeof createAccess>
  beforeEach(() => {
    caches = new CacheSet({ client: new FakeKubeClient() })
    for (const kind of KINDS) caches.add(kind.resource)
    access = createAccess({ caches, clock: systemClock, log: silentLog })
    for (const id of [B1, B2]) put(Boundary, id, { displayName: 'Shop' })
    put(ResourceGroup, 'shop', {}, { namespace: boundaryNamespace(B1) })
    put(VectorCluster, 'orders', {}, { namespace: groupNamespace(B1, 'shop') })
  })
  afterEach(() => access.stop())

  /** Stores the object in the caches, like a watch event or an own write. */
  function put(
    kind: AnyKind,
    name: string,
    spec: object,
    more: { namespace?: string; annotations?: Record<string, string>; creationTimestamp?: string } = {},
  ) {
    version += 1
    const metadata = {
      name,
      uid: randomUUID(),
      resourceVersion: String(version),
      generation: 1,
      annotations: LIFE,
      ...more,
    }
    caches
      .get(kind.resource)
      .observeWrite({ apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: kind.spec.parse(spec) })
  }
  const remove = (kind: AnyKind, name: string, namespace?: string) =>
    caches.get(kind.resource).observeRemoval({ namespace, name }, undefined)
  function assign(spec: object, namespace = boundaryNamespace(B1)): string {
    const name = randomUUID()
    const incarnation = 'scope' in spec && spec.scope === '/' ? {} : { scopeIncarnation: 'life' }
    const fullSpec = {
      principalId: ANNA,
      principalType: 'User',
      roleDefinitionName: 'Reader',
      scope: SCOPE,
      ...incarnation,
      ...spec,
    }
    put(RoleAssignment, name, fullSpec, { namespace })
    return name
  }
  const reads = (scope = SCOPE, principal = ANNA) => access.isAllowed(principal, 'vectorcluster/read', scope)

  it('denies by default', () => expect(reads()).to.equal(false))

  it('applies an assignment at once, and drops it at once when it is removed', () => {
    const name = assign({})
    expect([reads(), reads(ITEM), reads(`/boundaries/${B2}`), reads('/')]).to.deep.equal([true, true, false, false])
    remove(RoleAssignment, name, boundaryNamespace(B1))
    expect(reads()).to.equal(false)
  })

  it('returns the id of the deciding assignment', () => {
    const name = assign({ scope: GROUP })
    expect(access.explain(ANNA, 'vectorcluster/read', ITEM).decidedBy?.id).to.equal(name)
  })

  const misplaced: [string, string, string][] = [
    ['a boundary in the namespace of another boundary', boundaryNamespace(B2), SCOPE],
    ['the root in the namespace of a boundary', boundaryNamespace(B1), '/'],
    ['a boundary in the namespace of the platform', SYSTEM_NAMESPACE, SCOPE],
    ['a group in its own namespace', groupNamespace(B1, 'shop'), GROUP],
    ['a boundary in a foreign namespace', 'default', SCOPE],
  ]
  for (const [sentence, namespace, scope] of misplaced) {
    it(`ignores an assignment of ${sentence}`, () => {
      assign({ scope, roleDefinitionName: 'Owner' }, namespace)
      expect([reads(), reads('/'), reads(ITEM)]).to.deep.equal([false, false, false])
    })
  }

  it('applies an assignment of the root in the namespace of the platform', () => {
    assign({ scope: '/' }, SYSTEM_NAMESPACE)
    expect([reads('/'), reads(ITEM)]).to.deep.equal([true, true])
  })

  it('ignores an expired assignment', () => {
    assign({ expiresAt: new Date(Date.now() - 1000).toISOString() })
    expect(reads()).to.equal(false)
    assign({ expiresAt: new Date(Date.now() + 60_000).toISOString() })
    expect(reads()).to.equal(true)
  })

  it('ignores an assignment for a former incarnation of a resource', () => {
    const namespace = groupNamespace(B1, 'shop')
    const annotated = (incarnation: string) => ({ namespace, annotations: { [INCARNATION_ANNOTATION]: incarnation } })
    assign({ scope: ITEM, scopeIncarnation: 'first' })
    expect(reads(ITEM)).to.equal(false)
    put(VectorCluster, 'orders', {}, annotated('first'))
    expect(reads(ITEM)).to.equal(true)
    remove(VectorCluster, 'orders', namespace)
    expect(reads(ITEM)).to.equal(false)
    put(VectorCluster, 'orders', {}, annotated('second'))
    expect(reads(ITEM)).to.equal(false)
    put(VectorCluster, 'orders', { replicas: 2 }, annotated('first'))
    expect(reads(ITEM)).to.equal(true)
  })

  it('ignores an assignment without a scope incarnation until the controller annotates it', () => {
    const unsaid = { scopeIncarnation: undefined }
    const name = assign({ scope: GROUP, ...unsaid })
    assign({ ...unsaid })
    expect([reads(GROUP), reads()]).to.deep.equal([false, false])
    const spec = { principalId: ANNA, principalType: 'User', roleDefinitionName: 'Reader', scope: GROUP }
    const annotations = { [SCOPE_INCARNATION_ANNOTATION]: 'life' }
    put(RoleAssignment, name, spec, { namespace: boundaryNamespace(B1), annotations })
    expect(reads(GROUP)).to.equal(true)
    remove(ResourceGroup, 'shop', boundaryNamespace(B1))
    put(
      ResourceGroup,
      'shop',
      {},
      { namespace: boundaryNamespace(B1), annotations: { [INCARNATION_ANNOTATION]: 'new' } },
    )
    expect(reads(GROUP)).to.equal(false)
  })

  it('compares the incarnations of groups and boundaries', () => {
    assign({ scope: GROUP, scopeIncarnation: 'g1' })
    assign({ scope: SCOPE, scopeIncarnation: 'b1' })
    put(
      ResourceGroup,
      'shop',
      {},
      { namespace: boundaryNamespace(B1), annotations: { [INCARNATION_ANNOTATION]: 'g1' } },
    )
    expect([reads(GROUP), reads()]).to.deep.equal([true, false])
    put(Boundary, B1, { displayName: 'Shop' }, { annotations: { [INCARNATION_ANNOTATION]: 'b1' } })
    expect(reads()).to.equal(true)
  })

  it('treats the initial owner as Owner until INITIAL_OWNER_ASSIGNED_ANNOTATION is set', () => {
    const spec = { displayName: 'Shop', initialOwner: { principalId: ANNA, principalType: 'User' } }
    put(Boundary, B1, spec)
    expect(access.isAllowed(ANNA, 'vectorcluster/write', ITEM)).to.equal(true)
    expect(reads(`/boundaries/${B2}`)).to.equal(false)
    put(Boundary, B1, spec, { annotations: { [INITIAL_OWNER_ASSIGNED_ANNOTATION]: 'x' } })
    expect(reads()).to.equal(false)
  })

  it('applies an assignment to the members of a group of the boundary', () => {
    assign({ principalId: TEAM, principalType: 'Group' })
    put(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [ANNA] }, { namespace: boundaryNamespace(B1) })
    expect(reads()).to.equal(true)
    expect(access.explain(ANNA, 'vectorcluster/read', SCOPE).decidedBy?.viaGroupId).to.equal(TEAM)
    put(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [] }, { namespace: boundaryNamespace(B1) })
    expect(reads()).to.equal(false)
  })

  it('applies an assignment to the members of a group of the platform', () => {
    const name = assign({ principalId: TEAM, principalType: 'Group' })
    put(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [ANNA] }, { namespace: SYSTEM_NAMESPACE })
    expect(reads()).to.equal(true)
    expect(access.explain(ANNA, 'vectorcluster/read', SCOPE).decidedBy?.id).to.equal(name)
  })

  it('ignores a group of another boundary with the same id', () => {
    assign({ principalId: TEAM, principalType: 'Group' })
    put(PrincipalGroup, TEAM, { displayName: 'Mine', memberIds: [ANNA] }, { namespace: boundaryNamespace(B2) })
    expect(reads()).to.equal(false)
  })

  it('resolves nested groups', () => {
    const inner = '55555555-5555-4555-8555-555555555555'
    assign({ principalId: TEAM, principalType: 'Group' })
    put(PrincipalGroup, TEAM, { displayName: 'Outer', memberIds: [inner] }, { namespace: boundaryNamespace(B1) })
    put(PrincipalGroup, inner, { displayName: 'Inner', memberIds: [ANNA] }, { namespace: boundaryNamespace(B1) })
    expect(reads()).to.equal(true)
  })

  it('follows changes of a custom role, and ignores one without actions', () => {
    assign({ roleDefinitionName: 'Keeper' })
    expect(reads()).to.equal(false)
    const keeper = { displayName: 'Keeper', actions: ['vectorcluster/read'], assignableScopes: ['/boundaries/*'] }
    put(RoleDefinition, 'keeper', keeper)
    expect(reads()).to.equal(true)
    put(RoleDefinition, 'keeper', { ...keeper, actions: [] })
    expect(reads()).to.equal(false)
  })

  it('uses the older of two roles with one name, also after a restart, until it is removed or renamed', () => {
    const custom = (actions: string[]) => ({ displayName: 'Keeper', actions, assignableScopes: ['/boundaries/*'] })
    const on = (day: number) => ({ creationTimestamp: `2026-01-0${day}T00:00:00Z`, annotations: {} })
    const older = custom(['vectorcluster/read'])
    const writes = () => access.isAllowed(ANNA, 'vectorcluster/write', SCOPE)
    assign({ roleDefinitionName: 'Keeper' })
    put(RoleDefinition, 'alpha', custom(['vectorcluster/write']), on(2))
    expect([reads(), writes()]).to.deep.equal([false, true])
    put(RoleDefinition, 'zeta', older, on(1))
    expect([reads(), writes()]).to.deep.equal([true, false])
    access.stop()
    access = createAccess({ caches, clock: systemClock, log: silentLog })
    expect([reads(), writes()]).to.deep.equal([true, false])
    put(RoleDefinition, 'zeta', { ...older, displayName: 'Other' }, on(1))
    expect([reads(), writes()]).to.deep.equal([false, true])
    put(RoleDefinition, 'zeta', older, on(1))
    remove(RoleDefinition, 'zeta')
    expect([reads(), writes()]).to.deep.equal([false, true])
  })

  it('ignores a custom role with the name of a built-in one', () => {
    assign({ roleDefinitionName: 'Reader' })
    put(RoleDefinition, 'evil', {
      displayName: 'Reader',
      actions: ['*'],
      dataActions: ['*'],
      assignableScopes: ['/boundaries/*'],
    })
    expect(access.isAllowed(ANNA, 'vectorcluster/readSecrets', ITEM)).to.equal(false)
  })

  describe('denies', () => {
    const deny = (spec: object, namespace = boundaryNamespace(B1), name: string = randomUUID()) => {
      put(DenyAssignment, name, { actions: ['vectorcluster/read'], scope: SCOPE, ...spec }, { namespace })
      return name
    }
    const TO_ANNA = { principalId: ANNA, principalType: 'User' }

    it('override an assignment until they are removed', () => {
      assign({})
      const name = deny(TO_ANNA)
      expect(reads()).to.equal(false)
      expect(access.explain(ANNA, 'vectorcluster/read', SCOPE).decidedBy).to.include({
        kind: 'DenyAssignment',
        id: name,
      })
      remove(DenyAssignment, name, boundaryNamespace(B1))
      expect(reads()).to.equal(true)
    })

    it("no longer apply to the platform's group once recreated for somebody else", () => {
      put(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [ANNA] }, { namespace: SYSTEM_NAMESPACE })
      assign({})
      const others = [
        { principalId: randomUUID(), principalType: 'User' },
        { isEveryone: true, excludedPrincipalIds: [ANNA] },
      ]
      for (const other of others) {
        const name = deny({ principalId: TEAM, principalType: 'Group' })
        expect(reads()).to.equal(false)
        deny(other, boundaryNamespace(B1), name)
        expect(reads()).to.equal(true)
      }
    })

    it('apply to members of boundary and platform groups, except excluded ones', () => {
      for (const namespace of [boundaryNamespace(B1), SYSTEM_NAMESPACE]) {
        put(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [ANNA] }, { namespace })
        assign({})
        const name = deny({ principalId: TEAM, principalType: 'Group' })
        expect(reads(), namespace).to.equal(false)
        remove(DenyAssignment, name, boundaryNamespace(B1))
        const other = deny({ isEveryone: true, excludedPrincipalIds: [TEAM] })
        expect(reads(), namespace).to.equal(true)
        remove(DenyAssignment, other, boundaryNamespace(B1))
        remove(PrincipalGroup, TEAM, namespace)
      }
    })

    it('are unaffected by a deny of the same name in another boundary', () => {
      assign({})
      const name = deny(TO_ANNA)
      deny({ ...TO_ANNA, scope: `/boundaries/${B2}` }, boundaryNamespace(B2), name)
      remove(DenyAssignment, name, boundaryNamespace(B2))
      expect(reads()).to.equal(false)
    })

    it('are ignored outside of the namespace of their boundary', () => {
      assign({})
      deny(TO_ANNA, boundaryNamespace(B2))
      deny({ ...TO_ANNA, scope: '/' })
      expect(reads()).to.equal(true)
    })

    it('apply to the former scope of a deleted resource, not to the current one', () => {
      assign({})
      const former = formerScope(ITEM) ?? ''
      const at = (scope: string) => access.explain(ANNA, 'vectorcluster/read', scope).reason
      const name = deny({ ...TO_ANNA, scope: ITEM, scopeIncarnation: 'life' })
      expect([at(ITEM), at(former)]).to.deep.equal(['DeniedByAssignment', 'AllowedByAssignment'])
      remove(VectorCluster, 'orders', groupNamespace(B1, 'shop'))
      expect([at(ITEM), at(former)]).to.deep.equal(['AllowedByAssignment', 'DeniedByAssignment'])
      expect(access.scopesWith(ANNA, 'vectorcluster/read').denied).to.deep.equal([])
      remove(DenyAssignment, name, boundaryNamespace(B1))
      expect(at(former)).to.equal('AllowedByAssignment')
    })

    it('apply to a resource that lists their incarnation as a former one; assignments do not', () => {
      assign({})
      deny({ scope: ITEM, scopeIncarnation: 'life' })
      assign({ principalId: TEAM, scope: ITEM, scopeIncarnation: 'life' })
      const annotations = { [INCARNATION_ANNOTATION]: 'anew', [FORMER_INCARNATIONS_ANNOTATION]: 'first,life' }
      put(VectorCluster, 'orders', {}, { namespace: groupNamespace(B1, 'shop'), annotations })
      expect(access.isAllowed(ANNA, 'vectorcluster/read', ITEM)).to.equal(false)
      expect(access.isAllowed(TEAM, 'vectorcluster/read', ITEM)).to.equal(false)
    })

    it('do not apply to a boundary created again', () => {
      assign({ scope: GROUP })
      deny({ ...TO_ANNA, scopeIncarnation: 'b1' })
      put(Boundary, B1, { displayName: 'Old' }, { annotations: { [INCARNATION_ANNOTATION]: 'b1' } })
      expect(reads(GROUP)).to.equal(false)
      put(Boundary, B1, { displayName: 'New' }, { annotations: { [INCARNATION_ANNOTATION]: 'b2' } })
      expect(reads(GROUP)).to.equal(true)
    })
  })

  it('applies a trust between the incarnations of both boundaries that it names only', () => {
    assign({ scope: `/boundaries/${B2}`, scopeIncarnation: 'b2' }, boundaryNamespace(B2))
    const putBoundary = (id: string, incarnation: string) =>
      put(Boundary, id, { displayName: 'One' }, { annotations: { [INCARNATION_ANNOTATION]: incarnation } })
    putBoundary(B1, 'b1')
    putBoundary(B2, 'b2')
    const spec = { boundaryId: B1, boundaryIncarnation: 'b1', trustedBoundaryId: B2, trustedBoundaryIncarnation: 'b2' }
    put(BoundaryTrust, 'trust', { ...spec, actions: ['vectorcluster/read'] }, { namespace: SYSTEM_NAMESPACE })
    expect(reads()).to.equal(true)
    putBoundary(B2, 'other')
    expect(reads()).to.equal(false)
    putBoundary(B2, 'b2')
    expect(reads()).to.equal(true)
    remove(BoundaryTrust, 'trust', SYSTEM_NAMESPACE)
    expect(reads()).to.equal(false)
  })

  it('returns the JitRequest of a temporary assignment', () => {
    assign({ jitRequestId: TEAM, expiresAt: new Date(Date.now() + 60_000).toISOString() })
    expect(access.explain(ANNA, 'vectorcluster/read', SCOPE).decidedBy).to.include({ kind: 'JitRequest', id: TEAM })
  })
})
