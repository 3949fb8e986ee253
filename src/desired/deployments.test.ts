import { expect } from 'chai'
import type { DeploymentPhase } from '../contracts/deployments.ts'
import { type DeploymentFacts, decideDeployment, deploymentBuild } from './deployments.ts'

const IMAGE = 'registry.test/b/g/apps/shop'
type Build = NonNullable<DeploymentFacts['build']>
const known = { message: 'said', phase: undefined, outcome: undefined }

describe('what a build says of its deployment', () => {
  const cases: [string, Parameters<typeof deploymentBuild>[0], Partial<Build>][] = [
    ['a build that was started is on its way before its pod runs', known, { phase: 'Cloning' }],
    [
      'a build goes through its own phases',
      { ...known, phase: 'Building', commit: 'c' },
      { phase: 'Building', commit: 'c' },
    ],
    [
      'a build that ended well is rolled out by its digest',
      { ...known, phase: 'Pushing', outcome: 'Succeeded', digest: 'sha256:d' },
      { phase: 'Deploying', image: `${IMAGE}@sha256:d` },
    ],
    ['a build that took too long has failed', { ...known, outcome: 'TimedOut' }, { phase: 'Failed' }],
  ]
  for (const [title, progress, expected] of cases) {
    it(title, () => {
      expect(deploymentBuild(progress, IMAGE)).to.include(expected)
    })
  }
})

describe('the turn of a deployment that is built', () => {
  const record = (stage?: DeploymentPhase, number = 2): DeploymentFacts['record'] => ({
    spec: { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Build' },
    status: { number, stage, conditions: [] } as never,
  })
  const cancelled = (stage?: DeploymentPhase): DeploymentFacts['record'] => {
    const { spec, ...rest } = record(stage)
    return { ...rest, spec: { ...spec, cancelledAt: '2026-01-01T00:00:00Z' } }
  }
  const seen = (given: Partial<DeploymentFacts>): DeploymentFacts => ({
    ...{ record: record(), others: [], release: undefined, id: 'one', createdAt: 0, now: 0 },
    ...given,
  })
  const cases: [string, DeploymentFacts, object][] = [
    ['comes when nobody builds', seen({}), { stage: 'Queued', starts: true }],
    ['comes after an earlier build', seen({ others: [record('Building', 1)] }), { stage: 'Queued', starts: undefined }],
    ['is over when a newer one waits', seen({ others: [record('Queued', 3)] }), { stage: 'Superseded' }],
    [
      'is over when a newer one is rolled out',
      seen({ record: record('Building'), others: [record('Deploying', 3)] }),
      { stage: 'Superseded' },
    ],
    ['is over when its build is gone', seen({ record: record('Building') }), { stage: 'Failed' }],
    [
      'never goes back',
      seen({ record: record('Pushing'), build: { phase: 'Cloning', message: '' } }),
      { stage: 'Pushing' },
    ],
    [
      'leads to a release',
      seen({ record: record('Pushing'), build: { phase: 'Deploying', message: '', image: 'i' } }),
      { stage: 'Deploying', image: 'i' },
    ],
    ['is over when somebody cancelled it while it waited', seen({ record: cancelled() }), { stage: 'Cancelled' }],
    [
      'is over when somebody cancelled it, also if its image was built in that moment',
      seen({ record: cancelled('Building'), build: { phase: 'Deploying', message: '', image: 'i' } }),
      { stage: 'Cancelled' },
    ],
    [
      'is over when its owner cancels it',
      seen({ record: record('Building'), isCancelled: true }),
      { stage: 'Cancelled' },
    ],
    [
      'is past what its owner cancels when it is rolled out',
      seen({ record: record('Deploying'), isCancelled: true }),
      { stage: 'Deploying' },
    ],
    [
      'stays what it ended as, even if it is cancelled then',
      seen({ record: cancelled('Succeeded'), isCancelled: true }),
      { stage: 'Succeeded' },
    ],
    [
      'stays what it ended as',
      seen({ record: record('Failed'), build: { phase: 'Deploying', message: '', image: 'i' } }),
      { stage: 'Failed' },
    ],
  ]
  for (const [title, given, expected] of cases) {
    it(title, () => {
      const { stage, starts, image } = decideDeployment(given)
      expect({ stage, starts, image }).to.deep.equal({ starts: undefined, image: undefined, ...expected })
    })
  }
})
