import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { idOf } from '../../core/ids.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { DenyAssignment } from '../../crds/rbac.ts'

const GROUP = `/boundaries/${B}/resourcegroups/shop`
const NAMESPACE = groupNamespace(B, 'shop')
const PAYROLL = `${GROUP}/resources/objectstorageaccounts/payroll`
const IDENTITY = idOf({ group: 'iam.freehold.dev', kind: 'ManagedIdentity', name: 'web' })
const KEYS = `${GROUP}/managedidentities/${IDENTITY}/objectaccesskeys`

describe('access keys of a managed identity for an account that a deny assignment covers', () => {
  const caller = randomUUID()
  let shop: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    shop = await startShop()
    const workload = { resourceName: 'web', resourceType: 'apps', resourceUid: randomUUID() }
    shop.put(ManagedIdentity, 'web', workload, NAMESPACE)
    for (const name of ['payroll', 'media']) {
      shop.put(ObjectStorageAccount, name, {}, NAMESPACE)
      shop.put(ObjectAccessKey, `of-${name}`, { accountName: name, managedIdentityId: IDENTITY }, NAMESPACE)
    }
    shop.grant(caller, 'Owner', `/boundaries/${B}`)
  })
  afterEach(() => shop.stop())

  const deny = (action: string) =>
    shop.put(
      DenyAssignment,
      randomUUID(),
      { principalId: caller, actions: [action], scope: PAYROLL, scopeIncarnation: 'life' },
      boundaryNamespace(B),
    )
  const shown = async () => (await shop.ask('get', KEYS, caller)).body.items as { id: string; accountName: string }[]
  const idOfKey = async (account: string) =>
    (await shown()).find(({ accountName }) => accountName === account)?.id ?? 'none'

  it('returns the same 403 for POST as the account itself, and creates no key', async () => {
    deny('objectaccesskeys/write')
    const made = await shop.ask('post', KEYS, caller).send({ accountName: 'payroll' })
    const direct = await shop.ask('post', `${PAYROLL}/accesskeys`, caller).send({})
    expect([made.status, made.body.error]).to.deep.equal([403, direct.body.error])
    expect((await shop.client.list(ObjectAccessKey.resource)).items).to.have.length(2)
  })

  it('omits the key from the list and returns 404 for its deletion', async () => {
    const hidden = await idOfKey('payroll')
    deny('objectaccesskeys/read')
    expect((await shown()).map(({ accountName }) => accountName)).to.deep.equal(['media'])
    expect((await shop.ask('delete', `${KEYS}/${hidden}`, caller)).status).to.equal(404)
  })

  for (const [sentence, method, action, of] of [
    ['returns 403 for deactivating a key', 'patch', 'objectaccesskeys/write', { status: 'Inactive' }],
    ['returns 403 for deleting a key', 'delete', 'objectaccesskeys/delete', undefined],
  ] as const)
    it(sentence, async () => {
      deny(action)
      const answers = await Promise.all(
        ['payroll', 'media'].map(async (account) =>
          shop.ask(method, `${KEYS}/${await idOfKey(account)}`, caller).send(of),
        ),
      )
      expect(answers.map(({ status }) => status < 300)).to.deep.equal([false, true])
      expect(answers[0]?.status).to.equal(403)
    })
})
