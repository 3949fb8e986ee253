import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { KEY_PERMISSIONS, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { DenyAssignment } from '../../crds/rbac.ts'

const ACCOUNT = `/boundaries/${B}/resourcegroups/shop/resources/objectstorageaccounts/media`

describe('POST /sts/sessions', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.put(ObjectStorageAccount, 'media', {}, groupNamespace(B, 'shop'))
  })
  afterEach(() => server.stop())

  /** The permissions that are not FORBIDDEN: these get REFERENCE_NOT_FOUND, since the bucket does not exist. */
  const allowed = async (denied: string) => {
    const caller = randomUUID()
    server.grant(caller, 'Contributor', `/boundaries/${B}`)
    const deny = {
      actions: [denied],
      scope: ACCOUNT,
      principalId: caller,
      principalType: 'User',
      scopeIncarnation: 'life',
    }
    server.put(DenyAssignment, randomUUID(), deny, boundaryNamespace(B))
    const answers = await Promise.all(
      KEY_PERMISSIONS.map(async (permission) => {
        const request = server.ask('post', `${ACCOUNT}/sts/sessions`, caller)
        const { status, body } = await request.send({ permission, bucket: 'none' })
        return { permission, status, code: body.code as string }
      }),
    )
    expect(answers.filter(({ code }) => !['FORBIDDEN', 'REFERENCE_NOT_FOUND'].includes(code))).to.deep.equal([])
    return answers.filter(({ status }) => status !== 403).map(({ permission }) => permission)
  }

  for (const [denied, left] of [
    ['objectbuckets/write', ['Read']],
    ['objectbuckets/read', ['Write']],
    ['jobs/read', ['Read', 'Write', 'ReadWrite', 'Admin']],
  ] as const)
    it(`limits the permissions of a session to those of a caller who is denied ${denied}`, async () => {
      expect(await allowed(denied)).to.deep.equal(left)
    })
})
