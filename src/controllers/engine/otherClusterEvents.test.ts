import { expect } from 'chai'
import { BOUNDARY_ID } from '../../../test/worlds/controllers.ts'
import { controllerWorld } from '../../../test/worlds/runner.ts'
import { OWNER_INCARNATION_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { done } from '../../core/outcome.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { configMap, namespace } from '../../kube/builtin.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { NO_OTHER_CLUSTERS } from './workloadLocation.ts'
import { openWorkspace } from './workspace.ts'

const FAR = 'far'

describe('Runner with events of another cluster', () => {
  const world = controllerWorld()
  let far: FakeKubeClient
  let caches: CacheSet
  let passed: string[]
  beforeEach(async () => {
    far = new FakeKubeClient()
    caches = new CacheSet({ client: far })
    passed = []
    const workspace = openWorkspace({ client: far, caches }, [namespace, configMap])
    const others = {
      ...NO_OTHER_CLUSTERS,
      find: () => workspace,
      each: (listener: Parameters<typeof NO_OTHER_CLUSTERS.each>[0]) => listener(FAR, workspace),
    }
    const clusterOf = ({ metadata: { name } }: { metadata: { name: string } }) => (name === 'there' ? FAR : undefined)
    const reconcile = async ({ object }: { object: { metadata: { name: string } } }) => {
      passed.push(object.metadata.name)
      return done()
    }
    world.make({ clusterOf, reconcile, observes: [configMap, { resource: configMap, keysOf }] }, { others })
    caches.start()
    await caches.whenAllSynced()
    for (const name of ['here', 'there']) world.seed(name)
    const status = { state: 'Online' }
    world.bench.client.seed(PlatformCluster.resource, {
      ...{ apiVersion: PlatformCluster.apiVersion, kind: PlatformCluster.kind, metadata: { name: FAR }, status },
      spec: { isPlatform: false },
    })
    world.bench.client.seed(BoundaryProjection.resource, {
      ...{ apiVersion: BoundaryProjection.apiVersion, kind: BoundaryProjection.kind },
      metadata: { name: FAR, namespace: boundaryNamespace(BOUNDARY_ID) },
      spec: { clusterId: FAR },
      status: { resolvedNamespaces: [{ namespace: world.space, state: 'Applied' }] },
    })
    await world.bench.start()
    passed = []
  })
  afterEach(() => caches.stopAll())

  const keysOf = ({ metadata }: { metadata: { labels?: Record<string, string> } }) =>
    [metadata.labels?.concerns].flatMap((name) => (name === undefined ? [] : [`${world.space}/${name}`]))

  /** Seeds an object there that claims to concern these. */
  async function claim(name: string, labels: Record<string, string>) {
    const annotations = { [OWNER_INCARNATION_ANNOTATION]: 'x' }
    const metadata = { name, namespace: world.space, labels, annotations }
    far.seed(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await world.bench.rest()
  }

  for (const [how, labelsFor] of [
    ['as their owner', (name: string) => ({ [OWNER_KIND_LABEL]: 'VectorCluster', [OWNER_NAME_LABEL]: name })],
    ['otherwise', (name: string) => ({ concerns: name })],
  ] as const)
    it(`makes a pass only of objects in that cluster, whichever its objects name ${how}`, async () => {
      await claim('one', labelsFor('here'))
      expect(passed).to.deep.equal([])
      await claim('two', labelsFor('there'))
      expect(passed).to.deep.equal(['there'])
    })
})
