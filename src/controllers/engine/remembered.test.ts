import { expect } from 'chai'
import { controllerWorld, makeChild } from '../../../test/worlds/runner.ts'
import type { KubeObject, ObjectRef, Resource } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { configMap } from '../../kube/builtin.ts'
import { KubeError } from '../../kube/errors.ts'
import type { Pass } from './controller.ts'

/** A step whose outcome depends on the name of the object. */
async function behave(pass: Pass<typeof VectorCluster>): Promise<Outcome> {
  const { name } = pass.object.metadata
  if (name.startsWith('failing')) throw new Error('No.')
  if (name.startsWith('conflict')) throw new KubeError('Conflict', 'Somebody was first.', { status: 409 })
  if (name.startsWith('later')) return waiting('WaitingForDependency', 'Not yet.', 3_600_000)
  // "occupied" objects meet a foreign child; of "otherwise" objects the API server stores another child.
  return name.startsWith('done') ? done() : makeChild(pass)
}

describe('memory of the engine', () => {
  const world = controllerWorld()
  const NAMES = ['failing', 'conflict', 'later', 'done', 'occupied', 'otherwise'].flatMap((what) =>
    Array.from({ length: 20 }, (_, index) => `${what}-${index}`),
  )

  for (const telling of [true, false]) {
    it(`is released with deleted objects, ${telling ? 'with' : 'without'} caches that show own writes at once`, async () => {
      world.make({ reconcile: behave }, { telling })
      const { client, clock } = world.bench
      const apply = client.apply.bind(client)
      client.apply = async <T extends KubeObject>(resource: Resource, object: T, options?: object): Promise<T> => {
        const stored = await apply(resource, object, options as never)
        if (object.metadata.name.includes('otherwise'))
          client.edit(resource, object.metadata as ObjectRef, (child) => Object.assign(child, { data: { value: 'b' } }))
        return object.metadata.name.includes('otherwise')
          ? client.get<T>(resource, object.metadata as ObjectRef)
          : stored
      }
      for (const name of NAMES) {
        world.seed(name)
        if (!name.startsWith('occupied')) continue
        const metadata = { name: `vc-${name}`, namespace: world.space }
        client.seed(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
      }
      await world.bench.start()
      await clock.advance(60_000)
      await world.bench.rest()
      const during = world.bench.remembered()
      for (const what of ['failures', 'conflicts', 'occupied', 'storedOtherwise', 'failing', 'delayed'])
        expect(during[what], what).to.be.greaterThan(0)
      for (const name of NAMES) await client.remove(VectorCluster.resource, { namespace: world.space, name })
      await world.bench.rest()
      await clock.advance(3_600_000)
      await world.bench.rest()
      expect(Object.entries(world.bench.remembered()).filter(([, count]) => count > 0)).to.deep.equal([])
    })
  }
})
