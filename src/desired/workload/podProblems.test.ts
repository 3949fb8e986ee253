import { expect } from 'chai'
import {
  type ContainerStatus,
  describeUnready,
  findWorkloadProblem,
  isDeployed,
  isRolloutFailed,
  type LiveDeployment,
  type LivePod,
} from './podProblems.ts'

const ASKED = {
  subject: 'component "web"',
  image: 'site:1',
  cpuRequest: '500m',
  memoryRequest: '1Gi',
  memoryLimit: '2Gi',
  takesCredential: true,
}
const pod = (status: LivePod['status'], leaving = false): LivePod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
  ...(status === undefined ? {} : { status }),
})
const container = (status: ContainerStatus) => pod({ containerStatuses: [status] })
const waiting = (reason: string, more: Partial<ContainerStatus> = {}, message = '') =>
  container({ state: { waiting: { reason, message } }, ...more })
const unschedulable = (message: string) =>
  pod({ conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] })
const failing = (type: string, status: string, reason: string, message = ''): LiveDeployment['status'] => ({
  conditions: [{ type, status, reason, message }],
})

describe('findWorkloadProblem for unbound volumes', () => {
  const words = 'pod has unbound immediate PersistentVolumeClaims'
  const told = (missingClass?: string) => {
    const outcome = findWorkloadProblem({ ...ASKED, missingClass }, [unschedulable(words)], undefined)
    return outcome !== undefined && 'message' in outcome ? outcome.message : undefined
  }

  it('names the storage class that the cluster lacks', () =>
    expect(told('fast')).to.equal('The cluster has no storage class "fast" for the volumes of component "web".'))

  it('reports that the volumes are pending if the class exists', () =>
    expect(told()).to.equal('No node can take component "web" together with its volumes yet.'))
})

describe('findWorkloadProblem for an image', () => {
  it('does not mention a credential for a kind without one', () => {
    const found = findWorkloadProblem({ ...ASKED, takesCredential: false }, [waiting('ErrImagePull')], undefined)
    expect(found).to.deep.include({
      message: 'The image site:1 of component "web" cannot be pulled (ErrImagePull): check its name and tag.',
    })
  })
})

