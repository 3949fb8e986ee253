import { expect } from 'chai'
import { CHART, DRIFT, item, MINUTE, MODULE, newOne, World } from '../../../test/worlds/rolloutWorld.ts'
import { componentsToApply, describeExecution, type Execution, rollbackOf, wakesIn } from './index.ts'

const words = ({ state, step, pause, failure, batches }: Execution) =>
  [state, step, pause?.code ?? failure?.code, batches.map((one) => one.state).join(' ')].filter(Boolean).join(', ')

describe('nextExecution', () => {
  type Case = [what: string, play: (world: World) => void, expected: string]
  const cases: Case[] = [
    [
      'applies the first chart after checks and snapshot',
      (world) => world.settle(),
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'waits a minute for the checks after a chart',
      (world) => world.set('cnpg', 'Ready').settle(),
      'Executing, ThirdPartyCharts, WaitingForHealth Pending',
    ],
    [
      'applies the next batch if the checks are unchanged',
      (world) => {
        world.set('cnpg', 'Ready').settle()
        world.after(1)
      },
      'Executing, Components, Succeeded Applying',
    ],
    [
      'succeeds when the last batch is ready and healthy',
      (world) => {
        world.set('cnpg', 'Ready').set('facade', 'Ready').settle()
        world.after(1)
      },
      'Succeeded, Finished, Succeeded Succeeded',
    ],
    [
      'skips a component that has its version',
      (world) => {
        world.execution = newOne([MODULE])
        world.set('facade', 'Ready', { currentVersion: '1.1.0' }).settle()
      },
      'Succeeded, Finished, Succeeded',
    ],
    [
      'fails if a check refuses it',
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
      'pauses after a failed snapshot',
      (world) => {
        world.snapshot = { phase: 'Failed', problem: 'It failed.' }
        world.settle()
      },
      'Paused, Snapshot, SnapshotFailed, Pending Pending',
    ],
    [
      'pauses after half an hour without a snapshot',
      (world) => {
        world.snapshot = { phase: 'InProgress' }
        world.settle()
        world.after(30)
      },
      'Paused, Snapshot, SnapshotFailed, Pending Pending',
    ],
    [
      'takes no snapshot if that risk was acknowledged',
      (world) => {
        world.preflight = { ...world.preflight, acknowledged: ['snapshot-possible'] }
        world.snapshot = { problem: 'No Velero.' }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'takes a snapshot despite that before an irreversible batch',
      (world) => {
        world.execution = newOne([item('cnpg', 'ThirdPartyChart', { isReversible: false })])
        world.preflight = { ...world.preflight, acknowledged: ['snapshot-possible'] }
        world.snapshot = { problem: 'No Velero.' }
        world.settle()
      },
      'Paused, Snapshot, SnapshotFailed, Pending',
    ],
    [
      'pauses after a failed component',
      (world) => world.set('cnpg', 'Failed').settle(),
      'Paused, ThirdPartyCharts, ComponentFailed, Paused Pending',
    ],
    [
      'pauses for an installed but unhealthy component',
      (world) => world.set('cnpg', 'Failed', { isInstalled: true }).settle(),
      'Paused, ThirdPartyCharts, HealthFailed, Paused Pending',
    ],
    [
      'pauses after a chart that worsened the checks',
      (world) => {
        world.worsened = ['nodes-ready']
        world.set('cnpg', 'Ready').settle()
        world.after(1)
      },
      'Paused, ThirdPartyCharts, BatchCheckWorsened, Paused Pending',
    ],
    [
      'pauses if the cluster refuses a request',
      (world) => {
        world.settle()
        world.refusal = 'Forbidden.'
        world.settle()
      },
      'Paused, ThirdPartyCharts, ClusterRefused, Paused Pending',
    ],
    [
      'pauses before a batch with drift',
      (world) => {
        world.drift = [DRIFT]
        world.settle()
      },
      'Paused, ThirdPartyCharts, PlatformDrift, Paused Pending',
    ],
    [
      'pauses in the verification for an unhealthy component',
      (world) => {
        world.set('cnpg', 'Ready', { isHealthy: false }).set('facade', 'Ready').settle()
        world.after(1)
      },
      'Paused, Verification, HealthFailed, Succeeded Succeeded',
    ],
    [
      'fails after half an hour in a batch',
      (world) => {
        world.settle()
        world.after(30)
      },
      'Failed, Finished, BatchTimeout, Failed Skipped',
    ],
    [
      'finishes the running batch after a cancellation',
      (world) => {
        world.settle()
        world.requests = { cancelAt: 'now' }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'is cancelled when the running batch has ended',
      (world) => {
        world.settle()
        world.requests = { cancelAt: 'now' }
        world.set('cnpg', 'Ready').settle()
      },
      'Cancelled, Finished, Succeeded Cancelled',
    ],
    [
      'is cancelled at once while paused',
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
      'continues on resume',
      (world) => {
        world.set('cnpg', 'Failed').settle()
        world.requests = { resumeAt: 'later' }
        world.set('cnpg', 'Applying').settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'ignores a resume from before the pause',
      (world) => {
        world.requests = { resumeAt: 'before' }
        world.set('cnpg', 'Failed').settle()
      },
      'Paused, ThirdPartyCharts, ComponentFailed, Paused Pending',
    ],
    [
      'stays paused for drift on resume',
      (world) => {
        world.drift = [DRIFT]
        world.settle()
        world.requests = { resumeAt: 'later' }
        world.settle()
      },
      'Paused, ThirdPartyCharts, PlatformDrift, Paused Pending',
    ],
    [
      'continues after a request to revert the drift',
      (world) => {
        world.drift = [DRIFT]
        world.settle()
        world.requests = { revertDriftAt: 'later' }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'continues without a snapshot on resume with skipSnapshot',
      (world) => {
        world.snapshot = { problem: 'It failed.' }
        world.settle()
        world.requests = { resumeAt: 'later', skipSnapshot: true }
        world.settle()
      },
      'Executing, ThirdPartyCharts, Applying Pending',
    ],
    [
      'takes another snapshot on resume',
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
      'ignores checks, snapshot and drift in a rollback',
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

  it('grants a resumed batch its full time and requests a retry from Flux', () => {
    const world = new World()
    world.settle()
    world.now += 20 * MINUTE
    world.set('cnpg', 'Failed').settle()
    world.requests = { resumeAt: '2026-01-01T01:00:00Z' }
    world.set('cnpg', 'Applying').settle()
    expect(world.execution.batches[0]?.deadlineAt).to.equal('2026-01-01T00:50:00Z')
    expect(componentsToApply(world.execution).map(({ requestedAt }) => requestedAt)).to.deep.equal([
      '2026-01-01T01:00:00Z',
    ])
  })

  it('counts batches from 1 in its messages', () => {
    const world = new World()
    world.settle()
    expect(describeExecution(world.execution)).to.match(/^Batch 1 of 2/)
    world.after(30)
    expect(world.execution.failure?.message).to.match(/^Batch 1 did not finish/)
  })

  it('applies only components of a recorded batch', () => {
    const world = new World()
    expect(componentsToApply(world.execution)).to.deep.equal([])
    world.settle()
    expect(componentsToApply(world.execution).map(({ name }) => name)).to.deep.equal(['cnpg'])
    expect(wakesIn(world.execution, world.now)).to.equal(30 * MINUTE)
  })

  it('rolls back in reverse order, without CRDs and irreversible components', () => {
    const world = new World(newOne([CHART, item('crds', 'CrdBundle', { isReversible: false }), MODULE]))
    world.set('cnpg', 'Ready').set('crds', 'Ready').set('facade', 'Ready').settle()
    world.after(1)
    expect([world.execution.state, world.execution.canRollback]).to.deep.equal(['Succeeded', true])
    const { items, batches } = rollbackOf(world.execution)
    expect(batches.map(({ components }) => components)).to.deep.equal([['facade'], ['cnpg']])
    expect(items.map(({ toVersion }) => toVersion)).to.deep.equal(['1.0.0', '1.0.0'])
  })

  it('requests a retry for a component that failed before the rollout, but not for one in progress', () => {
    const told = (state: 'Failed' | 'Applying') => {
      const world = new World()
      world.set('cnpg', state).settle()
      const [component] = world.execution.batches[0]?.components ?? []
      return component?.requestedAt === undefined ? undefined : component.requestedAt === component.startedAt
    }
    expect([told('Failed'), told('Applying')]).to.deep.equal([true, undefined])
  })
})
