import { randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { objectId } from '../../src/core/ids.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { type GivenObject, GRANTING_CASES, type GrantingCase, type GrantingWorld } from '../cases/grantingCases.ts'
import { call, itemsOf, makeBoundary, makeCaller, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

type Prepared = { world: GrantingWorld; token: string; tenant: KubeClient }

describe('role assignments and denies by kubectl and by REST', () => {
  let admin: KubeClient
  /** A boundary that cases only name: nothing is granted in it. */
  let foreignId: string
  const cleanUp: (() => Promise<unknown>)[] = []

  before(async () => {
    admin = await administrator()
    foreignId = (await makeBoundary()).id
    const client = await clientWithToken((await makeCaller()).token)
    await until('the API server takes tokens', async () => (await client.request({ path: '/api' })).status === 200)
    await client.close()
  })
  after(async () => {
    for (const undo of cleanUp.reverse()) await undo()
    await admin.close()
  })

  const objectOf = ({ kind, namespace, name, spec }: GivenObject): KubeObject => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  })

  async function give(object: GivenObject): Promise<void> {
    const { kind, namespace, name } = object
    await admin.create(kind.resource, objectOf(object))
    cleanUp.push(() => admin.remove(kind.resource, { namespace, name }))
  }

  async function prepare(one: GrantingCase): Promise<Prepared> {
    const boundaryId = (await makeBoundary()).id
    const [mine, other] = [await makeCaller(), await makeCaller()]
    const roleName = `role-${randomBytes(4).toString('hex')}`
    const { principalId: me, token } = mine
    const world = { boundaryId, foreignId, me, other: other.principalId, group: randomUUID(), roleName }
    const namespace = boundaryNamespace(boundaryId)
    await until('the first Owner is written', async () => {
      const { items } = await admin.list(RoleAssignment.resource, { namespace })
      return items.length > 0
    })
    const roles = Object.entries(one.roles(world)).map(([roleDefinitionName, scope]): GivenObject => {
      const home = scope === '/' ? 'freehold-system' : namespace
      const spec = { principalId: me, principalType: 'ServicePrincipal', roleDefinitionName, scope }
      return { kind: RoleAssignment, namespace: home, name: randomUUID(), spec }
    })
    for (const role of roles) await give(role)
    const given = one.given?.(world) ?? []
    for (const object of given) await give(object)
    const written = [...roles, ...given]
    if (one.isOnlyOwner === true) {
      const { items } = await admin.list(RoleAssignment.resource, { namespace })
      for (const { metadata, spec } of items as (KubeObject & RoleAssignment)[]) {
        const isGiven = given.some(({ kind, name }) => kind === RoleAssignment && name === metadata.name)
        const isMine = [me, world.group].includes(spec.principalId)
        if (spec.roleDefinitionName === 'Owner' && !isMine && !isGiven)
          await admin.remove(RoleAssignment.resource, { namespace, name: metadata.name })
      }
    }
    await untilKnown(world, written)
    const tenant = await clientWithToken(token)
    cleanUp.push(() => tenant.close())
    return { world, token, tenant }
  }

  /** REST answers from its watches, which lag by a moment. */
  async function untilKnown({ boundaryId }: GrantingWorld, written: readonly GivenObject[]): Promise<void> {
    const boundary = `/boundaries/${boundaryId}`
    const { items } = await admin.list(RoleAssignment.resource, { namespace: boundaryNamespace(boundaryId) })
    const stored = items.map(({ metadata }) => objectId(RoleAssignment.resource, metadata)).sort()
    await until('REST knows the members', async () => {
      const rows = await itemsOf<{ assignmentId: string; origin: string }>(`${boundary}/members`)
      const direct = rows.filter(({ origin }) => origin === 'Direct')
      return expect(direct.map(({ assignmentId }) => assignmentId).sort()).to.deep.equal(stored)
    })
    for (const [kind, list] of [
      [PrincipalGroup, 'groups'],
      [DenyAssignment, 'denyAssignments'],
    ] as const) {
      const ids = written.filter((one) => one.kind === kind).map((one) => objectId(kind.resource, one))
      if (ids.length === 0) continue
      await until(`REST knows the ${list}`, async () => {
        const rows = await itemsOf<{ id: string }>(`${boundary}/providers/authorization/${list}`)
        return expect(rows.map(({ id }) => id)).to.include.members(ids)
      })
    }
  }

  /** The API server's message; "admitted" if it would store the object. */
  async function byKubernetes({ world, tenant }: Prepared, { write }: GrantingCase): Promise<string> {
    const { operation, ...object } = write(world)
    const { kind, namespace, name, spec } = object
    const { group, version, plural } = kind.resource
    const home = namespace === undefined ? '' : `/namespaces/${namespace}`
    const collection = `/apis/${group}/${version}${home}/${plural}`
    const type = operation === 'update' ? 'application/merge-patch+json' : 'application/json'
    const body = { create: objectOf(object), update: { spec }, delete: { dryRun: ['All'] } }[operation]
    const answer = await tenant.request({
      method: ({ create: 'POST', update: 'PATCH', delete: 'DELETE' } as const)[operation],
      path: `${operation === 'create' ? collection : `${collection}/${name}`}?dryRun=All`,
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    return answer.status < 300 ? 'admitted' : (JSON.parse(text) as { message: string }).message
  }

  async function byRest({ world, token }: Prepared, { rest }: GrantingCase): Promise<string | undefined> {
    if (rest === undefined) return undefined
    const { method, path, body } = rest(world)
    const { status, text, body: answer } = await call(method, path, body, { token })
    return status < 300 ? 'admitted' : (answer?.error ?? text)
  }

  for (const one of GRANTING_CASES) {
    it(one.rule, async () => {
      const prepared = await prepare(one)
      const expected = one.refused?.(prepared.world) ?? 'admitted'
      const answered = await byKubernetes(prepared, one)
      expect(answered, 'kubectl').to.include(one.unauthorized ?? expected)
      const outcome = await byRest(prepared, one)
      if (outcome !== undefined) expect(outcome, 'REST').to.include(expected)
    })
  }
})
