import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ROLE_INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { objectOf } from '../worlds/fleet.ts'
import { call, makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

type Result = { action: string; allowed: boolean; reason: string; decidedBy: { kind: string; scope: string } | null }
type Results = { principalId: string; results: Result[] }

describe('POST checkAccess', () => {
  let boundaryId: string
  let path: string
  before(async () => {
    boundaryId = (await makeBoundary()).id
    path = `/boundaries/${boundaryId}/providers/authorization/checkAccess`
  })

  it('returns whether the caller is allowed, and the deciding assignment', async () => {
    const checks = [{ action: 'boundaries/manage' }, { action: 'vectorcluster/readSecrets', isDataAction: true }]
    const { status, body } = await call<Results>('POST', path, { checks })
    expect(status).to.equal(200)
    expect(body.principalId).to.equal(testPlatform().clientId)
    expect(body.results.map(({ allowed, decidedBy }) => [allowed, decidedBy?.kind])).to.deep.equal([
      [true, 'RoleAssignment'],
      [true, 'RoleAssignment'],
    ])
  })

  it('gives a role definition with a taken name no effect until the name is free, and rejects built-in names', async () => {
    const admin = await administrator()
    try {
      const displayName = uniqueName('Twice')
      const define = (name: string, as: string) =>
        admin.create(
          RoleDefinition.resource,
          objectOf(RoleDefinition, name, undefined, {
            displayName: as,
            actions: ['apps/read'],
            assignableScopes: ['/boundaries/*'],
          }),
        )
      const refusal = await define(uniqueName('role'), 'Reader').catch((error: Error) => error)
      expect(JSON.stringify(refusal), String(refusal)).to.include('It is built in: choose another displayName')
      const [first, second] = [uniqueName('b'), uniqueName('a')]
      await define(first, displayName)
      // Ages are in seconds, and the name decides between equal ones.
      await until('a second has passed for the API server', async () => {
        const { metadata } = await define(uniqueName('c'), uniqueName('Clock'))
        const { metadata: older } = await admin.get(RoleDefinition.resource, { name: first })
        return metadata.creationTimestamp !== older.creationTimestamp
      })
      await define(second, displayName)
      const reasonOf = async (name: string) => {
        const { status } = (await admin.get(RoleDefinition.resource, { name })) as {
          status?: { conditions?: { type: string; reason: string }[] }
        }
        return status?.conditions?.find(({ type }) => type === 'Ready')?.reason
      }
      await until('the younger is NameOccupied', async () => (await reasonOf(second)) === 'NameOccupied')
      expect(await reasonOf(first)).to.equal('Available')
      await admin.remove(RoleDefinition.resource, { name: first })
      await until('the younger is Available', async () => (await reasonOf(second)) === 'Available')
    } finally {
      await admin.close()
    }
  })

  it('denies actions of a new role definition that has the name of a deleted one', async () => {
    const admin = await administrator()
    try {
      const displayName = uniqueName('Custom')
      const define = (action: string) =>
        admin.create(
          RoleDefinition.resource,
          objectOf(RoleDefinition, uniqueName('role'), undefined, {
            displayName,
            actions: [action],
            assignableScopes: ['/boundaries/*'],
          }),
        )
      const first = await define('apps/read')
      const { principalId } = await makeCaller({ [displayName]: `/boundaries/${boundaryId}` })
      const namespace = boundaryNamespace(boundaryId)
      const pinned = (annotations: Record<string, string> = {}) =>
        annotations[ROLE_INCARNATION_ANNOTATION] !== undefined
      await until('the assignment has the incarnation of the role', async () => {
        const { items } = await admin.list<RoleAssignment & KubeObject>(RoleAssignment.resource, { namespace })
        return items.some((one) => one.spec.principalId === principalId && pinned(one.metadata.annotations))
      })
      const allowed = async (action: string) =>
        (await call<Results>('POST', path, { principalId, checks: [{ action }] })).body.results[0]?.allowed
      expect(await allowed('apps/read')).to.equal(true)
      await admin.remove(RoleDefinition.resource, { name: first.metadata.name })
      await until('the permission is revoked', async () => (await allowed('apps/read')) === false)
      await define('apps/write')
      const member = { principalId, roleDefinitionName: displayName }
      await until('the new role can be given', async () => {
        return (
          (await call('POST', `/boundaries/${boundaryId}/members`, { ...member, principalId: randomUUID() })).status ===
          422
        )
      })
      expect(await allowed('apps/write')).to.equal(false)
      expect((await call('POST', `/boundaries/${boundaryId}/members`, member)).status).to.equal(201)
      expect(await allowed('apps/write')).to.equal(true)
    } finally {
      await admin.close()
    }
  })

  it('returns the same verdicts as the routes', async () => {
    const { name } = await makeGroup(boundaryId)
    const scope = `/boundaries/${boundaryId}/resourcegroups/${name}`
    const reader = await makeCaller({ Reader: scope })
    const options = { token: reader.token }
    const { body } = await call<Results>(
      'POST',
      path,
      {
        checks: [
          { action: 'resourcegroups/read', scope },
          { action: 'resourcegroups/delete', scope },
          { action: 'boundaries/read' },
          { action: 'boundaries/create' },
        ],
      },
      options,
    )
    expect(body.results.map(({ allowed, reason }) => [allowed, reason])).to.deep.equal([
      [true, 'AllowedByAssignment'],
      [false, 'NoAssignment'],
      [false, 'NoAssignment'],
      [false, 'RootOnly'],
    ])
    expect((await call('GET', scope, undefined, options)).status).to.equal(200)
    expect((await call('DELETE', scope, undefined, options)).status).to.equal(403)
    expect((await call('GET', `/boundaries/${boundaryId}`, undefined, options)).status).to.equal(403)
    expect((await call('POST', '/boundaries', { displayName: 'x' }, options)).status).to.equal(403)
  })

  it('answers about others only with rbac/members/read, and returns 404 to strangers', async () => {
    const { name } = await makeGroup(boundaryId)
    const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}/resourcegroups/${name}` })
    const stranger = await makeCaller()
    const body = { principalId: stranger.principalId, action: 'boundaries/read' }
    expect((await call<Results>('POST', path, body)).body.results[0]?.allowed).to.equal(false)
    expect((await call('POST', path, body, { token: reader.token })).status).to.equal(403)
    expect((await call('POST', path, { action: 'boundaries/read' }, { token: stranger.token })).status).to.equal(404)
  })

  it('drops a deleted assignment', async () => {
    const caller = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
    const options = { token: caller.token }
    expect((await call('GET', `/boundaries/${boundaryId}`, undefined, options)).status).to.equal(200)
    const admin = await administrator()
    try {
      const namespace = boundaryNamespace(boundaryId)
      const { items } = await admin.list(RoleAssignment.resource, {
        namespace,
        fieldSelector: `spec.principalId=${caller.principalId}`,
      })
      for (const { metadata } of items) await admin.remove(RoleAssignment.resource, { namespace, name: metadata.name })
    } finally {
      await admin.close()
    }
    await until('the permission is revoked', async () => {
      return (await call('GET', `/boundaries/${boundaryId}`, undefined, options)).status === 403
    })
  })

  const refused: [string, object][] = [
    ['an unknown action', { action: 'jobs/levitate' }],
    ['a scope of another boundary', { action: 'jobs/read', scope: '/boundaries/00000000-0000-4000-8000-000000000000' }],
    ['no checks', { checks: [] }],
    ['101 checks', { checks: Array.from({ length: 101 }, () => ({ action: 'jobs/read' })) }],
    ['an unknown field', { action: 'jobs/read', colour: 'red' }],
  ]
  for (const [title, body] of refused) {
    it(`returns 400 for ${title}`, async () => expect((await call('POST', path, body)).status).to.equal(400))
  }
})
