import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { INCARNATION_ANNOTATION, ROLE_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import { refuseUngoverned } from './governing.ts'
import { isInForce } from './grants.ts'
import { refuseWidening } from './groups.ts'

const BOUNDARY = randomUUID()
const SCOPE = `/boundaries/${BOUNDARY}`
const namespace = boundaryNamespace(BOUNDARY)
const people = Array.from({ length: 100 }, () => randomUUID())
const [team, around] = [randomUUID(), randomUUID()]
const groups = [
  { metadata: { name: team, namespace }, spec: { displayName: 'Team', memberIds: people } },
  { metadata: { name: around, namespace }, spec: { displayName: 'Around', memberIds: [team] } },
]

/** A boundary with two groups; `reads` counts how often its groups are listed, and the exemptions of a deny are read. */
function largeBoundary(roleDefinitionName: string, assignmentCount: number, denyCount: number) {
  const reads = { groups: 0, exemptions: 0 }
  const assignments = Array.from({ length: assignmentCount }, () => ({
    metadata: { name: randomUUID(), namespace, annotations: {} },
    spec: { principalId: team, principalType: 'Group', roleDefinitionName, scope: SCOPE, scopeIncarnation: 'life' },
  }))
  const denies = Array.from({ length: denyCount }, () => ({
    metadata: { name: randomUUID(), namespace },
    spec: {
      ...{ principalId: randomUUID(), isEveryone: false, actions: ['jobs/write'], dataActions: [] },
      get excludedPrincipalIds() {
        reads.exemptions += 1
        return []
      },
    },
  }))
  const boundary = { metadata: { name: BOUNDARY, annotations: { [INCARNATION_ANNOTATION]: 'life' } }, spec: {} }
  const objects = new Map<string, readonly object[]>([
    [PrincipalGroup.kind, groups],
    [RoleAssignment.kind, assignments],
    [DenyAssignment.kind, denies],
  ])
  const peekAll = (kind: { kind: string }, at: { namespace?: string } = {}) => {
    if (kind.kind === PrincipalGroup.kind) reads.groups += 1
    return at.namespace === namespace ? (objects.get(kind.kind) ?? []) : []
  }
  const records = {
    peekAll,
    peek: (kind: { kind: string }) => (kind.kind === 'Boundary' ? boundary : undefined),
    revision: () => 1,
    list: async (kind: { kind: string }, at: { namespace?: string }) => peekAll(kind, at),
  }
  const principal = (id: string) => ({ id, isEnabled: true, principalType: id === team ? 'Group' : 'User' })
  const services = {
    ...{ records, clock: { now: () => 0 } },
    principals: { find: async (ids: Iterable<string>) => new Map([...ids].map((id) => [id, principal(id)])) },
    access: { explain: () => ({ reason: 'NoAssignment' }), rolesAt: () => [], holdsAll: () => true },
  } as unknown as Services
  return { services, reads }
}

describe('refuseWidening, of a group with many roles', () => {
  it('lists the groups a fixed number of times, not once per role', () => {
    const { services, reads } = largeBoundary('Reader', 100, 0)
    const memberships = new Map(groups.map(({ metadata, spec }) => [metadata.name, spec.memberIds]))
    const widened = { id: team, added: [randomUUID()], groups: memberships }
    refuseWidening(services, { principalId: randomUUID() }, BOUNDARY, widened, 'forbidden')
    expect(reads.groups).to.be.lessThan(5)
  })
})

describe('refuseUngoverned, with many people behind the Owners', () => {
  it('reads each deny and each group a fixed number of times, not once per person', async () => {
    const { services, reads } = largeBoundary('Owner', 2, 100)
    let memberReads = 0
    const after = new Map(
      groups.map(({ metadata, spec }) => [
        metadata.name,
        new Proxy(spec.memberIds, {
          get(list, property) {
            if (property === Symbol.iterator) memberReads += 1
            return Reflect.get(list, property)
          },
        }),
      ]),
    )
    const place = { level: 'boundary', boundaryId: BOUNDARY } as const
    await refuseUngoverned(services, place, { groups: after }, 'last_owner', {})
    expect(reads.exemptions).to.be.lessThan(10 * 100)
    expect(memberReads).to.be.lessThan(10 * groups.length)
  })
})

describe('isInForce, with many roles', () => {
  it('looks at each role a few times, not once per assignment', () => {
    let reads = 0
    const roles = Array.from({ length: 100 }, (_, index) => ({
      metadata: { name: randomUUID(), annotations: { [INCARNATION_ANNOTATION]: 'life' } },
      get spec() {
        reads += 1
        return { displayName: `Role ${index}`, isBuiltIn: false }
      },
    }))
    const records = { peekAll: () => roles, peek: () => undefined, revision: () => 1 }
    const services = { records, clock: { now: () => 0 } } as unknown as Services
    const annotations = { [ROLE_INCARNATION_ANNOTATION]: 'life' }
    for (let index = 0; index < 100; index += 1) {
      const spec = { principalId: randomUUID(), roleDefinitionName: `Role ${index}`, scope: '/' }
      const assignment = { metadata: { name: randomUUID(), namespace: SYSTEM_NAMESPACE, annotations }, spec }
      expect(isInForce(services, assignment as never)).to.equal(true)
    }
    expect(reads).to.be.lessThan(10 * roles.length)
  })
})
