import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { FINALIZER } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { NameClaim } from '../../src/crds/nameclaims.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace, persistentVolume, persistentVolumeClaim, statefulSet } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { TEST_CONFIG } from '../config.ts'
import { isReady, objectOf } from '../worlds/fleet.ts'
import { ranKubectl } from '../worlds/kubectl.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

const DATABASE = { computePlan: 'vector-medium', enableIngress: true }

type Made = { boundaryId: string; home: string; own: string }

describe('deletion', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  const byRest = async (): Promise<Made> => {
    const { id: boundaryId } = await makeBoundary()
    await makeGroup(boundaryId, 'search')
    const path = `/boundaries/${boundaryId}/resourcegroups/search/resources/vectorclusters/products`
    await expectCall(201, 'POST', path, DATABASE)
    await until(
      'the database runs',
      async () => (await call<{ status: string }>('GET', path)).body.status === 'Running',
    )
    return placesOf(boundaryId)
  }

  const byKubectl = async (): Promise<Made> => {
    const boundaryId = randomUUID()
    const made = placesOf(boundaryId)
    const ready = async (
      kind: typeof Boundary | typeof ResourceGroup | typeof VectorCluster,
      ref: { namespace?: string; name: string },
    ) => until(`${kind.kind} is ready`, async () => isReady(await admin.get(kind.resource, ref)))
    await admin.create(Boundary.resource, objectOf(Boundary, boundaryId, undefined, { displayName: 'Deletion' }))
    await ready(Boundary, { name: boundaryId })
    await admin.create(ResourceGroup.resource, objectOf(ResourceGroup, 'search', made.own, {}))
    await ready(ResourceGroup, { namespace: made.own, name: 'search' })
    await admin.create(VectorCluster.resource, objectOf(VectorCluster, 'products', made.home, DATABASE))
    await ready(VectorCluster, { namespace: made.home, name: 'products' })
    return made
  }

  const isGone = async (resource: Parameters<KubeClient['get']>[0], ref: { namespace?: string; name: string }) => {
    try {
      await admin.get(resource, ref)
      return false
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return true
      throw error
    }
  }

  const claimsOf = async (home: string) => {
    const { items } = await admin.list<KubeObject & NameClaim>(NameClaim.resource)
    return items.filter(({ spec }) => spec.holder.namespace === home)
  }

  /** No object that names the group: no namespace, no claimed name, no volume. */
  const expectNothingLeft = async ({ home }: Made) => {
    await until('the namespace of the group is deleted', () => isGone(namespace, { name: home }))
    expect(await claimsOf(home)).to.deep.equal([])
    await until('its volumes are gone', async () => {
      const { items } = await admin.list(persistentVolume)
      return items.every((item) => (item.spec as { claimRef?: { namespace: string } }).claimRef?.namespace !== home)
    })
  }

  for (const [way, make] of [
    ['REST', byRest],
    ['kubectl', byKubectl],
  ] as const) {
    it(`removes a group that ${way} created, with its namespace, claims and volumes, by REST`, async () => {
      const made = await make()
      expect(await claimsOf(made.home)).to.not.be.empty
      await expectCall(202, 'DELETE', `/boundaries/${made.boundaryId}/resourcegroups/search`)
      await expectNothingLeft(made)
      // Its finalizer is removed a moment after its namespace.
      await until('the group is deleted', () => isGone(ResourceGroup.resource, { namespace: made.own, name: 'search' }))
      await until(
        'REST returns 404',
        async () => (await call('GET', `/boundaries/${made.boundaryId}/resourcegroups/search`)).status === 404,
      )
      expect((await call('DELETE', `/boundaries/${made.boundaryId}`)).status).to.be.oneOf([202, 204])
      await until('the boundary is deleted', () => isGone(namespace, { name: made.own }))
    })

    it(`removes a group and then the boundary that ${way} created, by kubectl`, async () => {
      const made = await make()
      await admin.remove(ResourceGroup.resource, { namespace: made.own, name: 'search' })
      await expectNothingLeft(made)
      await until('no group holds the boundary', async () => {
        const { status } = (await admin.get(Boundary.resource, { name: made.boundaryId })) as Boundary
        return status?.heldBy?.length === 0
      })
      await admin.remove(Boundary.resource, { name: made.boundaryId })
      await until(
        'the boundary and its namespace are gone',
        async () =>
          (await isGone(Boundary.resource, { name: made.boundaryId })) && (await isGone(namespace, { name: made.own })),
      )
      await until('REST returns 404', async () => (await call('GET', `/boundaries/${made.boundaryId}`)).status === 404)
    })
  }

  /** The first stages of an object: it is stored, its controller has seen it, a child is created. */
  const MOMENTS: [moment: string, hasCome: (path: string, home: string, name: string) => Promise<boolean>][] = [
    ['at once', async () => true],
    ['when the facade shows it', async (path) => (await call('GET', path)).status === 200],
    [
      'when its controller holds it',
      async (_path, home, name) => holds(await admin.get(VectorCluster.resource, { namespace: home, name })),
    ],
    [
      'when its StatefulSet is there',
      async (_path, home, name) => !(await isGone(statefulSet, { namespace: home, name: `vc-${name}` })),
    ],
    [
      'when its volume is there',
      async (_path, home, name) =>
        !(await isGone(persistentVolumeClaim, { namespace: home, name: `storage-vc-${name}-0` })),
    ],
  ]

  for (const way of ['REST', 'kubectl'] as const) {
    it(`frees the name of a resource that ${way} creates and deletes in its first moments`, async () => {
      const { id: boundaryId } = await makeBoundary()
      await makeGroup(boundaryId, 'search')
      const home = groupNamespace(boundaryId, 'search')
      const base = `/boundaries/${boundaryId}/resourcegroups/search/resources/vectorclusters`
      const makeAgain = async ([moment, hasCome]: (typeof MOMENTS)[number], name: string) => {
        const path = `${base}/${name}`
        const ref = { namespace: home, name }
        if (way === 'REST') await expectCall(201, 'POST', path, {})
        else await admin.create(VectorCluster.resource, objectOf(VectorCluster, name, home, {}))
        await until(`${name}: ${moment}`, () => hasCome(path, home, name))
        if (way === 'REST') expect((await call('DELETE', path)).status).to.be.oneOf([202, 204])
        else await admin.remove(VectorCluster.resource, ref)
        await until(`${name} is gone`, () => isGone(VectorCluster.resource, ref))
        await until(`${name} can be made again`, async () => (await call('POST', path, {})).status === 201)
        await until(`${name} runs, deleted ${moment}`, async () => {
          const { body } = await call<{ status: string }>('GET', path)
          return body.status === 'Running'
        })
      }
      const rounds = Array.from({ length: TEST_CONFIG.sized(4, 20) }, (_, round) => round)
      await Promise.all(
        MOMENTS.map(async (moment, index) => {
          for (const round of rounds) await makeAgain(moment, `soon-${index}-${round}`)
        }),
      )
    })
  }

  it('refuses a boundary that has a group, and names the group, by REST', async () => {
    const { id } = await makeBoundary()
    await makeGroup(id, 'search')
    const { status, body } = await call('DELETE', `/boundaries/${id}`)
    expect([status, body.code, (body as unknown as { resourceGroups: string[] }).resourceGroups]).to.deep.equal([
      409,
      'BOUNDARY_NOT_EMPTY',
      ['search'],
    ])
    await expectCall(202, 'DELETE', `/boundaries/${id}/resourcegroups/search`)
  })

  it('refuses CRDs and the namespace of the platform while there is a boundary', async () => {
    await makeBoundary()
    for (const words of [
      ['crd', 'vectorclusters.data.freehold.dev'],
      ['crd', '--selector=app.kubernetes.io/part-of=freehold'],
      ['namespace', SYSTEM_NAMESPACE],
    ]) {
      const { code, stderr } = await ranKubectl(['delete', '--dry-run=server', ...words])
      expect(code, words.join(' ')).to.not.equal(0)
      expect(stderr).to.match(/holds what tenants have: boundary "[-0-9a-f]{36}" still exists/)
    }
    const { code } = await ranKubectl(['delete', '--dry-run=server', 'crd', 'clusters.postgresql.cnpg.io'])
    expect(code, 'a CRD of another system').to.equal(0)
  })
})

function holds({ metadata }: { metadata: { finalizers?: string[] } }): boolean {
  return metadata.finalizers?.includes(FINALIZER) === true
}

function placesOf(boundaryId: string): Made {
  return { boundaryId, home: groupNamespace(boundaryId, 'search'), own: boundaryNamespace(boundaryId) }
}
