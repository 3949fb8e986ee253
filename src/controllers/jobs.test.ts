import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { fakeBlobs } from '../adapters/blobs/fake.ts'
import { FakePlatformKeys } from '../adapters/platformkeys/fake.ts'
import { FakePodLogs } from '../adapters/podlogs/fake.ts'
import { JOB_CONTAINER, jobNames } from '../contracts/jobs.ts'
import { ownerSelector } from '../contracts/workloads.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { DEFAULT_PLANS } from '../crds/defaultPlans.ts'
import { PlatformJob } from '../crds/jobs.ts'
import { ComputePlan } from '../crds/plans.ts'
import { job as batchJobs, pod } from '../kube/builtin.ts'
import { jobController } from './jobs.ts'

const NAME = 'report'
const { workload, log } = jobNames(NAME)

describe('PlatformJob controller', () => {
  let bench: ControllerBench
  let space: string
  const blobs = fakeBlobs()
  const logs = new FakePodLogs()
  beforeEach(() => {
    bench = new ControllerBench([jobController({ keys: new FakePlatformKeys('first'), logs, blobs })])
    space = bench.seedGroup('shop').groupSpace
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) bench.seed(ComputePlan, name, spec)
    const here = { displayName: 'here', region: '', domain: 'example.test', isPlatform: true }
    bench.seed(PlatformCluster, '22222222-2222-4222-8222-222222222222', here)
  })
  afterEach(() => bench.stop())

  const status = async () => (await bench.find<PlatformJob & KubeObject>(PlatformJob.resource, NAME, space))?.status
  const seedPod = (name: string, uid: string, state: object, creationTimestamp: string) => {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: workload, uid, controller: true }
    const labels = ownerSelector(PlatformJob.kind, NAME)
    const metadata = { name, namespace: space, labels, ownerReferences: [owner], creationTimestamp }
    bench.client.seed(pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec: {}, status: state })
    logs.write({ namespace: space, pod: name, container: JOB_CONTAINER }, `${creationTimestamp} of ${name}\n`)
  }
  const failed = (exitCode: number) => ({
    phase: 'Failed',
    startTime: '2026-01-01T00:00:00Z',
    containerStatuses: [{ state: { terminated: { exitCode, reason: 'Error' } } }],
  })

  it('counts only pods of its current Job, not of a former one with the same name', async () => {
    seedPod('former', 'uid-of-the-former', failed(3), '2026-01-01T00:00:00Z')
    bench.seed(PlatformJob, NAME, PlatformJob.spec.parse({ image: 'python', computePlan: 'job-small' }), {
      namespace: space,
    })
    await bench.start()
    expect(await status()).to.include({ state: 'Pending', attempts: 0 })
    expect(await status()).not.to.have.any.keys('pod', 'startedAt', 'exitCode')
    const { uid = '' } = (await bench.find(batchJobs, workload, space))?.metadata ?? {}
    seedPod('own', uid, { phase: 'Pending' }, '2025-12-31T00:00:00Z')
    await bench.rest()
    expect(await status()).to.include({ state: 'Pending', pod: 'own', attempts: 1 })
    bench.client.edit(pod, { namespace: space, name: 'own' }, (object) => {
      object.status = failed(4)
    })
    bench.client.edit(batchJobs, { namespace: space, name: workload }, (object) => {
      object.status = { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:10:00Z' }] }
    })
    await bench.rest()
    expect(await status()).to.include({ state: 'Failed', pod: 'own', exitCode: 4, attempts: 1, logParts: 1 })
    const kept = await blobs.read({ namespace: space, name: log(0) })
    expect(Buffer.from(kept?.bytes ?? []).toString()).to.include('of own')
  })

  const begin = async (spec: object = {}) => {
    const stored = PlatformJob.spec.parse({ image: 'python', computePlan: 'job-small', ...spec })
    bench.seed(PlatformJob, NAME, stored, { namespace: space })
    await bench.start()
  }
  const cancel = async () => {
    bench.client.edit(PlatformJob.resource, { namespace: space, name: NAME }, (object) => {
      Object.assign(object.spec as object, { cancelled: true })
    })
    await bench.rest()
  }
  const running = {
    phase: 'Running',
    startTime: '2026-01-01T00:00:00Z',
    containerStatuses: [{ state: { running: {} } }],
  }

  it('keeps a part of the log where many jobs share the room of their boundary', async () => {
    const spec = PlatformJob.spec.parse({ image: 'python', computePlan: 'job-small' })
    for (let at = 1; at < 1024; at += 1)
      bench.seed(PlatformJob, `other-${at}`, { ...spec, cancelled: true }, { namespace: space })
    bench.seed(PlatformJob, NAME, spec, { namespace: space })
    await bench.start()
    const { uid = '' } = (await bench.find(batchJobs, workload, space))?.metadata ?? {}
    seedPod('long', uid, failed(4), '2026-01-01T00:00:00Z')
    logs.write({ namespace: space, pod: 'long', container: JOB_CONTAINER }, '2026-01-01T00:00:01Z x\n'.repeat(20_000))
    bench.client.edit(batchJobs, { namespace: space, name: workload }, (object) => {
      object.status = { conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: '' }] }
    })
    await bench.rest()
    expect(await status()).to.include({ state: 'Failed', logParts: 1 })
    const kept = await blobs.read({ namespace: space, name: log(0) })
    expect(kept?.bytes.length).to.be.within(200_000, (256 * 1024 ** 2) / 1024)
  })

  it('fails a cancelled job once its pod is gone and keeps the log until then', async () => {
    await begin()
    const { uid = '' } = (await bench.find(batchJobs, workload, space))?.metadata ?? {}
    seedPod('own', uid, running, '2026-01-01T00:00:00Z')
    await bench.rest()
    await cancel()
    expect(await bench.find(batchJobs, workload, space)).to.equal(undefined)
    expect(await status())
      .to.include({ state: 'Running', phase: 'Stopping' })
      .and.not.to.have.property('completedAt')
    // As the garbage collector does.
    await bench.client.remove(pod, { namespace: space, name: 'own' })
    await bench.rest()
    expect(await status()).to.include({ state: 'Failed', phase: 'JobCancelled', statusMessage: 'It was cancelled.' })
    expect((await status())?.completedAt).to.be.a('string')
    const kept = await blobs.read({ namespace: space, name: log(0) })
    expect(Buffer.from(kept?.bytes ?? []).toString()).to.include('of own')
  })

  it('fails a job whose Job was deleted, and does not start it again', async () => {
    await begin()
    await bench.client.remove(batchJobs, { namespace: space, name: workload })
    await bench.rest()
    const statusMessage = 'Its Job was deleted before it ended.'
    expect(await status()).to.include({ state: 'Failed', statusMessage })
    expect((await status())?.completedAt).to.be.a('string')
    await cancel()
    expect(await bench.find(batchJobs, workload, space)).to.equal(undefined)
    expect(await status()).to.include({ state: 'Failed', statusMessage })
  })

  it('never starts a job that was cancelled before', async () => {
    await begin({ cancelled: true })
    expect(await bench.find(batchJobs, workload, space)).to.equal(undefined)
    expect(await status()).to.include({ state: 'Failed', phase: 'JobCancelled', attempts: 0, logParts: 0 })
  })

  it('keeps Succeeded for a job that completed before its cancellation was seen', async () => {
    await begin()
    bench.client.edit(batchJobs, { namespace: space, name: workload }, (object) => {
      object.status = { conditions: [{ type: 'Complete', status: 'True' }], completionTime: '2026-01-01T00:10:00Z' }
    })
    await cancel()
    expect(await status()).to.include({ state: 'Succeeded', phase: 'Completed' })
    await cancel()
    expect(await status()).to.include({ state: 'Succeeded', phase: 'Completed' })
  })
})
