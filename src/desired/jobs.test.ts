import { expect } from 'chai'
import { PULL_SECRET } from '../contracts/registry/names.ts'
import { PlatformJob } from '../crds/jobs.ts'
import {
  type BatchJob,
  batchJob,
  environmentSecret,
  findStartProblem,
  imageOf,
  type JobPod,
  progressOf,
} from './jobs.ts'

const job = (spec: object = {}): PlatformJob => ({
  apiVersion: PlatformJob.apiVersion,
  kind: PlatformJob.kind,
  metadata: { name: 'report', namespace: 'g-1', uid: 'u' },
  spec: PlatformJob.spec.parse({ image: 'docker.io/library/python', tag: '3.13', ...spec }),
})
const plan = {
  cpuRequest: '250m',
  cpuLimit: '1',
  memoryRequest: '512Mi',
  memoryLimit: '1Gi',
  storageSize: undefined,
  storageClass: '',
  replicas: 1,
}
type Built = {
  spec: {
    podFailurePolicy: { rules: object[] }
    template: { spec: { containers: { env: object[] }[]; imagePullSecrets?: { name: string }[] } }
  }
}
const built = (spec: object) => batchJob({ job: job(spec), plan }) as unknown as Built

describe('batchJob', () => {
  it('runs once with a restricted pod and no service account token', () => {
    const { spec } = batchJob({ job: job(), plan }) as { spec?: unknown }
    expect(spec).to.nested.include({
      backoffLimit: 0,
      activeDeadlineSeconds: 3600,
      podReplacementPolicy: 'Failed',
      'template.spec.restartPolicy': 'Never',
      'template.spec.automountServiceAccountToken': false,
      'template.spec.securityContext.runAsNonRoot': true,
      'template.spec.containers[0].image': 'docker.io/library/python:3.13',
      'template.spec.containers[0].resources.limits.memory': '1Gi',
      'template.spec.containers[0].securityContext.allowPrivilegeEscalation': false,
    })
    expect(spec).not.to.have.property('ttlSecondsAfterFinished')
  })

  const pulls: [string, string, string | undefined, string[]][] = [
    ["sets imagePullSecrets for an image in the platform's own registry", 'own.test/b/i', 'own.test', [PULL_SECRET]],
    ['sets no imagePullSecrets for another registry', 'docker.io/library/python', 'own.test', []],
    ['sets no imagePullSecrets for a host that only starts with the own one', 'own.test.evil/b/i', 'own.test', []],
    ['sets no imagePullSecrets without an own registry', 'own.test/b/i', undefined, []],
  ]
  for (const [sentence, image, registryHost, names] of pulls) {
    it(sentence, () => {
      const made = batchJob({ job: job({ image }), plan, registryHost }) as unknown as Built
      expect((made.spec.template.spec.imagePullSecrets ?? []).map(({ name }) => name)).to.deep.equal(names)
    })
  }

  it('asks the registry each time for an image of another group', () => {
    const image = 'own.test/22222222-2222-4222-8222-222222222222/shop/jobs/import'
    const { spec } = batchJob({ job: job({ image }), plan, registryHost: 'own.test' }) as unknown as Built
    expect(spec.template.spec.containers[0]).to.include({ imagePullPolicy: 'Always' })
  })

  it('ignores failures of drained nodes', () =>
    expect(built({}).spec.podFailurePolicy.rules).to.deep.equal([
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ]))

  it('fails the Job at once for noRetryExitCodes', () =>
    expect(built({ noRetryExitCodes: [2, 64] }).spec.podFailurePolicy.rules[0]).to.deep.equal({
      action: 'FailJob',
      onExitCodes: { containerName: 'job', operator: 'In', values: [2, 64] },
    }))

  it('reads vault values from the environment Secret', () => {
    const { env } = built({ env: { PLAIN: 'a', TOKEN: '@vault(keys/token)' } }).spec.template.spec.containers[0] ?? {}
    expect(env).to.deep.equal([
      { name: 'PLAIN', value: 'a' },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'pjob-report-env', key: 'TOKEN' } } },
    ])
    const made = environmentSecret(job(), { TOKEN: 'hunter2' })
    expect(made).to.deep.include({ data: { TOKEN: Buffer.from('hunter2').toString('base64') } })
  })

  it('escapes $(NAME) in commands, arguments and values', () => {
    const text = 'echo $(TEAM) $$(TEAM) $TEAM'
    const [container] = built({ command: ['sh', '-c', text], args: [text], env: { TEAM: 'a', TEXT: text } }).spec
      .template.spec.containers
    const escaped = 'echo $$(TEAM) $$$$(TEAM) $TEAM'
    expect(container).to.deep.include({ command: ['sh', '-c', escaped], args: [escaped] })
    expect(container?.env).to.deep.include({ name: 'TEXT', value: escaped })
  })

  it('keeps a digest and ignores the tag', () => {
    const digest = `python@sha256:${'a'.repeat(64)}`
    expect(imageOf({ image: digest, tag: 'latest' })).to.equal(digest)
  })
})

