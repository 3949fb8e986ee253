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
  what: 'component "web"',
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

describe('a pod whose volumes cannot be made', () => {
  const words = 'pod has unbound immediate PersistentVolumeClaims'
  const told = (missingClass?: string) => {
    const outcome = findWorkloadProblem({ ...ASKED, missingClass }, [unschedulable(words)], undefined)
    return outcome !== undefined && 'message' in outcome ? outcome.message : undefined
  }

  it('says which storage class the cluster does not have', () =>
    expect(told('fast')).to.equal('The cluster has no storage class "fast" for the volumes of component "web".'))

  it('says that it waits for them where the class is there', () =>
    expect(told()).to.equal('No node can take component "web" together with its volumes yet.'))
})

describe('an image that cannot be pulled', () => {
  it('is not said to lack a credential where none can be named', () => {
    const found = findWorkloadProblem({ ...ASKED, takesCredential: false }, [waiting('ErrImagePull')], undefined)
    expect(found).to.deep.include({
      message: 'The image site:1 of component "web" cannot be pulled (ErrImagePull): check its name and tag.',
    })
  })
})

describe('a component whose image was changed', () => {
  const born = (second: number, template: string, { status }: LivePod): LivePod => ({
    ...pod(status),
    metadata: {
      name: `web-${template}`,
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
      labels: { 'pod-template-hash': template },
    },
  })
  const before = born(1, 'one', waiting('ImagePullBackOff', { image: 'site:0' }))

  it('has no trouble of the pod of before, which stays until the new one is ready', () => {
    const now = born(2, 'two', container({ state: { running: {} }, ready: false, image: 'site:1' }))
    expect(findWorkloadProblem(ASKED, [before, now], undefined)).to.equal(undefined)
    expect(findWorkloadProblem(ASKED, [now, before], undefined)).to.equal(undefined)
  })

  it('has that of the new pod, if it has one', () => {
    const now = born(2, 'two', waiting('CrashLoopBackOff', { lastState: { terminated: { exitCode: 3 } } }))
    expect(findWorkloadProblem(ASKED, [before, now], undefined)).to.include({ reason: 'CrashLooping' })
  })

  it('does not wait for a probe of the pod of before', () => {
    const silent = born(1, 'one', container({ state: { running: {} }, ready: false }))
    const now = born(2, 'two', waiting('ContainerCreating'))
    expect(describeUnready('it', [silent])).to.include('readiness probe')
    expect(describeUnready('it', [silent, now])).to.equal(undefined)
  })

  it('names the image of the pod of before while there is no other', () =>
    expect(findWorkloadProblem(ASKED, [before], undefined))
      .to.have.property('message')
      .that.matches(/^The image site:0 of/))
})

