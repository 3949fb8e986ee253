import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import { isRolloutOver, type PlanItem } from '../../contracts/rollouts/states.ts'
import { batchesOfPlan, type Execution, looksFor, next, type Observed, rollbackOf, toldBy, wakesIn } from './index.ts'
import type { SeenComponent } from './types.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000
const item = (component: string, kind: PlanItem['kind'] = 'Module', more: Partial<PlanItem> = {}): PlanItem => ({
  ...{ component, kind, fromVersion: '1.0.0', toVersion: '1.1.0', addedBy: 'Caller', isReversible: true },
  ...more,
})
const CHART = item('cnpg', 'ThirdPartyChart')
const MODULE = item('facade')
const batch = (index: number, { component, kind }: PlanItem) => ({
  index,
  kind: kind === 'ThirdPartyChart' || kind === 'CrdBundle' ? kind : ('Components' as const),
  components: [component],
  timeLimitMinutes: kind === 'ThirdPartyChart' ? 30 : 10,
})
const newOne = (items: PlanItem[] = [CHART, MODULE], kind: Execution['kind'] = 'Components'): Execution => ({
  ...{ state: 'Executing', step: 'Preflight', kind, startedAt: '2026-01-01T00:00:00Z' },
  batches: batchesOfPlan({ items, batches: items.map((one, index) => batch(index, one)) }),
})

/** A cluster that does what it is told, as fast as each test says. */
class World {
  now = START
  readonly seen = new Map<string, SeenComponent>()
  requests: Observed['requests'] = {}
  refusal: string | undefined
  snapshot: Observed['snapshot'] = { phase: 'Completed', completedAt: '2026-01-01T00:01:00Z' }
  drift: NonNullable<Observed['drift']> = []
  worsened: string[] = []
  preflight: NonNullable<Observed['preflight']> = {
    report: { runAt: '2026-01-01T00:00:00Z', checks: [] },
    refusal: undefined,
    acknowledged: [],
  }
  execution: Execution

  constructor(execution = newOne()) {
    this.execution = execution
  }

  set(name: string, state: SeenComponent['state'], more: Partial<SeenComponent> = {}): this {
    this.seen.set(name, {
      kind: 'Module',
      state,
      isInstalled: state === 'Ready',
      isHealthy: state === 'Ready',
      ...more,
    })
    return this
  }

  /** Until the rollout waits for something. */
  settle(): Execution {
    for (let round = 0; round < 50; round += 1) {
      const look = looksFor(this.execution, this.now)
      const then = next(
        this.execution,
        {
          ...{ requests: this.requests, refusal: this.refusal, snapshot: this.snapshot, snapshotName: 'snapshot' },
          componentOf: (name) =>
            this.seen.get(name) ?? { kind: 'Module', state: 'Applying', isInstalled: false, isHealthy: false },
          ...(look === 'preflight' && { preflight: this.preflight }),
          ...(look === 'drift' && { drift: this.drift }),
          ...(look === 'checks' && { worsened: this.worsened }),
        },
        this.now,
      )
      if (JSON.stringify(then) === JSON.stringify(this.execution)) return then
      this.execution = then
    }
    throw new Error('The rollout does not come to rest.')
  }

  after(minutes: number): Execution {
    this.now += minutes * MINUTE
    return this.settle()
  }
}

const words = ({ state, step, pause, failure, batches }: Execution) =>
  [state, step, pause?.code ?? failure?.code, batches.map((one) => one.state).join(' ')].filter(Boolean).join(', ')

