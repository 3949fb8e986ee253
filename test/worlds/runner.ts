import { type ControllerOptions, controller, type Pass } from '../../src/controllers/engine/controller.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { done, type Outcome } from '../../src/core/outcome.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { configMap } from '../../src/kube/builtin.ts'
import { ControllerBench } from './controllers.ts'

type VectorPass = Pass<typeof VectorCluster>
type Options = Partial<ControllerOptions<typeof VectorCluster, undefined>>

/** The child that the test's controller creates. */
function childOf(pass: VectorPass, value = 'a'): KubeObject {
  const { name, namespace } = pass.object.metadata
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `vc-${name}`, namespace: namespace ?? '' },
    data: { value },
  }
}

/** The step that creates it. */
export async function makeChild(pass: VectorPass): Promise<Outcome> {
  await pass.children.ensure(childOf(pass), { resource: configMap })
  return done()
}

/** One controller of one kind with a child each, in memory. It ends with each test. */
export function controllerWorld() {
  let bench: ControllerBench
  let space: string
  afterEach(() => bench.stop())

  return {
    get bench() {
      return bench
    },
    /** The namespace of the group. */
    get space() {
      return space
    },
    make(options: Options = {}, how: ConstructorParameters<typeof ControllerBench>[1] = {}): void {
      const whole = { observes: [configMap], writes: [], reconcile: makeChild, ...options }
      bench = new ControllerBench([controller(VectorCluster, whole)], how)
      space = bench.seedGroup('shop').groupSpace
    },
    seed: (name: string, metadata: Partial<KubeObject['metadata']> = {}) =>
      bench.seed(VectorCluster, name, {}, { namespace: space, ...metadata }),
    async stored(name: string) {
      return (await bench.find(VectorCluster.resource, name, space)) as VectorCluster & KubeObject
    },
    /** The conditions, as `Type=Status Reason`. */
    async ready(name: string) {
      const conditions = (await this.stored(name)).status?.conditions ?? []
      return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
    },
  }
}
