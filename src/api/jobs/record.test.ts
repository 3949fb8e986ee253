import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { ComputePlan } from '../../crds/plans.ts'

const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi' }
const PATH = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/jobs/report`

describe('the record of a job', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.put(ComputePlan, 'job-small', { family: 'Job', displayName: 'Small', ...SIZES, isDefault: true })
  })
  afterEach(() => server.stop())

  it('takes what its container runs, how often it is tried again, and tags', async () => {
    const body = { image: 'python', command: ['python'], args: ['-m', 'report'], retries: 2, tags: { team: 'search' } }
    const { status, body: made } = await server.ask('post', PATH).send(body)
    expect(status, JSON.stringify(made)).to.equal(201)
    expect(made).to.deep.include({ ...body, startedAt: null, exitCode: null, statusMessage: null })
    expect((await server.ask('post', PATH).send({ ...body, retries: 11 })).body.code).to.equal('BAD_REQUEST')
  })

  it('says why it waits, when it began and how it ended', async () => {
    const { apiVersion, kind } = PlatformJob
    const statusMessage = 'The container ended with exit code 3.'
    const words = { reason: 'JobFailed', message: statusMessage, lastTransitionTime: '2026-01-01T00:01:00Z' }
    const conditions = [
      { type: 'Ready', status: 'False', ...words },
      { type: 'Stalled', status: 'True', ...words },
    ]
    const ended = { startedAt: '2026-01-01T00:00:00Z', exitCode: 3 }
    const status = { state: 'Failed', conditions, ...ended }
    const spec = PlatformJob.spec.parse({ image: 'python' })
    const metadata = { name: 'report', namespace: groupNamespace(BOUNDARY, 'shop') }
    server.client.seed(PlatformJob.resource, { apiVersion, kind, metadata, spec, status })
    const { body } = await server.ask('get', PATH)
    expect(body).to.deep.include({ status: 'Failed', statusMessage, ...ended, command: [], tags: {} })
    expect(body).to.not.have.any.keys('phase', 'noRetryExitCodes', 'runAsUser')
  })
})
