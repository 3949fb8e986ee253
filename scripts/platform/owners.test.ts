import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { installFirstOwners } from './owners.ts'

describe('installFirstOwners', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-owners-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('keeps the role assignment of an earlier version', async () => {
    const client = new FakeKubeClient()
    const { clientId, clientSecret } = await installFirstOwners(client, folder)
    const place = { namespace: SYSTEM_NAMESPACE, name: `owner-${clientId}` }
    client.edit<RoleAssignment & KubeObject>(RoleAssignment.resource, place, (assignment) => {
      assignment.spec.reason = 'Of before'
      assignment.metadata.annotations = {}
    })
    const again = await installFirstOwners(client, folder)
    expect(again).to.include({ clientId, clientSecret, isPersonNew: false })
    expect(await client.get(RoleAssignment.resource, place)).to.have.nested.property('spec.reason', 'Of before')
    expect(await readdir(join(folder, 'platform'))).to.deep.equal(['first-owner.json'])
  })
})
