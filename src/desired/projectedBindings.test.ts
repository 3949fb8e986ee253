import { expect } from 'chai'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { projectedBindings, projectedGrants } from './projectedBindings.ts'

const B = '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b'
const HOME = boundaryNamespace(B)
const [BOUNDARY, GROUP] = [`/boundaries/${B}`, `/boundaries/${B}/resourcegroups/orders`]
const OTHER = '/boundaries/6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1c'
const annotations = { [INCARNATION_ANNOTATION]: 'this' }
const BOUNDARY_OBJECT = { apiVersion: 'v', kind: 'Boundary', metadata: { name: B, annotations } }
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

/** Role and subjects of each binding in the namespace of the group. */
function holders(
  assignments: RoleAssignment[],
  groups: PrincipalGroup[] = [],
  inGroup = true,
  boundary = BOUNDARY_OBJECT,
) {
  const clusterRoles = new Map(['Reader', 'Owner'].map((name) => [name, name.toLowerCase()]))
  const grants = projectedGrants({ assignments, groups, clusterRoles })
  const input = { boundary, group: inGroup ? group : undefined, grants, now: NOW }
  const { bindings, nextEnd } = projectedBindings(input)
  const subjects = bindings.map((binding) => (binding.subjects as { name: string }[]).map(({ name }) => name))
  return { roles: bindings.map(({ metadata }) => metadata.name), subjects, bindings, nextEnd }
}

const CASES: [title: string, assignments: RoleAssignment[], names: string[]][] = [
  ['includes an assignment at the group', [assignment(GROUP)], ['p:anna']],
  ['includes an assignment at the boundary', [assignment(BOUNDARY)], ['p:anna']],
  ['includes an assignment of the platform at the root', [assignment('/', {}, SYSTEM_NAMESPACE)], ['p:anna']],
  [
    'includes assignments of several principals',
    [assignment(GROUP, { principalId: 'ben' }), assignment(BOUNDARY)],
    ['p:anna', 'p:ben'],
  ],
  ['includes a principal with two assignments once', [assignment(GROUP), assignment(BOUNDARY)], ['p:anna']],
  [
    'includes an assignment of this incarnation of the group',
    [assignment(GROUP, { scopeIncarnation: 'this' })],
    ['p:anna'],
  ],
  ['excludes an assignment without an incarnation', [assignment(GROUP, { scopeIncarnation: undefined } as never)], []],
  ['excludes an assignment of an earlier incarnation', [assignment(GROUP, { scopeIncarnation: 'earlier' })], []],
  ['excludes an assignment of a boundary at the root', [assignment('/')], []],
  ['excludes an assignment of the platform at the boundary', [assignment(BOUNDARY, {}, SYSTEM_NAMESPACE)], []],
  ['excludes an assignment at another group', [assignment(`${BOUNDARY}/resourcegroups/orders-2`)], []],
  [
    'excludes an assignment of this boundary at another boundary',
    [assignment(OTHER), assignment(`${OTHER}/resourcegroups/orders`)],
    [],
  ],
  ['excludes an assignment whose scope is no scope', [assignment(`${BOUNDARY}/`)], []],
  ['excludes an assignment at a resource', [assignment(`${GROUP}/resources/vectorclusters/mine`)], []],
  ['excludes an assignment of an unprojected role', [assignment(GROUP, { roleDefinitionName: 'Custom' })], []],
  ['excludes an assignment from its expiry on', [assignment(GROUP, { expiresAt: '2026-11-01T10:00:00Z' })], []],
  ['excludes an assignment with an invalid expiry', [assignment(GROUP, { expiresAt: 'soon' })], []],
]

describe('projectedBindings', () => {
  for (const [title, assignments, names] of CASES) {
    it(title, () => expect(holders(assignments).subjects.flat()).to.deep.equal(names))
  }

  it('binds the principals, by their names at the API server, to the ClusterRole of the role', () => {
    const apiGroup = 'rbac.authorization.k8s.io'
    expect(holders([assignment(GROUP)]).bindings).to.deep.equal([
      {
        apiVersion: `${apiGroup}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'reader', namespace: groupNamespace(B, 'orders') },
        roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
        subjects: [{ kind: 'User', apiGroup, name: 'p:anna' }],
      },
    ])
  })

  it('excludes an assignment without an incarnation from a boundary that has none yet', () => {
    const unborn = { ...BOUNDARY_OBJECT, metadata: { name: B, annotations: {} as typeof annotations } }
    const given = assignment(BOUNDARY, { scopeIncarnation: undefined } as never)
    expect(holders([given], [], false, unborn).bindings).to.deep.equal([])
  })

  it('creates the bindings in the group namespace or in the boundary namespace', () => {
    const namespaceOf = (inGroup: boolean) =>
      holders([assignment(BOUNDARY)], [], inGroup).bindings.map(({ metadata }) => metadata.namespace)
    expect(namespaceOf(true)).to.deep.equal([groupNamespace(B, 'orders')])
    expect(namespaceOf(false)).to.deep.equal([HOME])
    expect(holders([assignment(GROUP)], [], false).bindings).to.deep.equal([])
  })

  it('expands nested and circular groups of the boundary and the platform only', () => {
    const groups = [
      principals('outer', ['inner', 'ben', 'shared']),
      principals('inner', ['outer', 'anna']),
      principals('shared', ['cleo'], SYSTEM_NAMESPACE),
      principals('inner', ['mallory'], 'boundary-of-somebody-else'),
    ]
    const given = assignment(BOUNDARY, { principalId: 'outer', principalType: 'Group' })
    expect(holders([given], groups).subjects).to.deep.equal([['p:anna', 'p:ben', 'p:cleo']])
  })

  it('creates no binding without subjects', () => {
    const given = assignment(BOUNDARY, { principalId: 'empty', principalType: 'Group' })
    expect(holders([given], [principals('empty', [])]).roles).to.deep.equal([])
  })

  it('returns the first expiry', () => {
    const ends = ['2026-11-01T12:00:00Z', '2026-11-01T11:00:00Z'].map((expiresAt) => assignment(GROUP, { expiresAt }))
    expect(holders([assignment(BOUNDARY), ...ends]).nextEnd).to.equal(Date.parse('2026-11-01T11:00:00Z'))
    expect(holders([assignment(BOUNDARY)]).nextEnd).to.equal(undefined)
  })
})
