import { expect } from 'chai'
import { World } from '../../../test/crashes/world.ts'
import { holdsLifecycleLock, releaseName } from '../../contracts/lifecycle.ts'
import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'

const CONTROLLERS = ['rolloutplan', 'rolloutexecution', 'componentinstall']
const ROLLOUT = [RolloutExecution, { plan: 'next', startedBy: 'me' }] as const
const OTHER = [RolloutExecution, { plan: 'other', startedBy: 'me' }] as const
const INSTALL = [ComponentInstall, { component: 'cnpg', kind: 'Install', requests: {}, startedBy: 'me' }] as const

describe('lifecycle lock', () => {
  let world: World
  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => CONTROLLERS.includes(name)))
    await world.lead()
    const chart = { name: 'cnpg', url: 'oci://registry.test/charts/cnpg' }
    const component = { title: 'CloudNativePG', kind: 'ThirdPartyChart', chart, version: '1.0.0' }
    await world.make(PlatformComponent, 'cnpg', component, SYSTEM_NAMESPACE)
    world.server.edit(PlatformComponent.resource, { namespace: SYSTEM_NAMESPACE, name: 'cnpg' }, (object) => {
      object.status = { state: 'Ready', isManaged: true, installedVersion: '1.0.0' }
    })
    const release = { component: 'cnpg', version: '1.1.0', digest: `sha256:${'0'.repeat(64)}`, isSigned: true }
    await world.make(ComponentRelease, releaseName('cnpg', '1.1.0'), release, SYSTEM_NAMESPACE)
    for (const plan of ['next', 'other'])
      await world.make(RolloutPlan, plan, { targetVersions: { cnpg: '1.1.0' } }, SYSTEM_NAMESPACE)
    await world.until('a plan is worked out', () => world.isReady(RolloutPlan, 'next', SYSTEM_NAMESPACE))
  })
  afterEach(() => world.stop())

  /** The names of the objects that hold the lock now. */
  function atWork(): string[] {
    type State = { status?: { state?: string; step?: string } }
    const rollouts = [...world.server.stored(RolloutExecution.resource)]
    const installs = [...world.server.stored(ComponentInstall.resource)]
    const busy = [
      ...rollouts.filter((one) => isRolloutActive((one as State).status?.state)),
      ...installs.filter((one) => holdsLifecycleLock((one as State).status)),
    ]
    return busy.map(({ metadata }) => metadata.name)
  }

  /** Returns the highest number of concurrent holders from now on. */
  function mostAtWork(): () => number {
    let most = 0
    const patch = world.server.mergePatch.bind(world.server)
    world.server.mergePatch = async (...given: Parameters<typeof patch>) => {
      const written = await patch(...given)
      most = Math.max(most, atWork().length)
      return written as never
    }
    return () => most
  }

  for (const [sentence, first, second] of [
    ['two rollouts', ROLLOUT, OTHER],
    ['two installs', INSTALL, INSTALL],
    ['a rollout and an install', ROLLOUT, INSTALL],
    ['an install and a rollout', INSTALL, ROLLOUT],
  ] as const)
    it(`has one holder at a time for ${sentence} created at once`, async () => {
      const most = mostAtWork()
      await Promise.all([
        world.make(first[0], 'z', first[1], SYSTEM_NAMESPACE),
        world.make(second[0], 'a', second[1], SYSTEM_NAMESPACE),
      ])
      await world.rest()
      expect(most()).to.equal(1)
    })
})
