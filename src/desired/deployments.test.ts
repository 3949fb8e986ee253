import { expect } from 'chai'
import type { DeploymentPhase } from '../contracts/deployments.ts'
import { type DeploymentFacts, decideDeployment, deploymentBuild } from './deployments.ts'

const IMAGE = 'registry.test/b/g/apps/shop'
type Build = NonNullable<DeploymentFacts['build']>
const known = { message: 'said', phase: undefined, outcome: undefined }

describe('deploymentBuild', () => {
  const cases: [string, Parameters<typeof deploymentBuild>[0], Partial<Build>][] = [
    ['returns Cloning for a started build without a pod', known, { phase: 'Cloning' }],
    [
      'returns the phase and commit of a running build',
      { ...known, phase: 'Building', commit: 'c' },
      { phase: 'Building', commit: 'c' },
    ],
    [
      'returns Deploying with the image by digest after a successful build',
      { ...known, phase: 'Pushing', outcome: 'Succeeded', digest: 'sha256:d' },
      { phase: 'Deploying', image: `${IMAGE}@sha256:d` },
    ],
    ['returns Failed after a timeout', { ...known, outcome: 'TimedOut' }, { phase: 'Failed' }],
  ]
  for (const [title, progress, expected] of cases) {
    it(title, () => {
      expect(deploymentBuild(progress, IMAGE)).to.include(expected)
    })
  }
})

