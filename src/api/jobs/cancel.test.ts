import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { JOB_STATES, type JobState } from '../../contracts/jobs.ts'
import { groupNamespace } from '../../core/names.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { ComputePlan } from '../../crds/plans.ts'

const BASE = `/boundaries/${B}/resourcegroups/shop/resources/jobs`
const namespace = groupNamespace(B, 'shop')

describe('POST /jobs/{name}/cancel', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) server.put(ComputePlan, name, spec)
  })
  after(() => server.stop())

  const put = (name: string, state: JobState | undefined, spec: object = {}) => {
    server.put(PlatformJob, name, { image: 'python', ...spec }, namespace)
    server.client.edit(PlatformJob.resource, { namespace, name }, (object) => {
      object.status = state === undefined ? {} : { state }
    })
  }
  const cancel = async (name: string) => {
    const { status, body } = await server.ask('post', `${BASE}/${name}/cancel`)
    return [status, body.code ?? body.name]
  }
  const isCancelled = async (name: string) => {
    const { spec } = await server.client.get(PlatformJob.resource, { namespace, name })
    return (spec as PlatformJob['spec']).cancelled
  }

  for (const state of [undefined, ...JOB_STATES]) {
    const isOver = ['Succeeded', 'Failed', 'TimedOut'].includes(state ?? '')
    const name = `in-${state?.toLowerCase() ?? 'nothing'}`

    it(`returns ${isOver ? '409' : '202, then 200'} for a job in the state ${state ?? 'unset'}`, async () => {
      put(name, state)
      expect(await cancel(name)).to.deep.equal(isOver ? [409, 'INVALID_STATE'] : [202, name])
      expect(await isCancelled(name)).to.equal(!isOver)
      expect(await cancel(name)).to.deep.equal(isOver ? [409, 'INVALID_STATE'] : [200, name])
    })
  }

  it('returns 200 for a job that the cancellation has ended', async () => {
    put('done', 'Failed', { cancelled: true })
    expect(await cancel('done')).to.deep.equal([200, 'done'])
  })

  it('returns 200 for a POST of the same job after its cancellation', async () => {
    const body = { image: 'python' }
    put('again', 'Running', { cancelled: true, computePlan: 'job-small' })
    expect((await server.ask('post', `${BASE}/again`).send(body)).status).to.equal(200)
  })
})
