import { SecretActivity } from '../../src/adapters/activity/secrets.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { activityStoreContract } from '../suites/activityStoreContract.ts'
import { administrator } from '../worlds/tenant.ts'

describe('SecretActivity on a real API server', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())
  activityStoreContract(() => new SecretActivity(admin))
})
