import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { UncachedServices } from './uncachedServices.ts'

const BOUNDARY = randomUUID()
const namespace = boundaryNamespace(BOUNDARY)

describe('UncachedServices', () => {
  it('looks at each record a few times, not once for each record that is looked up', async () => {
    let reads = 0
    const groups = Array.from({ length: 200 }, () => ({
      metadata: {
        name: randomUUID(),
        get namespace() {
          reads += 1
          return namespace
        },
      },
      spec: { memberIds: [] },
    }))
    const list = async (kind: { kind: string }, at: { namespace?: string }) =>
      kind.kind === PrincipalGroup.kind && at.namespace === namespace ? groups : []
    const caches = {
      has: () => false,
      get: () => ({ get: () => undefined, list: () => [], subscribe: () => () => undefined }),
    }
    const services = { records: { list }, principals: {}, clock: systemClock, log: silentLog }
    const { records } = await new UncachedServices(services as never, caches as never).during(
      BOUNDARY,
      async (now) => now,
    )
    for (const { metadata } of groups)
      expect(records.peek(PrincipalGroup, { namespace, name: metadata.name })?.metadata.name).to.equal(metadata.name)
    expect(records.peek(PrincipalGroup, { namespace, name: randomUUID() })).to.equal(undefined)
    expect(reads).to.be.lessThan(20 * groups.length)
  })

  it('decides by a role as the API server has it now, not as the cache does', async () => {
    const [person, name] = [randomUUID(), randomUUID()]
    const role = (actions: string[]) => ({
      metadata: { name },
      spec: {
        ...{ displayName: 'Runner', actions, dataActions: [], notActions: [], notDataActions: [] },
        ...{ assignableScopes: ['/'], isBuiltIn: false },
      },
    })
    const assignment = {
      metadata: { name: randomUUID(), namespace: SYSTEM_NAMESPACE },
      spec: { principalId: person, principalType: 'User', roleDefinitionName: 'Runner', scope: '/' },
    }
    const stale = role(['jobs/read', 'jobs/write'])
    const caches = {
      has: () => false,
      get: ({ kind }: { kind: string }) => ({
        get: () => (kind === RoleDefinition.kind ? stale : undefined),
        list: () => (kind === RoleDefinition.kind ? [stale] : []),
        subscribe: () => () => undefined,
      }),
    }
    const list = async ({ kind }: { kind: string }, { namespace: at }: { namespace?: string }) => {
      if (kind === RoleDefinition.kind) return [role(['jobs/read'])]
      return kind === RoleAssignment.kind && at === SYSTEM_NAMESPACE ? [assignment] : []
    }
    const services = { records: { list }, principals: {}, clock: systemClock, log: silentLog }
    const uncached = new UncachedServices(services as never, caches as never)
    const allowed = await uncached.during(BOUNDARY, async ({ access }) =>
      ['jobs/read', 'jobs/write'].filter((action) => access.isAllowed(person, action, '/')),
    )
    expect(allowed).to.deep.equal(['jobs/read'])
  })
})
