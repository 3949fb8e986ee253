import { expect } from 'chai'
import { ASKING_KINDS, HOLDERS, type Holder } from '../../test/cases/holders.ts'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { groupNamespace } from '../core/names.ts'
import { boundaryNamespaceObject } from '../core/namespaces.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { KINDS } from '../crds/index.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { KINDS_WITH_RETENTION_RULES } from '../crds/retention.ts'
import { VectorCluster } from '../crds/vector.ts'
import { namespace, persistentVolumeClaim } from '../kube/builtin.ts'
import { resourceGroupController } from './resourcegroups.ts'

const HOME = `boundary-${BOUNDARY_ID}`
const SPACE = groupNamespace(BOUNDARY_ID, 'orders')
const ANYTHING = [
  ...KINDS.filter(({ placement }) => placement === 'group').map(({ resource }) => resource),
  persistentVolumeClaim,
]

describe('deletion of a ResourceGroup', () => {
  let bench: ControllerBench
  beforeEach(() => {
    bench = new ControllerBench([resourceGroupController()])
    const boundary = bench.seed(Boundary, BOUNDARY_ID, { displayName: 'Shop', quota: {}, tags: {} })
    bench.client.seed(namespace, boundaryNamespaceObject(boundary))
    bench.seed(ResourceGroup, 'orders', { quota: {}, tags: {} }, { namespace: HOME })
  })
  afterEach(() => bench.stop())

  const stored = async () =>
    (await bench.find(ResourceGroup.resource, 'orders', HOME)) as (ResourceGroup & KubeObject) | undefined
  const remove = async () => {
    await bench.client.remove(ResourceGroup.resource, { namespace: HOME, name: 'orders' })
    await bench.rest()
  }
  const put = ({ made }: Holder) => {
    for (const { kind, name, object } of made) {
      const { metadata = {}, ...rest } = object as Partial<KubeObject>
      const whole = { apiVersion: '', kind: kind.kind, metadata: { ...metadata, name, namespace: SPACE }, ...rest }
      bench.client.seed(kind.resource, whole)
    }
  }
  const letGo = async ({ made, letGo: { name, change } }: Holder) => {
    const resource = made.find((one) => one.name === name)?.kind.resource as Resource
    if (change === undefined) await bench.client.remove(resource, { namespace: SPACE, name })
    else bench.client.edit(resource, { namespace: SPACE, name }, change)
    await bench.rest()
  }
  const other = () => bench.seed(VectorCluster, 'other', {}, { namespace: SPACE })
  const nothingGoes = async () => {
    const found = await bench.find(VectorCluster.resource, 'other', SPACE)
    expect(found?.metadata).to.include({ name: 'other' }).and.not.to.have.property('deletionTimestamp')
    expect((await bench.find(namespace, SPACE))?.metadata.deletionTimestamp).to.equal(undefined)
  }

  for (const given of HOLDERS) {
    const { name, holder, made } = given

    it(`lists ${name} in status.heldBy while it exists`, async () => {
      await bench.start()
      expect((await stored())?.status?.heldBy).to.deep.equal([])
      put(given)
      await bench.rest()
      expect((await stored())?.status?.heldBy).to.deep.equal([holder])
      await letGo(given)
      expect((await stored())?.status?.heldBy).to.deep.equal([])
    })

    it(`blocks until ${name} is released`, async () => {
      await bench.start()
      other()
      put(given)
      await remove()
      expect((await stored())?.status).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
      expect((await stored())?.status?.statusMessage).to.include(holder)
      await nothingGoes()
      await letGo(given)
      expect(await stored()).to.equal(undefined)
      expect(await bench.find(namespace, SPACE)).to.equal(undefined)
    })

    for (const [late, resources] of [
      ['its objects', made.map(({ kind }) => kind.resource)],
      ['any content', ANYTHING],
    ] as const) {
      it(`blocks for ${name} while the caches do not show ${late} yet`, async () => {
        const release = bench.holdBack(...resources)
        await bench.start()
        other()
        await bench.rest()
        put(given)
        await remove()
        const found = await stored()
        // Before the assertions: a bench with held back caches does not stop.
        release()
        const { status } = found ?? {}
        expect(status).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
        expect(status?.statusMessage).to.include(holder)
        await nothingGoes()
        await bench.rest()
        await letGo(given)
        expect(await stored()).to.equal(undefined)
      })
    }
  }

  it('is tested here for every kind with retention rules', () => {
    const held = new Set(HOLDERS.map(({ holder }) => holder.split('/')[0]))
    for (const { resource } of [...KINDS_WITH_RETENTION_RULES, ...ASKING_KINDS])
      expect(held).to.include(resource.plural)
    expect(ASKING_KINDS, 'the fields are called so').to.include.members([VectorCluster, RelationalCluster])
  })

  it('is blocked only by kinds that live in groups', () => {
    expect(ASKING_KINDS.filter(({ placement }) => placement !== 'group')).to.deep.equal([])
  })
})
