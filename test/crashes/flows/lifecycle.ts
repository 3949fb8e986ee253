import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import { type KubeObject, refOf } from '../../../src/core/object.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../../src/crds/lifecycle.ts'
import { helmRelease, ociRepository } from '../../../src/kube/flux.ts'
import { fluxStatus } from '../../worlds/fluxPlay.ts'
import type { Flow, Step } from '../flow.ts'
import { seedFlux } from '../seeds.ts'
import type { World } from '../world.ts'

const URL = 'oci://charts.test/shop'
const [COMPONENT, INSTALL, REPAIR] = ['shop', 'first', 'second']

type Release = KubeObject & {
  status?: { lastAttemptedRevision?: string; lastHandledReconcileAt?: string; conditions?: { status: string }[] }
}

/** Flux processes new objects. */
function playFlux({ server }: World, failure?: string): void {
  for (const release of server.stored(helmRelease) as Iterable<Release>) {
    const chart = [...server.stored(ociRepository)].find(({ metadata }) => metadata.name === release.metadata.name)
    if (chart === undefined) continue
    const { tag } = (chart as unknown as { spec: { ref: { tag: string } } }).spec.ref
    const asked = release.metadata.annotations?.['reconcile.fluxcd.io/requestedAt']
    const { status } = release
    const isDone = status?.lastAttemptedRevision?.startsWith(tag) === true && status.lastHandledReconcileAt === asked
    if (isDone) continue
    server.edit(helmRelease, refOf(release), (object) => {
      object.status = fluxStatus(release, chart, { failure, now: server.time })
    })
  }
}

const until =
  (state: string, { name = INSTALL, failure }: { name?: string; failure?: string } = {}): NonNullable<Step['until']> =>
  async (world) => {
    playFlux(world, failure)
    const found = await world.find(ComponentInstall.resource, name, SYSTEM_NAMESPACE)
    return (found?.status as { state?: string } | undefined)?.state === state
  }

const declared: Step = {
  user: 'declares a component, of which there are two versions',
  async act(world) {
    seedFlux(world.server)
    for (const version of ['1.0.0', '1.1.0']) world.engines.releases.push(URL, version)
    const spec = { title: 'Shop', kind: 'Module', chart: { name: COMPONENT, url: URL } }
    await world.make(PlatformComponent, COMPONENT, spec, SYSTEM_NAMESPACE)
  },
  until: ({ server }) => [...server.stored(ComponentRelease.resource)].length === 2,
}
const install = (then: NonNullable<Step['until']>): Step => ({
  user: 'installs it',
  act: (world) => world.make(ComponentInstall, INSTALL, { component: COMPONENT }, SYSTEM_NAMESPACE),
  until: then,
})

/** Which versions are recorded, and what Flux was told. */
function facts({ server }: World): object {
  const specs = (resource: typeof helmRelease) =>
    [...server.stored(resource)].map((object) => (object as unknown as { spec: object }).spec)
  return { releases: specs(ComponentRelease.resource).length, told: [specs(ociRepository), specs(helmRelease)] }
}

const CONTROLLERS = ['platformcomponent', 'componentinstall']

export const lifecycleFlows: readonly Flow[] = [
  {
    title: 'a component is installed in its newest version, and installed again',
    controllers: CONTROLLERS,
    hasGroup: false,
    steps: [
      declared,
      install(until('Succeeded')),
      {
        user: 'has it repaired',
        act: (world) =>
          world.make(ComponentInstall, REPAIR, { component: COMPONENT, kind: 'Repair' }, SYSTEM_NAMESPACE),
        until: until('Succeeded', { name: REPAIR }),
      },
    ],
    facts,
  },
  {
    title: 'an install that failed in Helm is resumed',
    controllers: CONTROLLERS,
    hasGroup: false,
    steps: [
      declared,
      install(until('Paused', { failure: 'no such image' })),
      {
        user: 'mends the cause and resumes it',
        act: (world) =>
          world.change(ComponentInstall, INSTALL, { requests: { resumeAt: '2026-01-01T00:00:00Z' } }, SYSTEM_NAMESPACE),
        until: until('Succeeded'),
      },
    ],
    facts,
  },
]
