import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace } from '../../src/core/names.ts'
import { JitRequest, RoleAssignment } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { seenWorking } from '../make/until.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  until,
} from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Jit = { id: string; status: string; activeUntil: string | null; decidedBy: string | null; principalId: string }
type Coded = { code: string; actions?: string[] }

describe('temporary roles', () => {
  let admin: KubeClient
  let boundary: string
  let boundaryId: string
  let path: string
  let owner: TestCaller
  let asker: TestCaller
  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    boundary = `/boundaries/${boundaryId}`
    path = `${boundary}/providers/authorization/jitRequests`
    owner = await makeCaller({ Owner: boundary })
    asker = await makeCaller({ Reader: boundary })
  })
  after(() => admin.close())

  const wanted = (scope: string, more: object = {}) => ({
    ...{ roleDefinitionName: 'Contributor', scope, justification: 'an incident' },
    ...more,
  })
  const ask = async (scope: string, { token }: TestCaller = asker) =>
    (await expectCall<Jit>(201, 'POST', path, wanted(scope), { token })).body
  const coded = async (status: number, code: string, ...given: Parameters<typeof call>) => {
    const answer = await call<Coded>(...given)
    expect([answer.status, answer.body?.code], answer.text).to.deep.equal([status, code])
    return answer.body
  }
  const groupScope = async () => `${boundary}/resourcegroups/${(await makeGroup(boundaryId)).name}`
  const mayWrite = async (scope: string) =>
    (await call('POST', `${scope}`, undefined, { token: asker.token })).status !== 403

  it('are requested, approved by another person, effective at once, and ended by their holder', async () => {
    const scope = await groupScope()
    const request = await ask(scope)
    expect(request).to.include({ status: 'Pending', principalId: asker.principalId, activeUntil: null })
    expect(await mayWrite(scope)).to.equal(false)
    await coded(409, 'duplicate_pending', 'POST', path, wanted(scope), { token: asker.token })
    const { body } = await expectCall<Jit>(200, 'POST', `${path}/${request.id}/approve`, { reason: 'go' }, owner)
    expect(body).to.include({ status: 'Active', decidedBy: owner.principalId })
    expect(Date.parse(body.activeUntil ?? '') - Date.now()).to.be.within(3_500_000, 3_600_000)
    expect(await mayWrite(scope)).to.equal(true)
    await coded(409, 'invalid_state', 'POST', `${path}/${request.id}/deny`, undefined, owner)
    await expectCall(204, 'DELETE', `${path}/${request.id}`, undefined, { token: asker.token })
    expect(await mayWrite(scope)).to.equal(false)
    await coded(409, 'invalid_state', 'DELETE', `${path}/${request.id}`, undefined, { token: asker.token })
    const { status } = (await expectCall<Jit>(200, 'GET', `${path}/${request.id}`, undefined, asker)).body
    expect(status).to.equal('Ended')
  })

  it('are denied and cancelled', async () => {
    const [one, other] = [await ask(await groupScope()), await ask(await groupScope())]
    const denied = await expectCall<Jit>(200, 'POST', `${path}/${one.id}/deny`, { reason: 'no' }, owner)
    expect(denied.body.status).to.equal('Denied')
    await expectCall(204, 'DELETE', `${path}/${other.id}`, undefined, asker)
    const mine = await itemsOf<Jit>(`${path}?filter=status:in:Denied,Cancelled`, asker)
    expect(mine.map(({ status }) => status).sort()).to.deep.equal(['Cancelled', 'Denied'])
  })

  it('are not approved by the requester, nor by a caller without these permissions', async () => {
    const scope = await groupScope()
    const own = await ask(scope, owner)
    await coded(403, 'self_approval', 'POST', `${path}/${own.id}/approve`, undefined, owner)
    await coded(403, 'self_approval', 'POST', `${path}/${own.id}/deny`, undefined, owner)
    const { id } = await ask(scope)
    // Platform Owners grant any role to others; other administrators of members only what they hold.
    await coded(403, 'FORBIDDEN', 'POST', `${path}/${id}/approve`, undefined, asker)
    const reader = await makeCaller({ Reader: boundary })
    await coded(403, 'FORBIDDEN', 'DELETE', `${path}/${id}`, undefined, reader)
    const { body } = await expectCall<{ id: string }>(
      201,
      'POST',
      `${boundary}/providers/authorization/denyAssignments`,
      { principalId: owner.principalId, actions: ['jobs/write'] },
    )
    expect((await coded(403, 'forbidden', 'POST', `${path}/${id}/approve`, undefined, owner)).actions).to.deep.equal([
      'jobs/write',
    ])
    await expectCall(204, 'DELETE', `${boundary}/providers/authorization/denyAssignments/${body.id}`)
  })

  it('are refused for unknown roles, scopes and durations, and for strangers', async () => {
    const { token } = asker
    const post = (status: number, code: string, body: object) => coded(status, code, 'POST', path, body, { token })
    await post(400, 'unknown_role', wanted(boundary, { roleDefinitionName: 'contributor' }))
    await post(403, 'forbidden', wanted(boundary, { roleDefinitionName: 'Platform Reader' }))
    await post(400, 'BAD_REQUEST', wanted('/'))
    await post(400, 'BAD_REQUEST', wanted(`${boundary}/resourcegroups/nothing`))
    await post(400, 'BAD_REQUEST', wanted(boundary, { durationMinutes: 14 }))
    const stranger = await makeCaller()
    await coded(404, 'NOT_FOUND', 'POST', path, wanted(boundary), stranger)
    await coded(404, 'NOT_FOUND', 'GET', path, undefined, stranger)
    await coded(404, 'NOT_FOUND', 'GET', `${path}/${randomUUID()}`, undefined, asker)
    const inGroup = await makeCaller({ Reader: await groupScope() })
    await coded(403, 'FORBIDDEN', 'POST', path, wanted(boundary), inGroup)
  })

  it('are assigned by the controller when an administrator approves with kubectl, and end when removed', async () => {
    const scope = await groupScope()
    const { id } = await ask(scope)
    const ref = { namespace: boundaryNamespace(boundaryId), name: id }
    const spec = { decision: 'Approved', decidedAt: new Date().toISOString(), decidedBy: owner.principalId }
    await admin.mergePatch(JitRequest.resource, ref, { spec })
    await until('the role is there', () => mayWrite(scope))
    const [member] = await itemsOf<{ assignmentId: string }>(
      `${boundary}/members?filter=origin:eq:JustInTime&filter=scope:eq:${scope}`,
    )
    await expectCall(204, 'DELETE', `${boundary}/members/${member?.assignmentId}`)
    await until('the request has ended', async () => {
      const { body } = await expectCall<Jit>(200, 'GET', `${path}/${id}`, undefined, asker)
      return body.status === 'Ended'
    })
    expect(await mayWrite(scope)).to.equal(false)
  })

  it('end at their time', async () => {
    const namespace = boundaryNamespace(boundaryId)
    const approved = async (expiresAt: string) => {
      const scope = await groupScope()
      const { id } = await ask(scope)
      const decidedAt = new Date(Date.parse(expiresAt) - 3_600_000).toISOString()
      const spec = { decision: 'Approved', decidedAt, decidedBy: owner.principalId }
      await admin.mergePatch(JitRequest.resource, { namespace, name: id }, { spec })
      return { scope, id }
    }
    const { scope, id } = await seenWorking(approved, (made) => mayWrite(made.scope))
    await until('the role has ended', async () => !(await mayWrite(scope)))
    await until('its assignment is deleted', async () => {
      const { items } = await admin.list<RoleAssignment & { metadata: { name: string } }>(RoleAssignment.resource, {
        namespace,
        fieldSelector: `spec.principalId=${asker.principalId}`,
      })
      return !items.some(({ spec }) => spec.jitRequestId === id)
    })
  })
})
