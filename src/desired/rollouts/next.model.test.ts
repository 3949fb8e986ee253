import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import { DRIFT, MINUTE, World } from '../../../test/worlds/rolloutWorld.ts'
import { isRolloutOver } from '../../contracts/rollouts/states.ts'
import { componentsToApply } from './index.ts'

describe('rollouts with random events', () => {
  const seed = Number(process.env.FREEHOLD_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = new SeededRandom(seed)

  /** One event in the cluster or by a person. */
  function happen(world: World): void {
    const at = String(random.below(1_000_000))
    const things: (() => unknown)[] = [
      () =>
        world.set(random.pick(['cnpg', 'facade']), random.pick(['Applying', 'Ready', 'Failed']), {
          isHealthy: random.chance(0.8),
        }),
      () => (world.now += random.below(40) * MINUTE),
      () => (world.drift = random.chance(0.3) ? [DRIFT] : []),
      () => (world.worsened = random.chance(0.3) ? ['nodes-ready'] : []),
      () => (world.snapshot = random.pick([{ phase: 'Completed' }, { phase: 'InProgress' }, { problem: 'Failed.' }])),
      () => (world.refusal = random.chance(0.2) ? 'Forbidden.' : undefined),
      () => (world.requests = { ...world.requests, resumeAt: at, skipSnapshot: random.chance(0.5) }),
      () => (world.requests = { ...world.requests, revertDriftAt: at }),
      () => (world.requests = { ...world.requests, ...(random.chance(0.2) && { cancelAt: at }) }),
    ]
    random.pick(things)()
  }

  it('settle, stay as they ended, and run no batch after a cancellation', () => {
    for (let run = 0; run < 500; run += 1) {
      const world = new World()
      const ends: string[] = []
      for (let turn = 0; turn < 40; turn += 1) {
        happen(world)
        const before = world.execution
        const then = world.settle()
        if (isRolloutOver(before.state)) expect(then, `seed ${seed}`).to.equal(before)
        if (isRolloutOver(then.state)) ends.push(then.state)
        expect(new Set(ends).size, `seed ${seed}`).to.be.at.most(1)
        const atWork = then.batches.filter(({ state }) => ['Applying', 'WaitingForHealth', 'Paused'].includes(state))
        expect(atWork.length, `seed ${seed}`).to.be.at.most(
          then.state === 'Executing' || then.state === 'Paused' ? 1 : 0,
        )
        expect(then.state === 'Paused', `seed ${seed}`).to.equal(then.pause !== undefined)
        if (then.state !== 'Executing') expect(componentsToApply(then)).to.deep.equal([])
      }
    }
  })
})