describe('a rollout', () => {
  type Case = [what: string, play: (world: World) => void, expected: string]
  const cases: Case[] = [
    [
      'waits for the first chart after checks and snapshot',
      (world) => world.settle(),
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'looks at the checks a minute after a chart',
      (world) => world.set('cnpg', 'Ready').settle(),
      'Executing, ThirdPartyCharts, WaitingForHealth Pending',
    ],
    [
      'goes on when they are as before',
      (world) => {
        world.set('cnpg', 'Ready').settle()
        world.after(1)
      },
      'Executing, Components, Succeeded Applying',
    ],
    [
      'succeeds once the last batch is ready and healthy',
      (world) => {
        world.set('cnpg', 'Ready').set('facade', 'Ready').settle()
        world.after(1)
      },
      'Succeeded, Finished, Succeeded Succeeded',
    ],
    [
      'passes over what is at its version already',
      (world) => {
        world.execution = newOne([MODULE])
        world.set('facade', 'Ready', { isAt: '1.1.0' }).settle()
      },
      'Succeeded, Finished, Succeeded',
    ],
    [
      'fails where a check stops it',
      (world) => {
        world.preflight = { ...world.preflight, refusal: { code: 'OperatorTooOld', message: 'Too old.' } }
        world.settle()
      },
      'Failed, Finished, OperatorTooOld, Skipped Skipped',
    ],
    [
      'waits for the snapshot',
      (world) => {
        world.snapshot = { phase: 'InProgress' }
        world.settle()
      },
      'Executing, Snapshot, Pending Pending',
    ],
    [
      'is paused by a snapshot that fails',
      (world) => {
        world.snapshot = { phase: 'Failed', problem: 'It failed.' }
        world.settle()
      },
      'Paused, Snapshot, SnapshotFailed, Pending Pending',
    ],
    [
      'is paused by one that takes half an hour',
      (world) => {
        world.snapshot = { phase: 'InProgress' }
        world.settle()
        world.after(30)
      },
      'Paused, Snapshot, SnapshotFailed, Pending Pending',
    ],
    [
      'takes no snapshot where somebody said that none can be taken',
      (world) => {
        world.preflight = { ...world.preflight, acknowledged: ['snapshot-possible'] }
        world.snapshot = { problem: 'No Velero.' }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'but takes one before what only a restored database undoes',
      (world) => {
        world.execution = newOne([item('cnpg', 'ThirdPartyChart', { isReversible: false })])
        world.preflight = { ...world.preflight, acknowledged: ['snapshot-possible'] }
        world.snapshot = { problem: 'No Velero.' }
        world.settle()
      },
      'Paused, Snapshot, SnapshotFailed, Pending',
    ],
    [
      'is paused by a component that fails',
      (world) => world.set('cnpg', 'Failed').settle(),
      'Paused, ThirdPartyCharts, ComponentFailed, Paused Pending',
    ],
    [
      'is paused by one that is installed and not healthy',
      (world) => world.set('cnpg', 'Failed', { isInstalled: true }).settle(),
      'Paused, ThirdPartyCharts, HealthFailed, Paused Pending',
    ],
    [
      'is paused where a chart made checks worse',
      (world) => {
        world.worsened = ['nodes-ready']
        world.set('cnpg', 'Ready').settle()
        world.after(1)
      },
      'Paused, ThirdPartyCharts, BatchCheckWorsened, Paused Pending',
    ],
    [
      'is paused where the cluster refuses',
      (world) => {
        world.settle()
        world.refusal = 'Forbidden.'
        world.settle()
      },
      'Paused, ThirdPartyCharts, ClusterRefused, Paused Pending',
    ],
    [
      'is paused before a batch whose objects were changed by hand',
      (world) => {
        world.drift = [DRIFT]
        world.settle()
      },
      'Paused, ThirdPartyCharts, PlatformDrift, Paused Pending',
    ],
    [
      'is paused at the end by a component that is ill',
      (world) => {
        world.set('cnpg', 'Ready', { isHealthy: false }).set('facade', 'Ready').settle()
        world.after(1)
      },
      'Paused, Verification, HealthFailed, Succeeded Succeeded',
    ],
    [
      'fails when a batch takes too long',
      (world) => {
        world.settle()
        world.after(30)
      },
      'Failed, Finished, BatchTimeout, Failed Skipped',
    ],
    [
      'begins nothing more once it is cancelled, and lets what is under way end',
      (world) => {
        world.settle()
        world.requests = { cancelAt: 'now' }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'is cancelled when what was under way has ended',
      (world) => {
        world.settle()
        world.requests = { cancelAt: 'now' }
        world.set('cnpg', 'Ready').settle()
      },
      'Cancelled, Finished, Succeeded Cancelled',
    ],
    [
      'is cancelled at once while it is paused',
      (world) => {
        world.set('cnpg', 'Failed').settle()
        world.requests = { cancelAt: 'now' }
        world.settle()
      },
      'Cancelled, Finished, Cancelled Cancelled',
    ],
    [
      'is cancelled at once before its first batch',
      (world) => {
        world.snapshot = { phase: 'InProgress' }
        world.settle()
        world.requests = { cancelAt: 'now' }
        world.settle()
      },
      'Cancelled, Finished, Cancelled Cancelled',
    ],
    [
      'goes on when it is resumed',
      (world) => {
        world.set('cnpg', 'Failed').settle()
        world.requests = { resumeAt: 'later' }
        world.set('cnpg', 'Applying').settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'is not resumed by what was asked for before the pause',
      (world) => {
        world.requests = { resumeAt: 'before' }
        world.set('cnpg', 'Failed').settle()
      },
      'Paused, ThirdPartyCharts, ComponentFailed, Paused Pending',
    ],
    [
      'is not resumed over changes by hand',
      (world) => {
        world.drift = [DRIFT]
        world.settle()
        world.requests = { resumeAt: 'later' }
        world.settle()
      },
      'Paused, ThirdPartyCharts, PlatformDrift, Paused Pending',
    ],
    [
      'puts them back when that is asked for',
      (world) => {
        world.drift = [DRIFT]
        world.settle()
        world.requests = { revertDriftAt: 'later' }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'goes on without a snapshot where that is offered',
      (world) => {
        world.snapshot = { problem: 'It failed.' }
        world.settle()
        world.requests = { resumeAt: 'later', skipSnapshot: true }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'takes another snapshot when it is resumed',
      (world) => {
        world.snapshot = { problem: 'It failed.' }
        world.settle()
        world.requests = { resumeAt: 'later' }
        world.snapshot = { phase: 'InProgress' }
        world.settle()
      },
      'Executing, Snapshot, Pending Pending',
    ],
    [
      'that takes another back is not stopped by checks, snapshots and changes by hand',
      (world) => {
        world.execution = newOne([MODULE], 'Rollback')
        world.preflight = { ...world.preflight, refusal: { code: 'Refused', message: 'No.' } }
        world.snapshot = { problem: 'No Velero.' }
        world.settle()
      },
      'Executing, RollingBack, Applying',
    ],
  ]
  for (const [what, play, expected] of cases)
    it(what, () => {
      const world = new World()
      play(world)
      expect(words(world.execution)).to.equal(expected)
    })

  it('has the whole time of a batch again when it is resumed, and asks Flux to try again', () => {
    const world = new World()
    world.settle()
    world.now += 20 * MINUTE
    world.set('cnpg', 'Failed').settle()
    world.requests = { resumeAt: '2026-01-01T01:00:00Z' }
    world.set('cnpg', 'Applying').settle()
    expect(world.execution.batches[0]?.deadlineAt).to.equal('2026-01-01T00:50:00Z')
    expect(toldBy(world.execution).map(({ requestedAt }) => requestedAt)).to.deep.equal(['2026-01-01T01:00:00Z'])
  })

  it('tells only components that are written down as told', () => {
    const world = new World()
    expect(toldBy(world.execution)).to.deep.equal([])
    world.settle()
    expect(toldBy(world.execution).map(({ name }) => name)).to.deep.equal(['cnpg'])
    expect(wakesIn(world.execution, world.now)).to.equal(30 * MINUTE)
  })

  it('goes back in reverse order, without definitions and what has migrated its database', () => {
    const world = new World(newOne([CHART, item('crds', 'CrdBundle', { isReversible: false }), MODULE]))
    world.set('cnpg', 'Ready').set('crds', 'Ready').set('facade', 'Ready').settle()
    world.after(1)
    expect([world.execution.state, world.execution.canRollback]).to.deep.equal(['Succeeded', true])
    const { items, batches } = rollbackOf(world.execution)
    expect(batches.map(({ components }) => components)).to.deep.equal([['facade'], ['cnpg']])
    expect(items.map(({ toVersion }) => toVersion)).to.deep.equal(['1.0.0', '1.0.0'])
  })
})

const DRIFT = {
  ...{
    component: 'cnpg',
    step: 'batch 0',
    kind: 'Deployment',
    namespace: 'cnpg',
    name: 'cnpg',
    field: 'spec.replicas',
  },
  ...{ manager: 'kubectl-edit', message: 'Changed.' },
}

describe('whatever happens to a rollout', () => {
  const seed = Number(process.env.FREEHOLD_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = new SeededRandom(seed)

  /** One thing that happens, to the cluster or by a person. */
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

  it('it comes to rest, never runs again once it has ended, and a cancelled one leaves no batch under way', () => {
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
        if (then.state !== 'Executing') expect(toldBy(then)).to.deep.equal([])
      }
    }
  })
})
