import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { INCARNATION_ANNOTATION, RESTORE_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { objectKey } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const WHOLE = `/boundaries/${BOUNDARY}`
const OUTER = boundaryNamespace(BOUNDARY)
const FAR = '88888888-8888-4888-8888-888888888888'
const [SHOP, HIDDEN] = [groupNamespace(BOUNDARY, 'shop'), groupNamespace(BOUNDARY, 'payroll')]

/** A deny hides the group `payroll` from an Owner of the boundary. */
describe('the users of an object in an answer', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  let restrictedOwner: string
  beforeEach(async () => {
    shop = await startShop()
    restrictedOwner = randomUUID()
    shop.grant(restrictedOwner, 'Owner', WHOLE)
    shop.put(ResourceGroup, 'payroll', {}, OUTER)
    const group = await shop.client.get(ResourceGroup.resource, { namespace: OUTER, name: 'payroll' })
    const scopeIncarnation = group.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    const deny = {
      principalId: restrictedOwner,
      principalType: 'User',
      scope: `${WHOLE}/resourcegroups/payroll`,
      scopeIncarnation,
    }
    shop.put(DenyAssignment, randomUUID(), { ...deny, actions: ['*'] }, OUTER)
  })
  afterEach(() => shop.stop())

  type Case = { path: string; method: 'get' | 'delete'; put(): void; named(body: Record<string, unknown>): unknown }
  const id = randomUUID()
  const both = (spec: object) => {
    shop.put(PlatformApp, 'site', spec, SHOP)
    shop.put(PlatformApp, 'salaries', spec, HIDDEN)
  }
  const names = (list: unknown) => (list as { name: string }[]).map(({ name }) => name).sort()
  const source = () => {
    shop.put(DeploymentSource, id, { provider: 'GitLab', displayName: 'Ours', baseUrl: 'https://gitlab.test' }, OUTER)
    both({ sourceKind: 'Repository', repositoryUrl: 'https://gitlab.test/a/b', deploymentSourceId: id })
  }
  const cases: Readonly<Record<string, Case>> = {
    'GET of sources': {
      ...{ path: `${WHOLE}/sources`, method: 'get', put: source },
      named: ({ items }) => names((items as { usedBy: unknown }[])[0]?.usedBy),
    },
    'DELETE of a source': {
      ...{ path: `${WHOLE}/sources/gitlab/${id}`, method: 'delete', put: source },
      named: ({ usedBy }) => names(usedBy),
    },
    'DELETE of a projection': {
      ...{ path: `${WHOLE}/projections/${FAR}`, method: 'delete' },
      put: () => {
        shop.put(PlatformCluster, FAR, { name: 'far', displayName: 'Far', domain: 'far.test' })
        shop.put(BoundaryProjection, FAR, { clusterId: FAR }, OUTER)
        both({ clusterId: FAR, sourceKind: 'Image', image: 'nginx' })
      },
      named: ({ usedBy }) => names(usedBy),
    },
    'DELETE of a snapshot': {
      ...{ path: `${WHOLE}/resourcegroups/shop/resources/relationalclusters/site/snapshots/${id}`, method: 'delete' },
      put: () => {
        shop.put(RelationalCluster, 'site', {}, SHOP)
        shop.put(RelationalSnapshot, id, { name: 'first', clusterName: 'site' }, SHOP)
        const restoreFrom = { clusterName: 'site', snapshotId: id }
        const elsewhere = { restoreFrom: { ...restoreFrom, resourceGroup: 'shop' } }
        const restored = shop.put(RelationalCluster, 'salaries', elsewhere, HIDDEN)
        const approved = { ...restored.metadata.annotations, [RESTORE_ANNOTATION]: objectKey(SHOP, id) }
        const metadata = { ...restored.metadata, annotations: approved }
        const seeded = shop.client.seed(RelationalCluster.resource, { ...restored, metadata })
        shop.caches.get(RelationalCluster.resource).observeWrite(seeded)
        shop.put(RelationalCluster, 'site-two', { restoreFrom }, SHOP)
      },
      named: ({ usedBy }) => names(usedBy).map((name) => (name === 'site-two' ? 'site' : name)),
    },
    'DELETE of a resource group': {
      ...{ path: `${WHOLE}/resourcegroups/shop`, method: 'delete' },
      put: () => {
        for (const name of ['site', 'salaries']) shop.put(RelationalCluster, name, { deletionProtection: true }, SHOP)
        const scope = `${WHOLE}/resourcegroups/shop/resources/relationalclusters/salaries`
        const deny = { principalId: restrictedOwner, principalType: 'User', scope, scopeIncarnation: 'life' }
        shop.put(DenyAssignment, randomUUID(), { ...deny, actions: ['relationalcluster/read'] }, OUTER)
      },
      named: ({ resources }) => (resources as string[]).map((name) => name.replace(/.*\//, '')),
    },
    'DELETE of a boundary': {
      ...{ path: WHOLE, method: 'delete' },
      put: () => {
        for (const each of [restrictedOwner, OWNER]) shop.grant(each, 'Platform Owner', '/')
      },
      named: ({ resourceGroups }) =>
        (resourceGroups as string[]).map((name) => (name === 'shop' ? 'site' : 'salaries')),
    },
  }
  for (const [title, { path, method, put, named }] of Object.entries(cases)) {
    it(`exclude those that the caller may not read: ${title}`, async () => {
      put()
      const ask = async (as: string) => (await shop.ask(method, path, as)).body
      const body = await ask(restrictedOwner)
      expect(named(body), JSON.stringify(body)).to.deep.equal(['site'])
      expect(JSON.stringify(body)).to.not.match(/salaries|payroll/)
      if (method === 'delete') expect(JSON.stringify(body)).to.include(' You may not read 1 of them.')
      expect((named(await ask(OWNER)) as string[]).sort()).to.deep.equal(['salaries', 'site'])
    })
  }
})
