import { FakeReleaseFeed } from '../../src/adapters/releases/fake.ts'
import { LIFECYCLE_CONTROLLERS, type LifecycleOptions } from '../../src/controllers/lifecycle/index.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { ComponentInstall, PlatformComponent } from '../../src/crds/lifecycle.ts'
import { customResourceDefinition, deployment } from '../../src/kube/builtin.ts'
import { FLUX_RESOURCES, helmRelease, ociRepository } from '../../src/kube/flux.ts'
import { ControllerBench } from './controllers.ts'
import { fluxStatus } from './fluxPlay.ts'

export const CHART = 'oci://charts.example.com/shop'

/** The CRD of a type that an administrator installs. */
export const definitionOf = ({ group, version, plural }: Resource): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: { versions: [{ name: version, served: true }] },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
})

/** Components on an API server in memory, with a simulated Flux. */
export class LifecycleWorld {
  readonly feed = new FakeReleaseFeed()
  readonly bench: ControllerBench

  constructor(options: Partial<LifecycleOptions> = {}) {
    const all = { feed: this.feed, feedInterval: 3_600_000, healthSettle: 30_000, ownVersion: '4.2.0', ...options }
    this.bench = new ControllerBench(LIFECYCLE_CONTROLLERS.map((make) => make(all)))
  }

  async start({ hasFlux = true } = {}): Promise<this> {
    if (hasFlux) this.installFlux()
    await this.bench.start()
    return this
  }

  installFlux(): void {
    for (const resource of FLUX_RESOURCES) this.bench.client.seed(customResourceDefinition, definitionOf(resource))
  }

  component(name: string, spec: object = {}): void {
    const whole = PlatformComponent.spec.parse({
      ...{ title: name, kind: 'Module', namespace: 'apps', chart: { name, url: CHART } },
      ...spec,
    })
    this.bench.seed(PlatformComponent, name, whole, { namespace: SYSTEM_NAMESPACE })
  }

  install(name: string, spec: object): void {
    const creationTimestamp = new Date(this.bench.clock.now()).toISOString()
    const metadata = { namespace: SYSTEM_NAMESPACE, creationTimestamp }
    this.bench.seed(ComponentInstall, name, ComponentInstall.spec.parse(spec), metadata)
  }

  /** Flux processes everything once. */
  async flux(failure?: string): Promise<void> {
    const { client, clock } = this.bench
    const now = new Date(clock.now()).toISOString()
    for (const release of (await client.list(helmRelease)).items) {
      const { name, namespace } = release.metadata
      const chart = await client.get(ociRepository, { name, namespace })
      const status = fluxStatus(release, chart, { failure, now })
      await client.mergePatch(helmRelease, { name, namespace }, { status }, { subresource: 'status' })
    }
    await this.bench.rest()
  }

  deployment(name: string, ready: number): void {
    this.bench.client.seed(deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'apps', generation: 1 },
      spec: { replicas: 1, template: { spec: { containers: [{ image: `example.com/${name}:0.9.0` }] } } },
      status: { observedGeneration: 1, readyReplicas: ready, updatedReplicas: 1 },
    } as KubeObject)
  }

  /** How long workloads are observed. */
  async settle(): Promise<void> {
    await this.bench.clock.advance(30_000)
    await this.bench.rest()
  }

  async statusOf(
    kind: { resource: Resource },
    name: string,
  ): Promise<Record<string, never> & { [field: string]: unknown }> {
    const found = await this.bench.find(kind.resource, name, SYSTEM_NAMESPACE)
    return (found?.status ?? {}) as never
  }
}
