import { expect } from 'chai'
import { HOLDERS } from '../../../test/cases/holders.ts'
import { ANNA, assign, B1, B2, BERT, deny, SHOP, trust } from '../../../test/make/authorizationRecords.ts'
import { CLUSTER_ID, codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { ONE, roles, shop, TWO } from '../../../test/worlds/groups.ts'
import { FINALIZER } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { KubeError } from '../../kube/errors.ts'
import { resourceGroupRoutes as routes } from './index.ts'

type Given = Parameters<typeof makeFacade>[0]
type Page = { items: { name: string; collection?: string }[]; pagination: { totalItems: number } }

const namesOf = (body: unknown) => (body as Page).items.map(({ name }) => name)

describe('resource groups over REST', () => {
  const path = `/boundaries/${ONE}/resourcegroups/shop`
  const none = { cpu: null, memory: null, storage: null, resources: null, pods: null, resourceGroups: null }

  it('merges tags and quota in a PATCH and removes fields that are null', async () => {
    const facade = shop()
    const patch = async (body: object) => (await facade.call(routes, 'PATCH', path, { body })).body
    const first = await patch({ tags: { team: 'search', cost: 'a' }, quota: { cpu: '4', pods: 9 } })
    expect(first).to.deep.include({ tags: { team: 'search', cost: 'a' }, quota: { ...none, cpu: '4', pods: 9 } })
    expect(await patch({ tags: { cost: null }, quota: { cpu: null } })).to.deep.include({
      tags: { team: 'search' },
      quota: { ...none, pods: 9 },
    })
    expect(await patch({ quota: null })).to.deep.include({ tags: { team: 'search' }, quota: none })
  })

  it('changes nothing if the record is sent back, and rejects another boundary or name', async () => {
    const facade = shop()
    const patch = (body: object) => facade.call(routes, 'PATCH', path, { body })
    await patch({ tags: { team: 'search' }, quota: { cpu: '4' } })
    const { body: read } = await facade.call(routes, 'GET', path)
    expect((await patch(read as object)).body).to.deep.equal(read)
    const ref = { namespace: boundaryNamespace(ONE), name: 'shop' }
    const stored = await facade.records.get(ResourceGroup, ref)
    expect(Object.keys(stored?.spec ?? {}).sort()).to.deep.equal(['quota', 'tags'])
    for (const wrong of [{ boundaryId: TWO }, { name: 'bakery' }])
      expect(await codeOf(patch({ ...wrong, tags: {} }))).to.include({ code: 'BAD_REQUEST' })
  })

  it('lets an Owner of the group change tags but not the quota', async () => {
    const facade = shop({ assignments: [assign('Owner', SHOP)] })
    facade.group(ONE, 'shop', { quota: { cpu: '4' } })
    const patch = (body: object) => facade.call(routes, 'PATCH', path, { body })
    expect((await patch({ tags: { team: 'search' } })).body).to.deep.include({ tags: { team: 'search' } })
    const { body: read } = await facade.call(routes, 'GET', path)
    expect((await patch({ ...(read as object), tags: { cost: 'a' } })).body).to.deep.include({
      quota: { ...none, cpu: '4' },
    })
    expect((await patch({ quota: { cpu: '4' } })).status).to.equal(200)
    for (const quota of [{ cpu: '400' }, null]) expect(await codeOf(patch({ quota }))).to.include({ code: 'FORBIDDEN' })
    expect(
      facade.records.peek(ResourceGroup, { namespace: boundaryNamespace(ONE), name: 'shop' })?.spec.quota,
    ).to.deep.equal({ cpu: '4' })
  })

  const visible: [string, Given, string[], string[]][] = [
    [
      'everything to the Owner of the boundary',
      { assignments: [assign('Owner', B1)] },
      ['bakery', 'shop'],
      ['bread', 'index', 'other'],
    ],
    ['one group to its Reader', { assignments: [assign('Reader', SHOP)] }, ['shop'], ['index', 'other']],
    [
      'all but a resource that a deny covers',
      { assignments: [assign('Reader', B1)], denies: [deny(`${SHOP}/resources/vectorclusters/index`, ['*'])] },
      ['bakery', 'shop'],
      ['bread', 'other'],
    ],
    [
      'groups without resources to callers who are denied reading resources',
      { assignments: [assign('Reader', B1)], denies: [deny(B1, ['vectorcluster/read'])] },
      ['bakery', 'shop'],
      [],
    ],
    [
      'the resources of a boundary that trusts the one of the caller',
      { assignments: [assign('Reader', B2)], trusts: [trust(['vectorcluster/read'])] },
      [],
      ['bread', 'index', 'other'],
    ],
  ]
  for (const [title, given, groups, resources] of visible) {
    it(`shows ${title}`, async () => {
      const facade = shop(given)
      const listed = await facade.call(routes, 'GET', `/boundaries/${ONE}/resourcegroups`)
      expect(namesOf(listed.body)).to.deep.equal(groups)
      expect((listed.body as Page).pagination.totalItems).to.equal(groups.length)
      expect(namesOf((await facade.call(routes, 'GET', `/boundaries/${ONE}/resources`)).body)).to.deep.equal(resources)
    })
  }

  for (const path of ['resourcegroups', 'resourcegroups/config', 'resources', 'resources/config']) {
    it(`returns the same 404 at ${path} for a missing boundary and for a hidden one`, async () => {
      const hidden = shop({ assignments: [assign('Owner', B1)] })
      const messageFor = async (id: string) => {
        const error = await hidden.call(routes, 'GET', `/boundaries/${id}/${path}`).catch((thrown) => thrown as Error)
        return String(error).replace(id, 'ID')
      }
      expect(await messageFor(TWO)).to.equal(await messageFor('6f1c3a52-0f0e-4d67-9b2e-000000000000'))
      expect(await messageFor(TWO)).to.contain('was not found')
    })
  }

  it('creates the namespace and sets the finalizer, and returns 200 for the same request again', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE)
    const path = `/boundaries/${ONE}/resourcegroups/shop`
    const first = await facade.call(routes, 'POST', path)
    const second = await facade.call(routes, 'POST', path, { body: {} })
    expect([first.status, second.status]).to.deep.equal([201, 200])
    expect(second.body).to.deep.equal(first.body)
    expect([...facade.namespaces.names]).to.include(groupNamespace(ONE, 'shop'))
    const stored = facade.records.peek(ResourceGroup, { namespace: boundaryNamespace(ONE), name: 'shop' })
    expect(stored?.metadata.finalizers).to.deep.equal([FINALIZER])
  })

  it('returns 201 if the namespace cannot be created, since the controller retries', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE)
    facade.namespaces.failure = new Error('the API server went away')
    expect((await facade.call(routes, 'POST', `/boundaries/${ONE}/resourcegroups/shop`)).status).to.equal(201)
  })

  it('creates the missing namespace of the boundary first', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE)
    facade.namespaces.names.clear()
    const create = facade.records.create.bind(facade.records)
    facade.records.create = (async (kind, request) => {
      const { namespace = '' } = request
      if (await facade.namespaces.exists(namespace)) return create(kind, request)
      throw new KubeError('NotFound', 'no such namespace', { status: 404 })
    }) as typeof facade.records.create
    const { status } = await facade.call(routes, 'POST', `/boundaries/${ONE}/resourcegroups/shop`)
    expect(status).to.equal(201)
    expect([...facade.namespaces.names]).to.deep.equal([boundaryNamespace(ONE), groupNamespace(ONE, 'shop')])
  })

  const refusedNames = ['config', 'Shop', '-shop', 'a'.repeat(53), 'sh.op', 'validate']
  for (const name of refusedNames) {
    it(`rejects the name "${name}"`, async () => {
      const { code } = await codeOf(shop().call(routes, 'POST', `/boundaries/${ONE}/resourcegroups/${name}`))
      expect(code).to.equal('BAD_REQUEST')
    })
  }

  it('returns QUOTA_EXCEEDED beyond the quota of the boundary, but 200 for an existing group', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE, { quota: { resourceGroups: 1 } })
    const create = (name: string) => facade.call(routes, 'POST', `/boundaries/${ONE}/resourcegroups/${name}`)
    expect((await create('first')).status).to.equal(201)
    expect(await codeOf(create('second'))).to.deep.equal({
      code: 'QUOTA_EXCEEDED',
      extras: { quota: 'resourceGroups', limit: 1, used: 1, requested: 1 },
    })
    expect((await create('first')).status).to.equal(200)
  })

  it('returns 202 for a deletion', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE)
    const path = `/boundaries/${ONE}/resourcegroups/shop`
    await facade.call(routes, 'POST', path)
    expect((await facade.call(routes, 'DELETE', path)).status).to.equal(202)
  })

  for (const { name, holder, inRest = holder, made } of HOLDERS) {
    it(`rejects the deletion of a group that contains ${name}`, async () => {
      const facade = shop()
      const isRecord = ({ kind }: (typeof made)[number]) => 'spec' in kind
      for (const { kind, name, object } of made.filter(isRecord)) {
        const { spec, status } = object as KubeObject
        const ref = { namespace: groupNamespace(ONE, 'shop'), name }
        facade.records.put(kind as AnyKind, ref, spec as object, status as object | undefined)
      }
      // REST does not read volume claims: the status of the group lists them.
      if (!made.every(isRecord)) {
        const ref = { namespace: boundaryNamespace(ONE), name: 'shop' }
        facade.records.put(ResourceGroup, ref, {}, { heldBy: [holder] })
      }
      const refused = await codeOf(facade.call(routes, 'DELETE', `/boundaries/${ONE}/resourcegroups/shop`))
      expect(refused).to.deep.equal({ code: 'DELETION_PROTECTED', extras: { resources: [inRest] } })
    })
  }

  it('deletes a group once nothing protects it, even if the caches of this replica are behind', async () => {
    const facade = makeFacade({ roles, assignments: [assign('Owner', B1)] })
    facade.boundary(ONE)
    const path = `/boundaries/${ONE}/resourcegroups/shop`
    const ref = { namespace: boundaryNamespace(ONE), name: 'shop' }
    facade.records.put(ResourceGroup, ref, {}, { heldBy: ['persistentvolumeclaims/storage-vc-old-0'] })
    facade.vector(ONE, 'shop', 'kept', { onDelete: 'Retain' })
    facade.records.holdCaches()
    const refused = await codeOf(facade.call(routes, 'DELETE', path))
    expect(refused.extras).to.deep.equal({
      resources: ['persistentvolumeclaims/storage-vc-old-0', 'vectorclusters/kept'],
    })
    const message = await facade.call(routes, 'DELETE', path).catch(({ message }: Error) => message)
    expect(message).to.match(/ A kept volume is deleted with a new resource of its name\.$/)
    facade.records.put(ResourceGroup, ref, {}, { heldBy: [] })
    const protectedAlone = await facade.call(routes, 'DELETE', path).catch(({ message }: Error) => message)
    expect(protectedAlone).to.match(/delete them first\.$/)
    facade.vector(ONE, 'shop', 'kept', { onDelete: 'Delete' })
    expect((await facade.call(routes, 'DELETE', path)).status).to.be.oneOf([202, 204])
  })

  it('counts resources by collection', async () => {
    const { body } = await shop().call(routes, 'GET', `/boundaries/${ONE}/resourcegroups/shop`)
    expect(body).to.deep.include({
      boundaryId: ONE,
      scope: SHOP,
      namespace: groupNamespace(ONE, 'shop'),
      resourceCount: 2,
      resourceCounts: { vectorclusters: 2 },
      status: 'Pending',
      phase: null,
    })
  })

  it('counts and sorts by resources that the caller may read, but shows the usage of all', async () => {
    const denies = [deny(`${SHOP}/resources/vectorclusters/index`, ['vectorcluster/read'])]
    const facade = shop({ assignments: [assign('Owner', B1)], denies })
    facade.vector(ONE, 'bakery', 'cake')
    const { body } = await facade.call(routes, 'GET', path)
    expect(body).to.deep.include({ resourceCount: 1, resourceCounts: { vectorclusters: 1 } })
    expect((body as { usage: object }).usage).to.include({ resources: 2 })
    const sorted = await facade.call(routes, 'GET', `/boundaries/${ONE}/resourcegroups`, {
      query: { sort: ['-resourceCount'] },
    })
    expect(namesOf(sorted.body)).to.deep.equal(['bakery', 'shop'])
  })

  it('sorts by resourceCount', async () => {
    const { body } = await shop().call(routes, 'GET', `/boundaries/${ONE}/resourcegroups`, {
      query: { sort: ['-resourceCount'] },
    })
    expect(namesOf(body)).to.deep.equal(['shop', 'bakery'])
  })

  it('lists resources with the path of their record', async () => {
    const { body } = await shop().call(routes, 'GET', `${SHOP}/resources`, {
      query: { filter: ['tags.team:eq:search', 'collection:eq:vectorclusters'] },
    })
    const items = (body as { items: object[] }).items
    expect(items).to.have.length(1)
    expect(items[0]).to.deep.include({
      name: 'index',
      collection: 'vectorclusters',
      resourceGroup: 'shop',
      clusterId: CLUSTER_ID,
      region: 'north',
      href: `${SHOP}/resources/vectorclusters/index`,
      tags: { team: 'search' },
    })
  })

  it('filters resources by the collection of every kind', async () => {
    for (const { segment } of RESOURCE_KINDS) {
      const query = { filter: [`collection:eq:${segment}`] }
      const { status, body } = await shop().call(routes, 'GET', `${SHOP}/resources`, { query })
      expect(status, segment).to.equal(200)
      expect(namesOf(body), segment).to.have.length(segment === 'vectorclusters' ? 2 : 0)
    }
  })

  it('finds a group and a boundary by namespace', async () => {
    const facade = shop()
    const find = (namespace: string) => facade.call(routes, 'GET', `/resourcegroups/by-namespace/${namespace}`)
    expect((await find(groupNamespace(ONE, 'shop'))).body).to.deep.include({
      boundaryId: ONE,
      resourceGroup: 'shop',
      scope: SHOP,
    })
    expect((await find(groupNamespace(TWO, 'shop'))).body).to.deep.include({
      boundaryId: TWO,
      scope: `${B2}/resourcegroups/shop`,
    })
    expect((await find(boundaryNamespace(ONE))).body).to.deep.include({
      boundaryId: ONE,
      resourceGroup: null,
      scope: B1,
    })
    for (const foreign of ['kube-system', 'shop-0000000000', boundaryNamespace(BERT), 'x', ANNA]) {
      expect((await codeOf(find(foreign))).code, foreign).to.equal('NOT_FOUND')
    }
  })

  it('derives the scope from the namespace, and undefined from a foreign one', () => {
    const facade = shop()
    const byNamespace = routes.find(({ path }) => path.includes('by-namespace'))
    const scopeOf = (namespaceName: string) => byNamespace?.scopeFrom?.({ namespaceName }, facade.services)
    expect(scopeOf(groupNamespace(ONE, 'shop'))).to.equal(SHOP)
    expect(scopeOf('kube-system')).to.equal(undefined)
  })
})