describe('why a component does not run', () => {
  type Case = [sentence: string, pods: LivePod[], status: LiveDeployment['status'], expected: string]
  const crash = 'CrashLooping: A container of component "web"'
  const cases: Case[] = [
    ['nothing is wrong', [container({ state: { running: {} }, ready: true })], {}, 'nothing'],
    ['a pod is being made', [waiting('ContainerCreating')], {}, 'nothing'],
    [
      'the image cannot be pulled',
      [waiting('ImagePullBackOff', {}, 'secret words of a registry')],
      {},
      'ImagePullFailed: The image site:1 of component "web" cannot be pulled (ImagePullBackOff): check its name and tag, and registryCredential if it is not public.',
    ],
    [
      'the container was killed for its memory, and waits to be started again',
      [waiting('CrashLoopBackOff', { lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } })],
      {},
      `${crash} ran out of memory: it took more than its limit of 2Gi and was killed.`,
    ],
    [
      'the container was killed for its memory a moment ago',
      [container({ state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } })],
      {},
      `${crash} ran out of memory: it took more than its limit of 2Gi and was killed.`,
    ],
    [
      'the process ends',
      [container({ state: { terminated: { reason: 'Error', exitCode: 3 } } })],
      {},
      `${crash} ends with exit code 3 again and again: see its log.`,
    ],
    [
      'the process ended often',
      [waiting('CrashLoopBackOff', { lastState: { terminated: { reason: 'Error', exitCode: 1 } } })],
      {},
      `${crash} ends with exit code 1 again and again: see its log.`,
    ],
    [
      'its command is not in the image',
      [waiting('RunContainerError')],
      {},
      `${crash} cannot be started: check its command.`,
    ],
    [
      'its image would run as root',
      [waiting('CreateContainerConfigError', {}, 'container has runAsNonRoot and image will run as root')],
      {},
      'ConfigurationInvalid: A container of component "web" cannot be created: its image runs as root or names its user: set runAsUser.',
    ],
    [
      'no node has memory left',
      [unschedulable('0/1 nodes are available: 1 Insufficient memory.')],
      {},
      'PlanDoesNotFit: No node has 1Gi memory left for component "web".',
    ],
    [
      'no node has cpu and memory left',
      [unschedulable('0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.')],
      {},
      'PlanDoesNotFit: No node has 500m cpu and 1Gi memory left for component "web".',
    ],
    [
      'its volume is elsewhere',
      [unschedulable('0/2 nodes are available: 2 node(s) had volume node affinity conflict.')],
      {},
      'PlanDoesNotFit: No node can take component "web" together with its volumes yet.',
    ],
    [
      'the quota of the group is full',
      [],
      failing('ReplicaFailure', 'True', 'FailedCreate', 'pods "x" is forbidden: exceeded quota: q'),
      'QuotaExceeded: The quota of the group has no room for another copy of component "web".',
    ],
    [
      'it never gets ready',
      [container({ state: { running: {} }, ready: false, started: true })],
      failing('Progressing', 'False', 'ProgressDeadlineExceeded'),
      'PartiallyAvailable: A container of component "web" runs, but its readiness probe has not succeeded. The previous version keeps serving.',
    ],
    [
      'only a pod that leaves is in trouble',
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

  it('says which probe it waits for', () => {
    const running = { state: { running: {} }, ready: false }
    expect(describeUnready('it', [container({ ...running, started: false })])).to.include('startup probe')
    expect(describeUnready('it', [container({ ...running, started: true })])).to.include('readiness probe')
    expect(describeUnready('it', [container({ state: { running: {} }, ready: true })])).to.equal(undefined)
  })
})

describe('a Deployment is as it should be', () => {
  const made = (status: LiveDeployment['status'], generation = 1): LiveDeployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', generation },
    spec: { replicas: 2 },
    ...(status === undefined ? {} : { status }),
  })
  const whole = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2 }
  const cases: [sentence: string, workload: LiveDeployment | undefined, expected: boolean][] = [
    ['if all its pods are new and ready', made(whole), true],
    ['but not if there is none', undefined, false],
    ['but not before its controller has seen the change', made(whole, 2), false],
    ['but not while an old pod is left', made({ ...whole, replicas: 3 }), false],
    ['but not while a new pod is missing', made({ ...whole, updatedReplicas: 1 }), false],
    ['but not while one is not ready', made({ ...whole, readyReplicas: 1 }), false],
  ]
  for (const [sentence, workload, expected] of cases)
    it(sentence, () => expect(isDeployed(workload)).to.equal(expected))
})

describe('Kubernetes has given up a rollout', () => {
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
  const BEGAN = '2026-01-01T10:00:00.500Z'
  const cases: [sentence: string, workload: LiveDeployment, expected: boolean][] = [
    ['if it says so of this one', at('2026-01-01T10:10:00Z'), true],
    ['but not if it has not seen the last change', at('2026-01-01T10:10:00Z', 2), false],
    ['but not if it said so before this one began', at('2026-01-01T10:00:00Z'), false],
  ]
  for (const [sentence, workload, expected] of cases)
    it(sentence, () => expect(isRolloutFailed(workload, BEGAN)).to.equal(expected))
})
