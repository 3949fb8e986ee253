import { expect } from 'chai'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { projectedBindings } from './projectedBindings.ts'

const B = '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b'
const HOME = boundaryNamespace(B)
const [BOUNDARY, GROUP] = [`/boundaries/${B}`, `/boundaries/${B}/resourcegroups/orders`]
const annotations = { [INCARNATION_ANNOTATION]: 'this' }
const boundary = { apiVersion: 'v', kind: 'Boundary', metadata: { name: B, annotations } }
const group = { apiVersion: 'v', kind: 'ResourceGroup', metadata: { name: 'orders', namespace: HOME, annotations } }
const NOW = Date.parse('2026-11-01T10:00:00Z')

let count = 0
const assignment = (scope: string, spec: Partial<RoleAssignment['spec']> = {}, namespace = HOME) =>
  ({
    apiVersion: 'v',
    kind: 'RoleAssignment',
    metadata: { name: `a${count++}`, namespace },
    spec: {
      principalId: 'anna',
      principalType: 'User',
      roleDefinitionName: 'Reader',
      scope,
      scopeIncarnation: 'this',
      ...spec,
    },
  }) as RoleAssignment
const principals = (name: string, memberIds: string[], namespace = HOME) =>
  ({ apiVersion: 'v', kind: 'PrincipalGroup', metadata: { name, namespace }, spec: { memberIds } }) as never

/** Role and holders of each binding, in the namespace of the group. */
function holders(assignments: RoleAssignment[], groups: PrincipalGroup[] = [], inGroup = true) {
  const clusterRoles = new Map(['Reader', 'Owner'].map((name) => [name, name.toLowerCase()]))
  const input = { boundary, group: inGroup ? group : undefined, assignments, groups, clusterRoles, now: NOW }
  const { bindings, nextEnd } = projectedBindings(input)
  const subjects = bindings.map((binding) => (binding.subjects as { name: string }[]).map(({ name }) => name))
  return { roles: bindings.map(({ metadata }) => metadata.name), subjects, bindings, nextEnd }
}

const CASES: [title: string, assignments: RoleAssignment[], names: string[]][] = [
  ['at the group', [assignment(GROUP)], ['p:anna']],
  ['at the boundary', [assignment(BOUNDARY)], ['p:anna']],
  ['at the root, from the platform', [assignment('/', {}, SYSTEM_NAMESPACE)], ['p:anna']],
  ['of several principals', [assignment(GROUP, { principalId: 'ben' }), assignment(BOUNDARY)], ['p:anna', 'p:ben']],
  ['of one principal twice', [assignment(GROUP), assignment(BOUNDARY)], ['p:anna']],
  ['of this life of the group', [assignment(GROUP, { scopeIncarnation: 'this' })], ['p:anna']],
  ['not of no life', [assignment(GROUP, { scopeIncarnation: undefined } as never)], []],
  ['not of an earlier life', [assignment(GROUP, { scopeIncarnation: 'earlier' })], []],
  ['not at the root, from a boundary', [assignment('/')], []],
  ['not at the boundary, from the platform', [assignment(BOUNDARY, {}, SYSTEM_NAMESPACE)], []],
  ['not at another group', [assignment(`${BOUNDARY}/resourcegroups/orders-2`)], []],
  ['not at a resource', [assignment(`${GROUP}/resources/vectorclusters/mine`)], []],
  ['not of a role that is not projected', [assignment(GROUP, { roleDefinitionName: 'Custom' })], []],
  ['not from the moment of its end', [assignment(GROUP, { expiresAt: '2026-11-01T10:00:00Z' })], []],
  ['not of an end that cannot be read', [assignment(GROUP, { expiresAt: 'soon' })], []],
]

describe('the projection of assignments', () => {
  for (const [title, assignments, names] of CASES) {
    it(`binds an assignment ${title}`, () => expect(holders(assignments).subjects.flat()).to.deep.equal(names))
  }

  it('stands in the namespace of the group, or in that of the boundary', () => {
    const namespaceOf = (inGroup: boolean) =>
      holders([assignment(BOUNDARY)], [], inGroup).bindings.map(({ metadata }) => metadata.namespace)
    expect(namespaceOf(true)).to.deep.equal([groupNamespace(B, 'orders')])
    expect(namespaceOf(false)).to.deep.equal([HOME])
    expect(holders([assignment(GROUP)], [], false).bindings).to.deep.equal([])
  })

  it('expands groups of groups, also in a circle, from the boundary and the platform only', () => {
    const groups = [
      principals('outer', ['inner', 'ben', 'shared']),
      principals('inner', ['outer', 'anna']),
      principals('shared', ['cleo'], SYSTEM_NAMESPACE),
      principals('inner', ['mallory'], 'boundary-of-somebody-else'),
    ]
    const given = assignment(BOUNDARY, { principalId: 'outer', principalType: 'Group' })
    expect(holders([given], groups).subjects).to.deep.equal([['p:anna', 'p:ben', 'p:cleo']])
  })

  it('writes no binding for nobody', () => {
    const given = assignment(BOUNDARY, { principalId: 'empty', principalType: 'Group' })
    expect(holders([given], [principals('empty', [])]).roles).to.deep.equal([])
  })

  it('tells when the first of them ends', () => {
    const ends = ['2026-11-01T12:00:00Z', '2026-11-01T11:00:00Z'].map((expiresAt) => assignment(GROUP, { expiresAt }))
    expect(holders([assignment(BOUNDARY), ...ends]).nextEnd).to.equal(Date.parse('2026-11-01T11:00:00Z'))
    expect(holders([assignment(BOUNDARY)]).nextEnd).to.equal(undefined)
  })
})
