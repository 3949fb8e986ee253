import { expect } from 'chai'
import { CHART, DRIFT, item, MINUTE, MODULE, newOne, World } from '../../../test/worlds/rolloutWorld.ts'
import { componentsToApply, describeExecution, type Execution, rollbackOf, wakesIn } from './index.ts'

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
        world.set('facade', 'Ready', { currentVersion: '1.1.0' }).settle()
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
    expect(componentsToApply(world.execution).map(({ requestedAt }) => requestedAt)).to.deep.equal([
      '2026-01-01T01:00:00Z',
    ])
  })

  it('counts its batches from one in each of its sentences', () => {
    const world = new World()
    world.settle()
    expect(describeExecution(world.execution)).to.match(/^Batch 1 of 2/)
    world.after(30)
    expect(world.execution.failure?.message).to.match(/^Batch 1 did not finish/)
  })

  it('tells only components that are written down as told', () => {
    const world = new World()
    expect(componentsToApply(world.execution)).to.deep.equal([])
    world.settle()
    expect(componentsToApply(world.execution).map(({ name }) => name)).to.deep.equal(['cnpg'])
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

  it('asks anew for what an earlier rollout could not roll out, and for nothing else', () => {
    const told = (state: 'Failed' | 'Applying') => {
      const world = new World()
      world.set('cnpg', state).settle()
      const [component] = world.execution.batches[0]?.components ?? []
      return component?.requestedAt === undefined ? undefined : component.requestedAt === component.startedAt
    }
    expect([told('Failed'), told('Applying')]).to.deep.equal([true, undefined])
  })
})
