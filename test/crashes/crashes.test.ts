import { expect } from 'chai'
import { TEST_CONFIG } from '../config.ts'
import { SeededRandom } from '../make/random.ts'
import { disturbed, type Flow, play, type Run } from './flow.ts'
import { FLOWS } from './flows/index.ts'
import { type Death, deathsOf, type Write } from './life.ts'
import { sampleOf } from './sample.ts'
import { World } from './world.ts'

/** Limits of the reported differences per flow, and of the length of each: more would only repeat the problem. */
const SHOWN = 12
const LENGTH = 400

/**
 * For flows with more crash points than this, `npm test` takes one for each kind of write, and `npm run faults` all.
 */
const MANY = TEST_CONFIG.sized(8, Number.POSITIVE_INFINITY)

/** The choice also depends on the title, so that similar flows die at different points. */
function chosenOf(deaths: readonly Death[], writes: readonly Write[], title: string): readonly Death[] {
  if (deaths.length <= MANY) return deaths
  return sampleOf(deaths, writes, new SeededRandom(TEST_CONFIG.seed * 1_000 + title.length))
}

describe('an operator that is killed at any write', () => {
  const played = new Map<Flow, Promise<Run>>()
  const inPeace = (flow: Flow) => {
    const run = played.get(flow) ?? play(flow)
    played.set(flow, run)
    return run
  }

  for (const flow of FLOWS) {
    it(`ends in the same state: ${flow.title}`, async () => {
      const peace = await inPeace(flow)
      expect(peace.writes, 'writes of the undisturbed run').not.to.deep.equal([])
      expect(peace.end.writesAtRest, 'writes after everything has settled').to.equal(0)
      expect(peace.restless, 'done too often after a change without effect').to.deep.equal([])
      const found: string[] = []
      const all = deathsOf(peace.writes)
      const deaths = chosenOf(all, peace.writes, flow.title)
      let survived = 0
      for (const death of deaths) {
        const { by, what } = peace.writes[death.at - 1] ?? {}
        const run = await disturbed(flow, death, peace)
        if (!run.hasDied) survived += 1
        found.push(...run.found.map((difference) => `killed ${death.when} ${death.at}. ${by} ${what}: ${difference}`))
      }
      // Concurrent work is not always done in the same order, so some runs take fewer writes.
      const most = Math.min(all.length, Math.max(deaths.length, 10)) / 10
      expect(survived, 'runs that ended before the operator was killed').to.be.at.most(most)
      const shown = found.slice(0, SHOWN).map((difference) => difference.slice(0, LENGTH))
      if (found.length > 0) expect.fail([`${found.length} differences, seed ${TEST_CONFIG.seed}`, ...shown].join('\n'))
    })
  }

  it('is tested with every controller', async () => {
    const names: string[] = []
    const world = new World((all) => {
      names.push(...all.map(({ name }) => name))
      return []
    })
    await world.lead()
    await world.stop()
    const written = new Set<string>()
    for (const flow of FLOWS) for (const { by } of (await inPeace(flow)).writes) written.add(by)
    expect(names).to.have.length.greaterThan(15)
    expect(
      [...names, 'defaults'].filter((name) => !written.has(name)),
      'these write in no flow of test/crashes/flows',
    ).to.deep.equal([])
  })
})