const ended = (type: string, reason?: string): BatchJob => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'pjob-report' },
  status: {
    startTime: '2026-01-01T00:00:00Z',
    conditions: [{ type, status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z', ...(reason && { reason }) }],
  },
})
const pod = (phase: string, state: object = {}): JobPod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  status: { phase, startTime: '2026-01-01T00:00:01Z', containerStatuses: [{ state }] },
})
const evictedPod = (message: string): JobPod => {
  const found = pod('Failed', exited(137))
  return { ...found, status: { ...found.status, reason: 'Evicted', message } }
}
const exited = (exitCode: number, reason = 'Error') => ({ terminated: { exitCode, reason } })

describe('progressOf', () => {
  const cases: [string, BatchJob | undefined, JobPod[], object][] = [
    ['returns Pending without a Job', undefined, [], { state: 'Pending', attempts: 0 }],
    ['returns Pending for a pending pod', ended('Suspended'), [pod('Pending')], { state: 'Pending' }],
    [
      'says where the reason is if Kubernetes created no pod',
      ended('Suspended'),
      [],
      { message: 'Kubernetes has not created its pod yet: the events of Job "pjob-report" say why.' },
    ],
    ['returns Running for a running pod', ended('Suspended'), [pod('Running')], { state: 'Running', attempts: 1 }],
    [
      'reports why a container cannot start',
      ended('Suspended'),
      [pod('Pending', { waiting: { reason: 'ImagePullBackOff' } })],
      { message: 'Waiting for a node to start the container. The reason is ImagePullBackOff.' },
    ],
    [
      'returns Succeeded with exit code and end',
      ended('Complete'),
      [pod('Succeeded', exited(0, 'Completed'))],
      { state: 'Succeeded', exitCode: 0, message: 'The job succeeded.', completedAt: '2026-01-01T00:01:00Z' },
    ],
    [
      'returns Failed with the exit code',
      ended('Failed', 'BackoffLimitExceeded'),
      [pod('Failed', exited(3))],
      { state: 'Failed', exitCode: 3, message: 'The job failed. Its last exit code is 3.' },
    ],
    [
      'reports an OOM kill',
      ended('Failed', 'BackoffLimitExceeded'),
      [pod('Failed', exited(137, 'OOMKilled'))],
      { message: 'The job failed. Its last exit code is 137. The reason is OOMKilled.' },
    ],
    [
      'reports an eviction instead of the exit code',
      ended('Failed', 'BackoffLimitExceeded'),
      [evictedPod('Pod ephemeral local storage usage exceeds the total limit of containers 4Gi. ')],
      {
        message:
          'The job failed. Its container was evicted at 2026-01-01T00:00:01Z: it wrote more to the disk than its limit of 4Gi.',
        exitCode: 137,
      },
    ],
    ['returns TimedOut after DeadlineExceeded', ended('Failed', 'DeadlineExceeded'), [], { state: 'TimedOut' }],
  ]
  for (const [title, found, pods, expected] of cases) {
    it(title, () => expect(progressOf(found, pods)).to.deep.include(expected))
  }
})

describe('findStartProblem', () => {
  const made = batchJob({ job: job(), plan }) as unknown as BatchJob
  const pod = (status: JobPod['status']): JobPod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    ...(status && { status }),
  })
  const waits = (reason: string, message = '') =>
    pod({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message } } }] })
  const unplaced = (message: string) =>
    pod({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] })
  const cases: [sentence: string, pods: JobPod[], expected: string][] = [
    ['a pod without conditions', [pod({ phase: 'Pending' })], 'nothing'],
    ['a container in creation', [waits('ContainerCreating')], 'nothing'],
    [
      'an image that cannot be pulled',
      [waits('ErrImagePull', 'words of a registry')],
      'degraded ImagePullFailed: The image docker.io/library/python:3.13 of the job cannot be pulled (ErrImagePull)',
    ],
    [
      'an invalid container configuration',
      [waits('CreateContainerConfigError', 'secret "x" not found')],
      'stalled ConfigurationInvalid: A container of the job cannot be created',
    ],
    [
      'a pod that fits on no node',
      [unplaced('0/3 nodes are available: 3 Insufficient memory.')],
      'waiting WaitingForWorkload: No node has 512Mi memory left for the job.',
    ],
    [
      'a failed pod',
      [pod({ phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 1 } } }] })],
      'nothing',
    ],
  ]
  for (const [sentence, pods, expected] of cases) {
    it(`returns the problem, if any, of ${sentence}`, () => {
      const found = findStartProblem(made, pods)
      const words = found === undefined ? 'nothing' : `${found.kind} ${found.reason}: ${found.message}`
      expect(words).to.include(expected)
    })
  }
})
