import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { ComputePlan } from '../../crds/plans.ts'

const SITE = `/boundaries/${B}/resourcegroups/shop/resources/apps/site`
const APP = {
  sourceKind: 'Image',
  image: 'registry.example/site:1',
  volumes: [{ name: 'pages', kind: 'Persistent', mountPath: '/srv/pages', size: '1Gi' }],
}
const policy = { schedule: '0 2 * * *', retentionDays: 7 }

describe('backupPolicy of an app', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) server.put(ComputePlan, name, spec)
  })
  afterEach(() => server.stop())
  const send = (method: 'post' | 'patch', body: object) => server.ask(method, SITE).send(body)

  it('is rejected with BACKUP_TARGET_MISSING where there is no target', async () => {
    expect((await send('post', { ...APP, backupPolicy: policy })).body).to.include({
      code: 'BACKUP_TARGET_MISSING',
      field: 'backupPolicy',
    })
    expect((await send('post', APP)).status).to.equal(201)
    expect((await send('patch', { backupPolicy: policy })).body.code).to.equal('BACKUP_TARGET_MISSING')
  })

  it('needs no target while it is paused, or unchanged', async () => {
    expect((await send('post', { ...APP, backupPolicy: { ...policy, enabled: false } })).status).to.equal(201)
    server.put(PlatformApp, 'site', { ...APP, backupPolicy: policy }, groupNamespace(B, 'shop'))
    expect((await send('patch', { tags: { team: 'web' } })).status).to.equal(200)
  })
})
