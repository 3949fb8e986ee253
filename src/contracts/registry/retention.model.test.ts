import { expect } from 'chai'
import { TEST_CONFIG } from '../../../test/config.ts'
import { SeededRandom } from '../../../test/make/random.ts'
import { registryModel } from '../../../test/make/registryModel.ts'

const HISTORIES = 10_000
const STEPS = 40

describe('retention, over random histories of pushes, tags, pins, uses, sweeps and uploads', () => {
  it(`removes all unused images, and none that is in use or being pushed, in ${HISTORIES} histories`, () => {
    let [removed, kept, saved] = [0, 0, 0]
    for (let history = 0; history < HISTORIES; history += 1) {
      const seed = TEST_CONFIG.seed + history
      const model = registryModel(new SeededRandom(seed))
      try {
        for (let step = 0; step < STEPS; step += 1) model.step()
        model.run()
        model.finishUploads()
      } catch (error) {
        throw new Error(`History with the seed ${seed}: ${error instanceof Error ? error.message : error}`)
      }
      removed += model.counts.removed
      kept += model.counts.inUse
      saved += model.counts.inFlight
    }
    // Otherwise the histories would have tested nothing.
    expect(Math.min(removed, kept, saved)).to.be.greaterThan(HISTORIES / 10)
  })
})
