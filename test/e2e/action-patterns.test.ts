import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { knownPatterns, unmatchedPatternMessage } from '../../src/core/actionPatterns.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { BoundaryTrust, DenyAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { LENDABLE, NOT_LENDABLE } from '../../src/iam/lendable.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, makeBoundary, makeCaller, uniqueName } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

/** A deny or role with a typing error is refused with the same message by REST and by the API server. */
describe('action patterns of roles, denies and trusts', () => {
  let admin: KubeClient
  let boundaryId: string
  let principalId: string
  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    principalId = (await makeCaller()).principalId
  })
  after(() => admin.close())

  const roleOf = (lists: object): KubeObject =>
    ({
      apiVersion: RoleDefinition.apiVersion,
      kind: RoleDefinition.kind,
      metadata: { name: uniqueName('role') },
      spec: { displayName: uniqueName('Role'), assignableScopes: ['/boundaries/*'], ...lists },
    }) as KubeObject
  const denyOf = (lists: object): KubeObject =>
    ({
      apiVersion: DenyAssignment.apiVersion,
      kind: DenyAssignment.kind,
      metadata: { name: randomUUID(), namespace: boundaryNamespace(boundaryId) },
      spec: { principalId, principalType: 'ServicePrincipal', scope: `/boundaries/${boundaryId}`, ...lists },
    }) as KubeObject
  async function refusalOf(write: Promise<unknown>): Promise<string | undefined> {
    try {
      await write
      return undefined
    } catch (error) {
      if (!isKubeError(error)) throw error
      return [error.message, error.denial?.message, ...error.causes.map(({ message }) => message)].join(' ')
    }
  }

  const slips = [
    ['actions', 'zz'],
    ['actions', 'nosuch/read'],
    ['actions', 'Apps/read'],
    ['actions', 'jobs*'],
    ['actions', 'apps/readLogs'],
    ['dataActions', 'a'],
    ['dataActions', 'apps/read'],
  ] as const
  for (const [list, pattern] of slips) {
    it(`rejects a pattern that matches no action, by REST and by an administrator: ${list} "${pattern}"`, async () => {
      const words = unmatchedPatternMessage(list === 'actions' ? 'control' : 'data')
      const lists = { actions: ['vectorcluster/*'], [list]: ['*', pattern] }
      const path = `/boundaries/${boundaryId}/providers/authorization/denyAssignments`
      const { status, body } = await call('POST', path, { principalId, ...lists })
      expect(status).to.equal(400)
      expect(body.errors).to.deep.equal([{ field: `${list}.1`, message: words }])
      const said = `${list} "${pattern}" ${words}`
      expect(await refusalOf(admin.create(DenyAssignment.resource, denyOf(lists), { dryRun: true }))).to.include(said)
      expect(await refusalOf(admin.create(RoleDefinition.resource, roleOf(lists), { dryRun: true }))).to.include(said)
    })
  }

  it('rejects a trust with actions that cannot be lent, also from an administrator', async () => {
    const trustOf = (actions: string[]) =>
      ({
        apiVersion: BoundaryTrust.apiVersion,
        kind: BoundaryTrust.kind,
        metadata: { name: randomUUID(), namespace: SYSTEM_NAMESPACE },
        spec: { boundaryId, trustedBoundaryId: randomUUID(), actions },
      }) as KubeObject
    const create = (actions: string[]) => admin.create(BoundaryTrust.resource, trustOf(actions), { dryRun: true })
    for (const slip of ['jobs/write', 'jobs/*', 'Jobs/read']) {
      expect(await refusalOf(create(['jobs/read', slip]))).to.include(`"${slip}" ${NOT_LENDABLE}`)
    }
    expect(await refusalOf(create([...LENDABLE].slice(0, 50)))).to.equal(undefined)
  })

  it('accepts every pattern that matches an action', async () => {
    const [actions, dataActions] = [knownPatterns('control'), knownPatterns('data')]
    for (let from = 0; from < actions.length; from += 100) {
      const lists = {
        actions: [...actions.slice(from, from + 100), 'llmgateway/*', 'registry/pull'],
        dataActions: dataActions.slice(from, from + 100),
      }
      expect(await refusalOf(admin.create(RoleDefinition.resource, roleOf(lists), { dryRun: true }))).to.equal(
        undefined,
      )
    }
  })
})
