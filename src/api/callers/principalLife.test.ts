import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import {
  INCARNATION_ANNOTATION,
  PRINCIPAL_INCARNATIONS_ANNOTATION,
  SCOPE_INCARNATION_ANNOTATION,
} from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { KINDS } from '../../crds/index.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { createAccess } from './access.ts'

const B1 = '11111111-1111-4111-8111-111111111111'
const SCOPE = `/boundaries/${B1}`
const HOME = boundaryNamespace(B1)
const [ID, PERSON, TEAM] = [randomUUID(), randomUUID(), randomUUID()]

/** Every kind of principal, with the namespace that it stands in and its record. */
const PRINCIPALS: [string, AnyKind, string, string, object][] = [
  ['a person', PlatformUser, 'User', SYSTEM_NAMESPACE, { userName: 'ada' }],
  ['a service account', PlatformClient, 'ServicePrincipal', SYSTEM_NAMESPACE, { displayName: 'ci', secretName: 's' }],
  ['a group of the boundary', PrincipalGroup, 'Group', HOME, { displayName: 'Team', memberIds: [PERSON] }],
  ['a group of the platform', PrincipalGroup, 'Group', SYSTEM_NAMESPACE, { displayName: 'All', memberIds: [PERSON] }],
]

/** Every place that names a principal: what stands there for ID, and what follows for whoever it is. */
const PLACES: [string, (type: string) => [AnyKind, string, object][], boolean][] = [
  [
    'an assignment',
    (principalType) => [
      [RoleAssignment, 'a', { principalId: ID, principalType, roleDefinitionName: 'Reader', scope: SCOPE }],
    ],
    true,
  ],
  [
    'the members of a group',
    () => [
      [PrincipalGroup, TEAM, { displayName: 'Outer', memberIds: [ID] }],
      [RoleAssignment, 'a', { principalId: TEAM, principalType: 'Group', roleDefinitionName: 'Reader', scope: SCOPE }],
    ],
    true,
  ],
  [
    'whom a deny spares',
    () => [
      [RoleAssignment, 'a', { principalId: PERSON, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [RoleAssignment, 'b', { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [DenyAssignment, 'd', { isEveryone: true, excludedPrincipalIds: [ID], actions: ['*'], scope: SCOPE }],
    ],
    true,
  ],
  [
    'whom a deny binds',
    (principalType) => [
      [RoleAssignment, 'a', { principalId: PERSON, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [RoleAssignment, 'b', { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [DenyAssignment, 'd', { principalId: ID, principalType, actions: ['*'], scope: SCOPE }],
    ],
    false,
  ],
]

describe('a principal made anew under an old id', () => {
  let version = 0
  let caches: CacheSet
  let access: ReturnType<typeof createAccess>
  beforeEach(() => {
    caches = new CacheSet({ client: new FakeKubeClient() })
    for (const kind of KINDS) caches.add(kind.resource)
    access = createAccess({ caches, clock: systemClock, log: silentLog })
    for (const { name, ...spec } of BUILT_IN_ROLES) put(RoleDefinition, name, spec)
    put(Boundary, B1, { displayName: 'Shop' })
  })
  afterEach(() => access.stop())

  function put(kind: AnyKind, name: string, spec: object, namespace?: string, life = 'first', named?: object) {
    version += 1
    const annotations = {
      [INCARNATION_ANNOTATION]: life,
      [SCOPE_INCARNATION_ANNOTATION]: 'first',
      ...(named === undefined ? {} : { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify(named) }),
    }
    const metadata = {
      name,
      namespace,
      uid: randomUUID(),
      resourceVersion: String(version),
      generation: 1,
      annotations,
    }
    const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: kind.spec.parse(spec) }
    caches.get(kind.resource).observeWrite(object as never)
  }

  for (const [principal, kind, type, namespace, spec] of PRINCIPALS) {
    for (const [place, records, isGain] of PLACES) {
      it(`has nothing of what ${place} said of ${principal}`, () => {
        const may = () => access.isAllowed(kind === PrincipalGroup ? PERSON : ID, 'boundaries/read', SCOPE)
        put(kind, ID, spec, namespace)
        for (const [record, name, content] of records(type)) {
          const named = JSON.stringify(content).includes(ID) && name !== 'b' ? { [ID]: 'first' } : undefined
          put(record, name, content, HOME, 'first', named)
        }
        expect(may(), 'the first life').to.equal(isGain)
        caches.get(kind.resource).observeRemoval({ namespace, name: ID }, undefined)
        put(kind, ID, spec, namespace, 'second')
        expect(may(), 'the second life').to.equal(!isGain)
      })
    }
  }
})
