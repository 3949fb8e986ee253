import { releaseName } from '../../../src/contracts/lifecycle.ts'
import { PLATFORM_SCHEDULE } from '../../../src/contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import type { KubeObject, Resource } from '../../../src/core/object.ts'
import { ComponentRelease, PlatformComponent } from '../../../src/crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../../src/crds/rollouts.ts'
import { veleroBackup, veleroSchedule } from '../../../src/kube/velero.ts'
import type { Flow, Step } from '../flow.ts'
import { seedVelero } from '../seeds.ts'
import type { World } from '../world.ts'

const CONTROLLERS = ['rolloutplan', 'rolloutexecution', 'platformdriftscan']
const [PLAN, ROLLOUT] = ['to-1-1', 'rolling']

type Component = PlatformComponent & KubeObject
const all = <T extends KubeObject = KubeObject>(server: World['server'], { resource }: { resource: Resource }) =>
  [...server.stored(resource)] as unknown as T[]

type State = 'Ready' | 'Failed' | 'Applying'

/** Components as their controller and Flux would have them: each gets the version that it is told. */
function playFlux({ server }: World, stateOf: (name: string) => State): void {
  for (const { metadata, spec, status } of all<Component>(server, PlatformComponent)) {
    const { version, requestedAt } = spec
    const state = stateOf(metadata.name)
    const reported = status?.rollout
    const isReported =
      reported?.version === version && reported?.requestedAt === requestedAt && reported?.state === state
    if (version === undefined || isReported) continue
    server.edit(PlatformComponent.resource, { namespace: SYSTEM_NAMESPACE, name: metadata.name }, (object) => {
      const rollout = { version, requestedAt, state, since: server.time }
      const isReady = state === 'Ready'
      const installedVersion = isReady ? version : status?.installedVersion
      object.status = { state: isReady ? 'Ready' : 'Failed', isManaged: true, installedVersion, rollout }
    })
  }
}

function playVelero({ server }: World, phase: string): void {
  for (const { metadata, status } of all<KubeObject & { status?: { phase?: string } }>(server, {
    resource: veleroBackup,
  })) {
    if (status?.phase !== undefined) continue
    server.edit(veleroBackup, { namespace: 'velero', name: metadata.name }, (object) => {
      object.status = { phase, completionTimestamp: server.time }
    })
  }
}

type Played = { flux?: (name: string) => State; velero?: string }

/** Lets the cluster act until the rollout reaches this state. */
const until =
  (
    state: string,
    { flux = () => 'Ready', velero = 'Completed' }: Played = {},
    name = ROLLOUT,
  ): NonNullable<Step['until']> =>
  async (world) => {
    playVelero(world, velero)
    playFlux(world, flux)
    const found = await world.find(RolloutExecution.resource, name, SYSTEM_NAMESPACE)
    return (found?.status as { state?: string } | undefined)?.state === state
  }

const COMPONENTS = {
  cnpg: { title: 'CloudNativePG', kind: 'ThirdPartyChart' },
  facade: { title: 'Facade', kind: 'Module', dependsOn: [{ name: 'cnpg' }] },
}

const platform: Step = {
  user: 'a platform runs with a chart and a module, of which there are new releases',
  async act(world) {
    seedVelero(world.server)
    world.server.seed(veleroSchedule, {
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata: { name: PLATFORM_SCHEDULE, namespace: 'velero' },
      spec: { template: { includedNamespaces: [SYSTEM_NAMESPACE] } },
    })
    for (const [name, more] of Object.entries(COMPONENTS)) {
      const chart = { name, url: `oci://registry.test/charts/${name}` }
      await world.make(PlatformComponent, name, { ...more, chart, version: '1.0.0' }, SYSTEM_NAMESPACE)
      const digest = `sha256:${'0'.repeat(64)}`
      const release = { component: name, version: '1.1.0', digest, isSigned: true }
      await world.make(ComponentRelease, releaseName(name, '1.1.0'), release, SYSTEM_NAMESPACE)
    }
    playFlux(world, () => 'Ready')
  },
}
const planned: Step = {
  user: 'plans to roll both',
  act: (world) =>
    world.make(RolloutPlan, PLAN, { targetVersions: { cnpg: '1.1.0', facade: '1.1.0' } }, SYSTEM_NAMESPACE),
  until: (world) => world.isReady(RolloutPlan, PLAN, SYSTEM_NAMESPACE),
}
const started = (then: NonNullable<Step['until']>): Step => ({
  user: 'carries the plan out',
  act: (world) => world.make(RolloutExecution, ROLLOUT, { plan: PLAN, startedBy: 'me' }, SYSTEM_NAMESPACE),
  until: then,
})
const asked = (user: string, requests: object, then: NonNullable<Step['until']>): Step => ({
  user,
  act: (world) => world.change(RolloutExecution, ROLLOUT, { requests }, SYSTEM_NAMESPACE),
  until: then,
})

/** The versions that components have, how often a snapshot was taken, and whether a scan came after. */
async function facts({ server }: World): Promise<object> {
  const components = all<Component>(server, PlatformComponent)
  return {
    versions: Object.fromEntries(components.map(({ metadata, spec }) => [metadata.name, spec.version])),
    snapshots: all(server, { resource: veleroBackup }).length,
    scans: all(server, PlatformDriftScan).filter(({ metadata }) => metadata.name.startsWith('rollout-')).length,
  }
}

const flow = (title: string, ...steps: Step[]): Flow => ({
  ...{ title, controllers: CONTROLLERS, hasGroup: false, given: [platform], facts },
  steps: [planned, ...steps],
})

export const rolloutFlows: readonly Flow[] = [
  flow(
    'a rollout takes a snapshot, upgrades a chart and then a module, and scans for drift',
    started(until('Succeeded')),
  ),
  flow(
    'a rollout is paused by a failing chart, resumed and rolled back',
    started(until('Paused', { flux: (name) => (name === 'cnpg' ? 'Failed' : 'Ready') })),
    asked('mends the chart and resumes', { resumeAt: '2026-01-02T00:00:00Z' }, until('Succeeded')),
    {
      user: 'takes it back',
      act: (world) =>
        world.change(RolloutExecution, ROLLOUT, { requests: { rollbackAt: '2026-01-03T00:00:00Z' } }, SYSTEM_NAMESPACE),
      async until(world) {
        playFlux(world, () => 'Ready')
        const rollouts = all<KubeObject & { spec: { rollbackOf?: string }; status?: { state?: string } }>(
          world.server,
          RolloutExecution,
        )
        return rollouts.some(({ spec, status }) => spec.rollbackOf === ROLLOUT && status?.state === 'Succeeded')
      },
    },
  ),
  flow(
    'a rollout is cancelled: the current step ends, and no other starts',
    started(async (world) => {
      playVelero(world, 'Completed')
      return (
        (await world.find<Component>(PlatformComponent.resource, 'cnpg', SYSTEM_NAMESPACE))?.spec.version === '1.1.0'
      )
    }),
    asked('cancels it', { cancelAt: '2026-01-02T00:00:00Z' }, until('Cancelled')),
  ),
]
