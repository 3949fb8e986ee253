import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { releaseName } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import { ROLLOUT_CONTROLLERS } from './index.ts'

const namespace = SYSTEM_NAMESPACE
const inspector = { facts: async () => ({}), drift: async () => ({ scanned: 0, items: [], problems: [] }) }

describe('RolloutExecution with a new plan', () => {
  let bench: ControllerBench
  beforeEach(() => {
    const options = { inspector: inspector as never, version: '1.0.0', velero: 'velero' }
    bench = new ControllerBench(ROLLOUT_CONTROLLERS.map((make) => make(options)))
    const chart = { name: 'shop', url: 'oci://charts.example.com/shop' }
    const component = { title: 'Shop', kind: 'Module', namespace: 'apps', chart, version: '1.0.0' }
    bench.seed(PlatformComponent, 'shop', PlatformComponent.spec.parse(component), { namespace })
    const release = { component: 'shop', version: '1.1.0', digest: `sha256:${'a'.repeat(64)}` }
    bench.seed(ComponentRelease, releaseName('shop', '1.1.0'), ComponentRelease.spec.parse(release), { namespace })
  })
  afterEach(() => bench.stop())
  const state = async () =>
    ((await bench.find(RolloutExecution.resource, 'one', namespace))?.status as RolloutExecution['status'])?.state
  const execute = () =>
    bench.seed(RolloutExecution, 'one', RolloutExecution.spec.parse({ plan: 'plan' }), { namespace })

  it('starts once the cache shows the plan', async () => {
    const release = bench.holdBack(RolloutPlan.resource)
    await bench.start()
    bench.seed(RolloutPlan, 'plan', RolloutPlan.spec.parse({ targetVersions: { shop: '1.1.0' } }), { namespace })
    execute()
    await bench.rest()
    const before = await state()
    release()
    await bench.rest()
    expect([before, await state()]).to.deep.equal([undefined, 'Executing'])
  })

  it('fails without a plan', async () => {
    await bench.start()
    execute()
    await bench.rest()
    expect(await state()).to.equal('Failed')
  })
})