describe('findWorkloadProblem after a change of the image', () => {
  const born = (second: number, template: string, { status }: LivePod): LivePod => ({
    ...pod(status),
    metadata: {
      name: `web-${template}`,
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
      labels: { 'pod-template-hash': template },
    },
  })
  const before = born(1, 'one', waiting('ImagePullBackOff', { image: 'site:0' }))

  it('ignores a problem of the old pod while the new one has none', () => {
    const now = born(2, 'two', container({ state: { running: {} }, ready: false, image: 'site:1' }))
    expect(findWorkloadProblem(ASKED, [before, now], undefined)).to.equal(undefined)
    expect(findWorkloadProblem(ASKED, [now, before], undefined)).to.equal(undefined)
  })

  it('returns the problem of the new pod', () => {
    const now = born(2, 'two', waiting('CrashLoopBackOff', { lastState: { terminated: { exitCode: 3 } } }))
    expect(findWorkloadProblem(ASKED, [before, now], undefined)).to.include({ reason: 'CrashLooping' })
  })

  it('does not wait for a probe of the old pod', () => {
    const silent = born(1, 'one', container({ state: { running: {} }, ready: false }))
    const now = born(2, 'two', waiting('ContainerCreating'))
    expect(describeUnready('it', [silent])).to.include('readiness probe')
    expect(describeUnready('it', [silent, now])).to.equal(undefined)
  })

  it('waits for no probe of a pod that is being deleted', () => {
    const silent = born(1, 'one', container({ state: { running: {} }, ready: false }))
    const leaving = { ...silent, metadata: { ...silent.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    expect(describeUnready('it', [leaving])).to.equal(undefined)
  })

  it('names the image of the old pod while there is no new one', () =>
    expect(findWorkloadProblem(ASKED, [before], undefined))
      .to.have.property('message')
      .that.matches(/^The image site:0 of/))
})

describe('findWorkloadProblem', () => {
  type Case = [sentence: string, pods: LivePod[], status: LiveDeployment['status'], expected: string]
  const crash = 'CrashLooping: A container of component "web"'
  const cases: Case[] = [
    ['returns nothing for a ready container', [container({ state: { running: {} }, ready: true })], {}, 'nothing'],
    ['returns nothing for a container in creation', [waiting('ContainerCreating')], {}, 'nothing'],
    [
      'returns ImagePullFailed without the text of the registry',
      [waiting('ImagePullBackOff', {}, 'secret words of a registry')],
      {},
      'ImagePullFailed: The image site:1 of component "web" cannot be pulled (ImagePullBackOff): check its name and tag, and registryCredential if it is not public.',
    ],
    [
      'returns CrashLooping for a container in backoff after an OOM kill',
      [waiting('CrashLoopBackOff', { lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } })],
      {},
      `${crash} ran out of memory: it took more than its limit of 2Gi and was killed.`,
    ],
    [
      'returns CrashLooping for a container after an OOM kill',
      [container({ state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } })],
      {},
      `${crash} ran out of memory: it took more than its limit of 2Gi and was killed.`,
    ],
    [
      'returns CrashLooping for an exited process',
      [container({ state: { terminated: { reason: 'Error', exitCode: 3 } } })],
      {},
      `${crash} ends with exit code 3 again and again: see its log.`,
    ],
    [
      'returns CrashLooping for a container in backoff with its last exit code',
      [waiting('CrashLoopBackOff', { lastState: { terminated: { reason: 'Error', exitCode: 1 } } })],
      {},
      `${crash} ends with exit code 1 again and again: see its log.`,
    ],
    [
      'returns CrashLooping for a missing command',
      [waiting('RunContainerError')],
      {},
      `${crash} cannot be started: check its command.`,
    ],
    [
      'returns ConfigurationInvalid for an image that runs as root',
      [waiting('CreateContainerConfigError', {}, 'container has runAsNonRoot and image will run as root')],
      {},
      'ConfigurationInvalid: A container of component "web" cannot be created: its image runs as root or names its user: set runAsUser.',
    ],
    [
      'returns PlanDoesNotFit without memory on a node',
      [unschedulable('0/1 nodes are available: 1 Insufficient memory.')],
      {},
      'PlanDoesNotFit: No node has 1Gi memory left for component "web".',
    ],
    [
      'returns PlanDoesNotFit without CPU and memory on a node',
      [unschedulable('0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.')],
      {},
      'PlanDoesNotFit: No node has 500m cpu and 1Gi memory left for component "web".',
    ],
    [
      'returns PlanDoesNotFit for a volume on another node',
      [unschedulable('0/2 nodes are available: 2 node(s) had volume node affinity conflict.')],
      {},
      'PlanDoesNotFit: No node can take component "web" together with its volumes yet.',
    ],
    [
      'returns QuotaExceeded for a full ResourceQuota',
      [],
      failing('ReplicaFailure', 'True', 'FailedCreate', 'pods "x" is forbidden: exceeded quota: q'),
      'QuotaExceeded: The quota of the group has no room for another copy of component "web".',
    ],
    [
      'returns PartiallyAvailable after the progress deadline',
      [container({ state: { running: {} }, ready: false, started: true })],
      failing('Progressing', 'False', 'ProgressDeadlineExceeded'),
      'PartiallyAvailable: A container of component "web" runs, but its readiness probe has not succeeded. The previous version keeps serving.',
    ],
    [
      'ignores a pod that is being deleted',
      [pod({ containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] }, true)],
      {},
      'nothing',
    ],
  ]
  for (const [sentence, pods, status = {}, expected] of cases) {
    it(sentence, () => {
      const found = findWorkloadProblem(ASKED, pods, { status })
      const words = found === undefined ? 'nothing' : `${found.reason}: ${found.message}`
      expect(words).to.equal(expected)
    })
  }

  it('names the pending probe through describeUnready', () => {
    const running = { state: { running: {} }, ready: false }
    expect(describeUnready('it', [container({ ...running, started: false })])).to.include('startup probe')
    expect(describeUnready('it', [container({ ...running, started: true })])).to.include('readiness probe')
    expect(describeUnready('it', [container({ state: { running: {} }, ready: true })])).to.equal(undefined)
  })
})

describe('isDeployed', () => {
  const made = (status: LiveDeployment['status'], generation = 1): LiveDeployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', generation },
    spec: { replicas: 2 },
    ...(status === undefined ? {} : { status }),
  })
  const whole = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2 }
  const cases: [sentence: string, workload: LiveDeployment | undefined, expected: boolean][] = [
    ['returns true if all pods are updated and ready', made(whole), true],
    ['returns false without a Deployment', undefined, false],
    ['returns false before its controller has observed the change', made(whole, 2), false],
    ['returns false while an old pod exists', made({ ...whole, replicas: 3 }), false],
    ['returns false while a new pod is missing', made({ ...whole, updatedReplicas: 1 }), false],
    ['returns false while a pod is not ready', made({ ...whole, readyReplicas: 1 }), false],
  ]
  for (const [sentence, workload, expected] of cases)
    it(sentence, () => expect(isDeployed(workload)).to.equal(expected))
})

describe('isRolloutFailed', () => {
  const at = (lastUpdateTime: string, generation = 1): LiveDeployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', generation },
    spec: {},
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', lastUpdateTime }],
    },
  })
  const FAILED_BEFORE = '2026-01-01T10:00:00Z'
  const cases: [sentence: string, workload: LiveDeployment, expected: boolean][] = [
    ['returns true after the progress deadline', at('2026-01-01T10:10:00Z'), true],
    ['returns false for an older observed generation', at('2026-01-01T10:10:00Z', 2), false],
    ['returns false for a failure that was there before', at('2026-01-01T10:00:00Z'), false],
    ['returns true by the clock of a cluster that is an hour behind', at('2026-01-01T09:10:00Z'), true],
  ]
  for (const [sentence, workload, expected] of cases)
    it(sentence, () => expect(isRolloutFailed(workload, FAILED_BEFORE)).to.equal(expected))
})