describe('decideDeployment', () => {
  const record = (stage?: DeploymentPhase, number = 2): DeploymentFacts['record'] => ({
    spec: { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Build' },
    status: { number, stage, conditions: [] } as never,
  })
  const cancelled = (stage?: DeploymentPhase): DeploymentFacts['record'] => {
    const { spec, ...rest } = record(stage)
    return { ...rest, spec: { ...spec, cancelledAt: '2026-01-01T00:00:00Z' } }
  }
  const reported = (phase: DeploymentPhase): DeploymentFacts['record'] => ({
    spec: { ...record().spec, strategy: 'Reported', phase, image: 'i' },
    status: { ...record('Deploying').status, image: 'i' } as never,
  })
  const release = { deploymentId: 'one', state: 'Serving' } as const
  const HOUR = 3_600_000
  const external = (phase: DeploymentPhase | undefined, spec: object = {}): DeploymentFacts['record'] => ({
    spec: { ...record().spec, strategy: 'Reported', phase, image: 'i', commitSha: 'c', ...spec },
    status: record().status as never,
  })
  const given: DeploymentFacts['record'] = external(undefined, { strategy: 'Image' })
  const seen = (given: Partial<DeploymentFacts>): DeploymentFacts => ({
    ...{ record: record(), others: [], release: undefined, id: 'one', createdAt: 0, now: 0 },
    ...given,
  })
  const cases: [string, DeploymentFacts, object][] = [
    ['starts a build when no other runs', seen({}), { stage: 'Queued', starts: true }],
    ['waits for an earlier build', seen({ others: [record('Building', 1)] }), { stage: 'Queued', starts: undefined }],
    [
      'supersedes a deployment when a newer one is queued',
      seen({ others: [record('Queued', 3)] }),
      { stage: 'Superseded' },
    ],
    [
      'supersedes a deployment when a newer one is rolled out',
      seen({ record: record('Building'), others: [record('Deploying', 3)] }),
      { stage: 'Superseded' },
    ],
    [
      'builds although an older one is queued',
      seen({ others: [record('Queued', 1)] }),
      { stage: 'Queued', starts: true },
    ],
    [
      'builds although a newer one has ended',
      seen({ others: [record('Failed', 3)] }),
      { stage: 'Queued', starts: true },
    ],
    [
      'supersedes a rollout when a newer one is served',
      seen({ record: record('Deploying'), others: [record('Succeeded', 3)], release }),
      { stage: 'Superseded' },
    ],
    [
      'continues a rollout when a newer deployment has failed',
      seen({ record: record('Deploying'), others: [record('Failed', 3)], release }),
      { stage: 'Succeeded' },
    ],
    [
      'waits while its owner serves another deployment',
      seen({ record: record('Deploying'), release: { ...release, deploymentId: 'other' } }),
      { stage: 'Deploying' },
    ],
    [
      'fails a rollout with the message of its owner',
      seen({ record: record('Deploying'), release: { ...release, state: 'Failed', message: 'It crashes.' } }),
      { stage: 'Failed', message: 'It crashes.' },
    ],
    ['rolls out a given image', seen({ record: given }), { stage: 'Deploying', image: 'i', commitSha: 'c' }],
    [
      'serves a given image although its owner cancels builds',
      seen({ record: given, release, isCancelled: true }),
      { stage: 'Succeeded', image: 'i', commitSha: 'c' },
    ],
    [
      'queues an external build without a report',
      seen({ record: external(undefined) }),
      { stage: 'Queued', commitSha: 'c' },
    ],
    [
      'shows what an external builder reports',
      seen({ record: external('Building', { message: 'Half.' }), now: 2 * HOUR - 1 }),
      { stage: 'Building', message: 'Half.', commitSha: 'c' },
    ],
    [
      'fails an external build two hours after its last report',
      seen({ record: external('Building', { timestamp: new Date(HOUR).toISOString() }), now: 3 * HOUR }),
      { stage: 'Failed', message: 'Its builder has reported nothing for two hours.' },
    ],
    [
      'waits for an external builder that reported less than two hours ago',
      seen({ record: external('Building', { timestamp: new Date(HOUR).toISOString() }), now: 3 * HOUR - 1 }),
      { stage: 'Building', commitSha: 'c' },
    ],
    ...(['Deploying', 'Succeeded'] as const).map((phase): [string, DeploymentFacts, object] => [
      `rolls out the image of an external build that is ${phase}, however long ago`,
      seen({ record: external(phase), now: 9 * HOUR }),
      { stage: 'Deploying', image: 'i', commitSha: 'c' },
    ]),
    [
      'names the commit that was built instead of the requested one',
      seen({
        record: external(undefined, { strategy: 'Build' }),
        build: { phase: 'Building', message: 'Half.', commit: 'd' },
      }),
      { stage: 'Building', message: 'Half.', commitSha: 'd' },
    ],
    [
      'keeps what is known of a deployment that has ended',
      seen({
        record: { ...record(), status: { stage: 'Failed', image: 'i', commitSha: 'c', lastMessage: 'No.' } as never },
      }),
      { stage: 'Failed', image: 'i', commitSha: 'c', message: 'No.' },
    ],
    ['fails a deployment whose build is missing', seen({ record: record('Building') }), { stage: 'Failed' }],
    [
      'never returns to an earlier stage',
      seen({ record: record('Pushing'), build: { phase: 'Cloning', message: '' } }),
      { stage: 'Pushing' },
    ],
    [
      'starts the rollout of a built image',
      seen({ record: record('Pushing'), build: { phase: 'Deploying', message: '', image: 'i' } }),
      { stage: 'Deploying', image: 'i' },
    ],
    ['cancels a queued deployment', seen({ record: cancelled() }), { stage: 'Cancelled' }],
    [
      'cancels a deployment whose image has just been built',
      seen({ record: cancelled('Building'), build: { phase: 'Deploying', message: '', image: 'i' } }),
      { stage: 'Cancelled' },
    ],
    [
      'cancels a building deployment that its owner cancels',
      seen({ record: record('Building'), isCancelled: true }),
      { stage: 'Cancelled' },
    ],
    [
      'continues a rollout that its owner cancels',
      seen({ record: record('Deploying'), isCancelled: true }),
      { stage: 'Deploying' },
    ],
    [
      'ends a rollout that its builder reports as failed, although its image runs by now',
      seen({ record: reported('Failed'), release }),
      { stage: 'Failed' },
    ],
    [
      'ends a rollout that its builder reports as cancelled',
      seen({ record: reported('Cancelled'), release }),
      { stage: 'Cancelled' },
    ],
    [
      'waits for the rollout of what its builder reports as succeeded',
      seen({ record: reported('Succeeded'), release: { ...release, state: 'RollingOut' } }),
      { stage: 'Deploying', image: 'i' },
    ],
    [
      'keeps Succeeded after a cancellation',
      seen({ record: cancelled('Succeeded'), isCancelled: true }),
      { stage: 'Succeeded' },
    ],
    [
      'keeps Failed after its build has finished',
      seen({ record: record('Failed'), build: { phase: 'Deploying', message: '', image: 'i' } }),
      { stage: 'Failed' },
    ],
  ]
  for (const [title, given, expected] of cases) {
    it(title, () => {
      const { stage, starts, image, commitSha, message } = decideDeployment(given)
      const found = { stage, starts, image, commitSha, ...('message' in expected && { message }) }
      expect(found).to.deep.equal({ starts: undefined, image: undefined, commitSha: undefined, ...expected })
    })
  }
})
