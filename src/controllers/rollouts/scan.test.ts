import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformDriftScan } from '../../crds/rollouts.ts'
import { ROLLOUT_CONTROLLERS } from './index.ts'

const namespace = SYSTEM_NAMESPACE
const inspector = { facts: async () => ({}), drift: async () => ({ scanned: 0, items: [], problems: [] }) }

describe('scheduled PlatformDriftScan', () => {
  it('is recreated when it is deleted', async () => {
    const options = { inspector: inspector as never, version: '1.0.0', velero: 'velero' }
    const bench = new ControllerBench(ROLLOUT_CONTROLLERS.map((make) => make(options)))
    const scheduled = async () =>
      (await bench.client.list(PlatformDriftScan.resource)).items
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith('scheduled-'))
    try {
      bench.seed(PlatformDriftScan, 'first', PlatformDriftScan.spec.parse({ trigger: 'Manual' }), { namespace })
      await bench.start()
      for (let step = 0; step < 3; step += 1) {
        await bench.clock.advance(1_000)
        await bench.rest()
      }
      const [name = ''] = await scheduled()
      expect(name).not.to.equal('')
      await bench.client.remove(PlatformDriftScan.resource, { namespace, name })
      await bench.rest()
      expect(await scheduled()).to.deep.equal([name])
    } finally {
      await bench.stop()
    }
  })
})
