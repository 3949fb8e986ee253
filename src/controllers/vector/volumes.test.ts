import { expect } from 'chai'
import { HOME, VectorWorld } from '../../../test/worlds/vectorWorld.ts'
import type { KubeObject } from '../../core/object.ts'
import { VectorCluster } from '../../crds/vector.ts'
import {
  configMap,
  controllerRevision,
  ingress,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  pod,
  secret,
  service,
  statefulSet,
} from '../../kube/builtin.ts'

type Sized = { spec: { resources: { requests: { storage: string } } }; status?: object }

describe('volumes of a VectorCluster', () => {
  let world: VectorWorld
  beforeEach(async () => {
    world = new VectorWorld()
    await world.start()
    await world.create({ storageSize: '10Gi' })
    await world.converge()
  })
  afterEach(() => world.stop())

  const claim = () =>
    world.object(persistentVolumeClaim, 'storage-vc-products-0') as Promise<
      (Sized & { metadata: { annotations: Record<string, string> } }) | undefined
    >
  const size = async () => (await claim())?.spec.resources.requests.storage
  const resized = async () => {
    const requests = (await claim())?.spec.resources.requests
    world.client.edit(persistentVolumeClaim, { namespace: HOME, name: 'storage-vc-products-0' }, (object) => {
      object.status = { capacity: requests }
    })
  }

  describe('growth', () => {
    it('resizes the claims, then recreates the StatefulSet around its running peers', async () => {
      const before = await world.workload()
      const podBefore = (await world.object(pod, 'vc-products-0'))?.metadata.uid
      await world.change({ storageSize: '20Gi' })
      await world.pass()
      expect(await size()).to.equal('20Gi')
      expect(await world.says()).to.match(/WaitingForVolume|Scaling|RollingOut/)
      await world.converge()
      expect(await world.says()).to.equal('Updating WaitingForVolume: Growing to 20Gi: storage-vc-products-0.')
      await resized()
      await world.converge()
      expect(await world.says()).to.match(/^Running/)
      const after = await world.workload()
      expect(after?.metadata.uid).not.to.equal(before?.metadata.uid)
      expect(after?.spec).to.have.nested.property('volumeClaimTemplates[0].spec.resources.requests.storage', '20Gi')
      expect((await world.object(pod, 'vc-products-0'))?.metadata.uid, 'the peer ran on').to.equal(podBefore)
    })

    it('is rejected by a class without expansion while the rest of the spec applies', async () => {
      world.setExpansion(false)
      await world.change({ storageSize: '20Gi', restartedAt: '2026-11-04T00:00:00Z' })
      await world.converge()
      expect(await world.says()).to.match(
        /^Degraded ConfigurationInvalid: Storage class "standard" does not let volumes grow/,
      )
      expect(await size()).to.equal('10Gi')
      expect((await world.cluster()).status?.restartedAt).to.equal('2026-11-04T00:00:00Z')
      await world.change({ storageSize: '10Gi' })
      await world.converge()
      expect(await world.says()).to.match(/^Running/)
    })

    it('completes after a crash before or after any write', async () => {
      for (let write = 0, crashed = true; crashed; write += 1) {
        for (const mode of ['before', 'after'] as const) {
          await world.change({ storageSize: `${20 + write * 2 + (mode === 'after' ? 1 : 0)}Gi` })
          world.crashAt(write, mode)
          let died = false
          for (let round = 0; round < 8; round += 1) {
            died = (await world.passOrCrash()) || died
            await resized()
            await world.play()
          }
          await world.converge()
          expect(await world.says(), `write ${write}, ${mode}`).to.match(/^Running/)
          crashed = died && crashed
        }
        expect(write).to.be.lessThan(20)
      }
    })
  })

  describe('shrinking', () => {
    for (const [sentence, change] of [
      ['is rejected for storageSize', { storageSize: '5Gi' }],
      ['is rejected for the plan', { storageSize: undefined, computePlan: 'vector-dev' }],
    ] as const) {
      it(`${sentence} while the database keeps running`, async () => {
        const before = (await world.workload())?.metadata.resourceVersion
        await world.change(change)
        await world.converge()
        expect(await world.says()).to.equal(
          'Degraded StorageCannotShrink: The volumes have 10Gi and cannot shrink to 5Gi. Set storageSize to at least 10Gi.',
        )
        expect((await world.workload())?.metadata.resourceVersion).to.equal(before)
      })
    }
  })

  describe('deletion', () => {
    const remove = async () => {
      await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
      for (let round = 0; round < 6; round += 1) {
        await world.pass()
        await world.play()
      }
    }
    const exists = async () => (await world.object(VectorCluster.resource, 'products')) !== undefined

    it('removes the peers, then the volumes, then the resource', async () => {
      await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
      await world.pass()
      expect(await world.says()).to.match(/^Deleting TearingDown: Pods are shutting down: vc-products-0\./)
      expect(await size()).to.equal('10Gi')
      await world.play()
      await world.pass()
      expect(await claim()).to.equal(undefined)
      expect(await exists()).to.equal(false)
    })

    it('leaves no child, so that the name can be used at once', async () => {
      await world.change({ enableIngress: true, enableLoadBalancer: true })
      await world.converge()
      await remove()
      for (const resource of [configMap, ingress, networkPolicy, secret, service, statefulSet]) {
        expect(await world.names(resource), resource.kind).to.deep.equal([])
      }
    })

    it('deletes unowned ControllerRevisions of a replaced StatefulSet', async () => {
      const labels = (await world.workload())?.metadata.labels
      const revision = (name: string, ownerReferences?: object[]) =>
        world.client.seed(controllerRevision, {
          ...{ apiVersion: 'apps/v1', kind: 'ControllerRevision', revision: 1 },
          metadata: {
            name,
            namespace: HOME,
            labels: { ...labels },
            ...(ownerReferences && { ownerReferences }),
          },
        } as KubeObject)
      revision('vc-products-5d9cd55d94')
      revision('vc-products-owned', [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'vc-products', uid: 'x', controller: true },
      ])
      await remove()
      expect(await world.names(controllerRevision), 'owned ones are left to the garbage collector').to.deep.equal([
        'vc-products-owned',
      ])
      expect(await exists()).to.equal(false)
    })

    it('keeps volumes with onDelete Retain for a new resource of the same name', async () => {
      await world.change({ onDelete: 'Retain' })
      await remove()
      expect(await exists()).to.equal(false)
      const kept = (await claim())?.metadata.annotations
      expect(kept?.['freehold.dev/retained-for']).to.equal('VectorCluster/products')
      expect(kept?.['freehold.dev/incarnation-of-owner']).to.equal(undefined)
      const lives = kept?.['freehold.dev/retained-lives']
      expect(lives).to.match(/^[^,]+$/)
      await world.create({ storageSize: '10Gi' })
      await world.converge()
      expect(await world.says()).to.match(/^Running/)
      const taken = (await claim())?.metadata.annotations
      expect(taken?.['freehold.dev/retained-for']).to.equal(undefined)
      const { metadata } = await world.client.get(VectorCluster.resource, { namespace: HOME, name: 'products' })
      expect(metadata.annotations?.['freehold.dev/former-incarnations'], 'whose it was').to.equal(lives)
      expect(taken?.['freehold.dev/incarnation-of-owner']).to.be.a('string')
    })

    describe('after which retained volumes, with the version that wrote them,', () => {
      const image = async () =>
        (await world.workload())?.spec as { template: { spec: { containers: [{ image: string }] } } } | undefined
      const runs = async () => (await image())?.template.spec.containers[0].image.match(/v([\d.]+)/)?.[1]
      beforeEach(async () => {
        await world.change({ vectorVersion: '1.15.5' })
        await remove()
        await world.create({ storageSize: '10Gi', vectorVersion: '1.15.5' })
        await world.converge()
        await world.change({ onDelete: 'Retain' })
        await remove()
        expect((await claim())?.metadata.annotations['freehold.dev/retained-engine']).to.equal('Qdrant 1.15.5')
      })

      it('are rejected for an older version', async () => {
        await world.create({ storageSize: '10Gi', vectorVersion: '1.13.6' })
        await world.converge()
        expect(await world.says()).to.match(
          /^Failed ConfigurationInvalid: Volume claim "storage-vc-products-0" holds the files of Qdrant 1\.15\.5, which Qdrant 1\.13\.6 cannot read\. Set vectorVersion to at least 1\.15\.5/,
        )
        expect(await world.workload()).to.equal(undefined)
        expect((await claim())?.metadata.annotations['freehold.dev/retained-for']).to.equal('VectorCluster/products')
      })

      it('are migrated one minor version at a time', async () => {
        await world.create({ storageSize: '10Gi', vectorVersion: '1.17.1' })
        const seen = new Set<string | undefined>()
        for (let round = 0; round < 12; round += 1) {
          await world.pass()
          await world.play()
          seen.add(await runs())
        }
        expect([...seen].filter((version) => version !== undefined)).to.deep.equal(['1.16.3', '1.17.1'])
        expect(await world.says()).to.match(/^Running/)
      })
    })

    describe('with the volume of a former VectorCluster of the same name', () => {
      const claimRef = { namespace: HOME, name: 'storage-vc-products-0' }
      beforeEach(async () => {
        world.client.edit(persistentVolumeClaim, claimRef, ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, 'freehold.dev/incarnation-of-owner': 'another' }
        })
        await world.converge()
      })

      it('reports NameOccupied and how to release the name before', async () => {
        expect(await world.says()).to.match(
          /^Degraded NameOccupied: Volume claim "storage-vc-products-0" is left from a former VectorCluster of this name\. Delete this resource, /,
        )
        expect((await claim())?.metadata.annotations?.['freehold.dev/incarnation-of-owner']).to.equal('another')
      })

      it('deletes the volume', async () => {
        await remove()
        expect(await exists()).to.equal(false)
        expect(await claim()).to.equal(undefined)
      })

      it('keeps the volume with onDelete Retain', async () => {
        await world.change({ onDelete: 'Retain' })
        await remove()
        expect(await size()).to.equal('10Gi')
        expect((await claim())?.metadata.annotations?.['freehold.dev/retained-for']).to.equal('VectorCluster/products')
      })
    })

    it('leaves a foreign claim with the name of a volume', async () => {
      world.client.edit(persistentVolumeClaim, { namespace: HOME, name: 'storage-vc-products-0' }, ({ metadata }) => {
        metadata.annotations = {}
        metadata.labels = {}
      })
      await world.converge()
      expect(await world.says()).to.match(/^Degraded NameOccupied: .* exists and does not belong to this resource\./)
      await remove()
      expect(await exists()).to.equal(false)
      expect(await size()).to.equal('10Gi')
    })

    it('does not delay the deletion of the namespace', async () => {
      world.client.edit(namespace, { name: HOME }, ({ metadata }) => {
        metadata.deletionTimestamp = '2026-11-01T00:00:00Z'
        metadata.finalizers = ['kubernetes']
      })
      await world.change({ onDelete: 'Retain' })
      await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
      await world.pass()
      expect(await exists()).to.equal(false)
      expect(await claim()).to.equal(undefined)
      expect(await world.object(statefulSet, 'vc-products')).to.equal(undefined)
    })

    it('completes after a crash before or after any write', async () => {
      for (let write = 0, crashed = true; crashed; write += 1) {
        for (const mode of ['before', 'after'] as const) {
          await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
          world.crashAt(write, mode)
          let died = false
          for (let round = 0; round < 8; round += 1) {
            died = (await world.passOrCrash()) || died
            await world.play()
          }
          expect(await exists(), `write ${write}, ${mode}`).to.equal(false)
          expect(await claim(), `write ${write}, ${mode}`).to.equal(undefined)
          crashed = died && crashed
          world.steady()
          await world.create({ storageSize: '10Gi' })
          await world.converge()
        }
        expect(write).to.be.lessThan(20)
      }
    })
  })
})
