// @inTurn plain: kills the operator.
import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import { ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Entry = { channel: string; action: string; actor: { principalId: string | null }; changes: { path: string }[] }

describe('several replicas of the facade', () => {
  let own: OwnPlatform
  let other: string

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator()
    other = await own.startReplica()
  })
  after(() => giveBack(own))

  const call = <Body>(facadeUrl: string, method: string, path: string, body?: object) =>
    callOwn<Body>(own, method, path, body, { facadeUrl })

  it('accept at once what another replica has just written', async () => {
    const { facadeUrl } = own.platform
    for (let turn = 0; turn < 10; turn += 1) {
      const [one, next] = turn % 2 === 0 ? [facadeUrl, other] : [other, facadeUrl]
      const { body } = await call<{ id: string }>(one, 'POST', '/boundaries', { displayName: 'Shared' })
      const boundary = `/boundaries/${body.id}`
      expect((await call(next, 'GET', boundary)).status, 'the boundary is known').to.equal(200)
      const group = `${boundary}/resourcegroups/shop`
      expect((await call(next, 'POST', group)).status, 'the boundary takes a group').to.equal(201)
      expect((await call(one, 'GET', group)).status, 'the group is known').to.equal(200)
      await until('the group takes resources', async () =>
        [200, 201].includes(
          (await call(one, 'POST', `${group}/resources/objectstorageaccounts/a${body.id}`, {})).status,
        ),
      )
      expect((await call(one, 'DELETE', group)).status).to.equal(202)
      const late = await call<{ code: string }>(next, 'POST', `${group}/resources/vectorclusters/late`, { replicas: 0 })
      // The group is soon deleted together with its account, and then does not exist.
      expect([late.status, late.body.code].join(' ')).to.be.oneOf(['409 INVALID_STATE', '404 NOT_FOUND'])
    }
  })

  it('share one activity, and lose no entry when a replica is killed after its answer', async () => {
    const { facadeUrl, clientId } = own.platform
    const { body: boundary } = await call<{ id: string }>(facadeUrl, 'POST', '/boundaries', { displayName: 'Told' })
    const group = `/boundaries/${boundary.id}/resourcegroups/shop`
    await call(facadeUrl, 'POST', group)
    const path = `${group}/resources/objectstorageaccounts/photos`
    await until('the account is made', async () =>
      [200, 201].includes((await call(facadeUrl, 'POST', path, {})).status),
    )
    await until('the other facade knows it', async () => (await call(other, 'GET', path)).status === 200)
    for (let step = 1; step <= 10; step += 1) {
      const facade = step % 2 === 0 ? facadeUrl : other
      expect((await call(facade, 'PATCH', path, { tags: { step: String(step) } })).status).to.equal(200)
    }
    // What it had not recorded itself, the audit log delivers to the next one.
    expect((await call(other, 'PATCH', path, { tags: { step: '11' } })).status).to.equal(200)
    await own.endReplica('facade')
    expect((await call(facadeUrl, 'PATCH', path, { tags: { step: '12' } })).status).to.equal(200)
    await own.endOperator('SIGKILL')
    const ref = { namespace: groupNamespace(boundary.id, 'shop'), name: 'photos' }
    await own.admin.mergePatch(ObjectStorageAccount.resource, ref, { spec: { tags: { step: '13' } } })
    await own.startOperator()
    const entries = await until('all changes are recorded', async () => {
      const list = await call<{ items: Entry[] }>(facadeUrl, 'GET', `${path}/activity?sort=occurredAt`)
      const found = (list.body.items ?? []).filter(({ changes }) => changes.some(({ path }) => path === '/tags/step'))
      if (found.length < 13)
        throw new Error(`${found.length} of 13: ${JSON.stringify(found.map(({ changes }) => changes))}`)
      return found
    })
    expect(entries.map(({ channel }) => channel)).to.deep.equal([...Array<string>(12).fill('Rest'), 'Kubernetes'])
    expect(entries.slice(0, 12).every(({ actor }) => actor.principalId === clientId)).to.equal(true)
  })
})
