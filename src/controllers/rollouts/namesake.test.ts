import { expect } from 'chai'
import { seedVelero } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { releaseName } from '../../contracts/lifecycle.ts'
import { PLATFORM_SCHEDULE } from '../../contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import { veleroBackup, veleroSchedule } from '../../kube/velero.ts'

const CONTROLLERS = ['rolloutplan', 'rolloutexecution', 'platformdriftscan']
const AT = { namespace: SYSTEM_NAMESPACE }

describe('RolloutExecution with the name of a deleted one', () => {
  let world: World
  afterEach(() => world.stop())

  /** Velero and Flux complete whatever was requested. */
  function play(): void {
    for (const { metadata, status } of [...world.server.stored(veleroBackup)])
      if (status === undefined)
        world.server.edit(veleroBackup, { namespace: 'velero', name: metadata.name }, (object) => {
          object.status = { phase: 'Completed', completionTimestamp: world.server.time }
        })
    for (const object of [...world.server.stored(PlatformComponent.resource)]) {
      const { spec, status } = object as unknown as PlatformComponent
      if (spec.version === status?.installedVersion && spec.requestedAt === status?.rollout?.requestedAt) continue
      world.server.edit(PlatformComponent.resource, { ...AT, name: object.metadata.name }, (changed) => {
        const rollout = {
          version: spec.version,
          requestedAt: spec.requestedAt,
          state: 'Ready',
          since: world.server.time,
        }
        changed.status = { state: 'Ready', isManaged: true, installedVersion: spec.version, rollout }
      })
    }
  }

  async function rollTo(version: string): Promise<void> {
    const release = { component: 'cnpg', version, digest: `sha256:${'0'.repeat(64)}`, isSigned: true }
    await world.make(ComponentRelease, releaseName('cnpg', version), release, SYSTEM_NAMESPACE)
    await world.make(RolloutPlan, 'next', { targetVersions: { cnpg: version } }, SYSTEM_NAMESPACE)
    await world.until('the plan is worked out', () => world.isReady(RolloutPlan, 'next', SYSTEM_NAMESPACE))
    await world.make(RolloutExecution, 'rolling', { plan: 'next', startedBy: 'me' }, SYSTEM_NAMESPACE)
    await world.until('it is rolled out', async () => {
      play()
      const found = await world.find(RolloutExecution.resource, 'rolling', SYSTEM_NAMESPACE)
      return (found?.status as { state?: string } | undefined)?.state === 'Succeeded'
    })
  }

  it('takes its own backup and its own drift scan', async () => {
    world = new World((all) => all.filter(({ name }) => CONTROLLERS.includes(name)))
    seedVelero(world.server)
    world.server.seed(veleroSchedule, {
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata: { name: PLATFORM_SCHEDULE, namespace: 'velero' },
      spec: { template: { includedNamespaces: [SYSTEM_NAMESPACE] } },
    } as KubeObject)
    await world.lead()
    const chart = { name: 'cnpg', url: 'oci://registry.test/charts/cnpg' }
    const component = { title: 'CloudNativePG', kind: 'ThirdPartyChart', chart, version: '1.0.0' }
    await world.make(PlatformComponent, 'cnpg', component, SYSTEM_NAMESPACE)
    play()
    await rollTo('1.1.0')
    await world.remove(RolloutExecution, 'rolling', SYSTEM_NAMESPACE)
    await world.remove(RolloutPlan, 'next', SYSTEM_NAMESPACE)
    await world.rest()
    await rollTo('1.2.0')
    await world.rest()
    const scans = [...world.server.stored(PlatformDriftScan.resource)].map(({ metadata }) => metadata.name)
    expect([...world.server.stored(veleroBackup)]).to.have.length(2)
    expect(scans.filter((name) => name.startsWith('rollout-'))).to.have.length(2)
  })
})
