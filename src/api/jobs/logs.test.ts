import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformJob } from '../../crds/jobs.ts'

describe('GET /jobs/{name}/logs', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.put(PlatformJob, 'backup', { image: 'python' }, groupNamespace(B, 'shop'))
  })
  after(() => server.stop())

  it('names the parameter when the process is none of a job', async () => {
    const path = `/boundaries/${B}/resourcegroups/shop/resources/jobs/backup/logs?process=main`
    const { status, body } = await server.ask('get', path)
    expect([status, body.code, body.parameter]).to.deep.equal([400, 'BAD_REQUEST', 'process'])
  })
})
