// @inTurn plain: its operator lets boundaries hold few objects.
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { dump, load } from 'js-yaml'
import { OBJECT_COUNT_POLICY } from '../../src/contracts/objectLimits.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { BYTES_PER_COUNTED_OBJECT } from '../../src/core/objectCount.ts'
import { BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../src/crds/defaultBlueprints.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { isKubeError, type KubeError } from '../../src/kube/errors.ts'
import { parseKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callOwn } from '../worlds/ownFacade.ts'
import { askingAgain, makeServiceAccount } from '../worlds/tenant.ts'

const MOST = 12

describe('a boundary with the maximum number of objects', () => {
  let own: OwnPlatform
  let tenant: KubeClient
  let boundaryId: string
  let groups: string
  let home: string

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator({ PLATFORM_OBJECTS_PER_BOUNDARY: String(MOST) })
    const made = await callOwn(own, 'POST', '/boundaries', { displayName: 'Full' })
    boundaryId = made.body.id
    groups = `/boundaries/${boundaryId}/resourcegroups`
    home = boundaryNamespace(boundaryId)
    expect((await callOwn(own, 'POST', `${groups}/shop`)).status).to.equal(201)
    tenant = await tenantOf(boundaryId)
  })
  after(async () => {
    await tenant?.close()
    await giveBack(own)
  })

  /** Its Owner, with only a token, like kubectl. */
  async function tenantOf(boundary: string): Promise<KubeClient> {
    const { clientId, token } = await makeServiceAccount(own.admin, 'Tenant', own.platform.tokenUrl)
    await own.admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: clientId, namespace: boundaryNamespace(boundary) },
      spec: {
        ...{ principalId: clientId, principalType: 'ServicePrincipal' },
        ...{ roleDefinitionName: 'Owner', scope: `/boundaries/${boundary}` },
      },
    } as never)
    const config = load(readFileSync(own.controlPlane.kubeconfigPath, 'utf8')) as { users: { user: object }[] }
    const access = parseKubeconfig(
      dump({ ...config, users: config.users.map((user) => ({ ...user, user: { token } })) }),
      'kubeconfig of a tenant',
    )
    const client = askingAgain(createKubeClient(access, { fieldManager: 'tenant', userAgent: 'freehold-test-tenant' }))
    await until('the tenant may read', async () => {
      const path = `/apis/freehold.dev/v1alpha1/namespaces/${boundaryNamespace(boundary)}/resourcegroups`
      return (await client.request({ path })).status === 200
    })
    return client
  }

  const make = ({ resource, apiVersion, kind }: AnyKind, namespace: string, name: string, spec: object) =>
    tenant.create(resource, { apiVersion, kind, metadata: { name, namespace }, spec } as KubeObject)
  const space = () => groupNamespace(boundaryId, 'shop')
  const makeVector = (name: string) => make(VectorCluster, space(), name, { replicas: 0 })
  const templateOf = (slug: string) => ({
    slug,
    content: `${DEFAULT_BLUEPRINTS[0]}`.replaceAll(/slug: .*/g, `slug: ${slug}`),
  })
  const makeTemplate = (slug: string) => make(BlueprintTemplate, home, slug, templateOf(slug))

  async function refusalOf(write: Promise<unknown>): Promise<KubeError | undefined> {
    const error = await write.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (error !== undefined && !isKubeError(error)) throw error
    return error
  }

  /** @returns the refusal that ended it */
  async function fill(makeOne: (name: string) => Promise<unknown>): Promise<KubeError> {
    for (let number = 1; number <= 10 * MOST; number += 1) {
      const refusal = await refusalOf(makeOne(`filled-${number}`))
      if (refusal !== undefined) return refusal
    }
    throw new Error('No object was refused.')
  }

  it('refuses new resources by kubectl and REST, and lets existing ones be changed and deleted', async () => {
    const refusal = await fill(makeVector)
    expect(refusal.status).to.equal(403)
    expect(refusal.denial?.policy).to.equal(OBJECT_COUNT_POLICY)
    expect(refusal.denial?.message).to.match(
      /^this boundary has \d+ objects of at most 12 in its resource groups; .*Delete what is not needed/,
    )
    const refused = await callOwn(own, 'POST', `${groups}/shop/resources/vectorclusters/another`, {})
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'QUOTA_EXCEEDED'])
    expect(refused.body).to.include({ quota: 'objects', limit: MOST, requested: 1 })
    expect(refused.body.used).to.be.at.least(MOST)

    const ref = { namespace: space(), name: 'filled-1' }
    await tenant.mergePatch(VectorCluster.resource, ref, { spec: { tags: { by: 'kubectl' } } })
    const changed = await callOwn(own, 'PATCH', `${groups}/shop/resources/vectorclusters/filled-1`, {
      tags: { by: 'REST' },
    })
    expect(changed.status).to.equal(200)
    const annotations = { large: 'x'.repeat(2 * BYTES_PER_COUNTED_OBJECT) }
    const grown = await refusalOf(tenant.mergePatch(VectorCluster.resource, ref, { metadata: { annotations } }))
    expect(grown?.denial?.policy).to.equal(OBJECT_COUNT_POLICY)

    // Its own namespace has room of its own.
    expect((await callOwn(own, 'POST', `${groups}/second`)).status).to.equal(201)
    const inSecond = groupNamespace(boundaryId, 'second')
    await until('the other group is full too', async () =>
      refusalOf(
        tenant.create(
          VectorCluster.resource,
          {
            apiVersion: VectorCluster.apiVersion,
            kind: 'VectorCluster',
            metadata: { namespace: inSecond, name: 'first' },
            spec: { replicas: 0 },
          } as KubeObject,
          { dryRun: true },
        ),
      ),
    )

    for (const name of ['filled-1', 'filled-2'])
      await tenant.remove(VectorCluster.resource, { namespace: space(), name })
    await until('there is room again', async () => {
      const { status } = await callOwn(own, 'POST', `${groups}/shop/resources/vectorclusters/another`, {})
      return status === 201
    })
  })

  it('counts a large object as several', async () => {
    await until('there is room again', async () => {
      const { items } = await own.admin.list(VectorCluster.resource, { namespace: space() })
      for (const { metadata } of items)
        await own.admin.remove(VectorCluster.resource, { namespace: space(), name: metadata.name })
      return items.length === 0
    })
    const large = (name: string) =>
      tenant.create(VectorCluster.resource, {
        apiVersion: VectorCluster.apiVersion,
        kind: 'VectorCluster',
        metadata: { namespace: space(), name, annotations: { large: 'x'.repeat(6 * BYTES_PER_COUNTED_OBJECT) } },
        spec: { replicas: 0 },
      } as KubeObject)
    await until('it takes one', async () => (await refusalOf(large('one'))) === undefined)
    await large('two')
    const refusal = await until('it takes no third', async () =>
      refusalOf(
        tenant.create(
          VectorCluster.resource,
          {
            apiVersion: VectorCluster.apiVersion,
            kind: 'VectorCluster',
            metadata: { namespace: space(), name: 'three' },
            spec: { replicas: 0 },
          } as KubeObject,
          { dryRun: true },
        ),
      ),
    )
    expect(refusal.denial?.message).to.match(/has 1[4-9] objects of at most 12/)
  })

  it('refuses new objects in its own namespace', async () => {
    const refusal = await fill(makeTemplate)
    expect(refusal.denial?.message).to.match(
      /^this boundary has \d+ objects of at most 12 outside of its resource groups/,
    )
    const refused = await callOwn(own, 'POST', `${groups}/third`)
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'QUOTA_EXCEEDED'])
    const group = await refusalOf(make(ResourceGroup, home, 'fourth', {}))
    expect(group?.denial?.policy).to.equal(OBJECT_COUNT_POLICY)
    await tenant.remove(BlueprintTemplate.resource, { namespace: home, name: 'filled-1' })
    await tenant.remove(BlueprintTemplate.resource, { namespace: home, name: 'filled-2' })
    await until('there is room again', async () => (await callOwn(own, 'POST', `${groups}/third`)).status === 201)
  })
})
