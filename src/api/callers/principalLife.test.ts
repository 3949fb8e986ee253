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
import { type StructuralSchema, structuralSchema } from '../../crds/structural.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { createAccess } from './access.ts'

const B1 = '11111111-1111-4111-8111-111111111111'
const SCOPE = `/boundaries/${B1}`
const HOME = boundaryNamespace(B1)
const [ID, PERSON, TEAM] = [randomUUID(), randomUUID(), randomUUID()]

/** Every kind of principal, with its namespace and spec. */
const PRINCIPALS: [string, AnyKind, string, string, object][] = [
  ['a user', PlatformUser, 'User', SYSTEM_NAMESPACE, { userName: 'ada' }],
  ['a service account', PlatformClient, 'ServicePrincipal', SYSTEM_NAMESPACE, { displayName: 'ci', secretName: 's' }],
  ['a group of the boundary', PrincipalGroup, 'Group', HOME, { displayName: 'Team', memberIds: [PERSON] }],
  ['a group of the platform', PrincipalGroup, 'Group', SYSTEM_NAMESPACE, { displayName: 'All', memberIds: [PERSON] }],
]

/** References to a principal: the field, the objects that refer to ID, and whether they grant or deny access. */
type Place = [place: string, field: string, (type: string) => [AnyKind, string, object][], isGain: boolean]
const PLACES: Place[] = [
  [
    'a role assignment',
    'RoleAssignment.principalId',
    (principalType) => [
      [RoleAssignment, 'a', { principalId: ID, principalType, roleDefinitionName: 'Reader', scope: SCOPE }],
    ],
    true,
  ],
  [
    'the members of a group',
    'PrincipalGroup.memberIds',
    () => [
      [PrincipalGroup, TEAM, { displayName: 'Outer', memberIds: [ID] }],
      [RoleAssignment, 'a', { principalId: TEAM, principalType: 'Group', roleDefinitionName: 'Reader', scope: SCOPE }],
    ],
    true,
  ],
  [
    'the exclusions of a deny',
    'DenyAssignment.excludedPrincipalIds',
    () => [
      [RoleAssignment, 'a', { principalId: PERSON, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [RoleAssignment, 'b', { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [DenyAssignment, 'd', { isEveryone: true, excludedPrincipalIds: [ID], actions: ['*'], scope: SCOPE }],
    ],
    true,
  ],
  [
    'a deny',
    'DenyAssignment.principalId',
    (principalType) => [
      [RoleAssignment, 'a', { principalId: PERSON, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [RoleAssignment, 'b', { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: SCOPE }],
      [DenyAssignment, 'd', { principalId: ID, principalType, actions: ['*'], scope: SCOPE }],
    ],
    false,
  ],
  [
    'the initial owner of a boundary',
    'Boundary.initialOwner.principalId',
    // A group cannot be an initial owner.
    (principalType) =>
      principalType === 'Group'
        ? []
        : [[Boundary, B1, { displayName: 'Shop', initialOwner: { principalId: ID, principalType } }]],
    true,
  ],
]

const FOR_THE_RECORD = 'it is informational and grants nothing'
/** Fields that refer to principals but grant nothing by themselves, or are tested elsewhere. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'JitRequest.principalId': 'src/controllers/jit.test.ts',
  'JitRequest.decidedBy': FOR_THE_RECORD,
  'BlueprintExecution.startedBy': 'src/controllers/blueprints/rights.test.ts',
  'MemberInvitation.invitedBy': 'src/api/invitations/lapse.test.ts',
  'MemberInvitation.accountId': 'the id of an account that is created for the invitation',
  'MemberInvitation.acceptedBy': FOR_THE_RECORD,
  'PasswordReset.userId': 'src/api/passwords/passwords.test.ts',
  'IdpBinding.groupId': 'src/controllers/bindings.test.ts',
  'ObjectAccessKey.managedIdentityId': 'the id is derived from the uid of a resource, which is never reused',
  'BugReport.reportedBy': 'it only limits the reports of a principal',
  ...Object.fromEntries(
    [
      ...['ComponentInstall.startedBy', 'RetentionRun.startedBy', 'RolloutExecution.startedBy'],
      ...['RolloutExecution.requests.by', 'PlatformBackupSettings.suspendedArchives.suspendedBy'],
      ...['ServerlessFunction.source.uploadedBy', 'VaultEntry.history.updatedBy'],
      'VaultEntry.history.versions.createdBy',
    ].map((field) => [field, FOR_THE_RECORD]),
  ),
}

/** Names and descriptions of fields that contain the id of a principal. */
const NAMED = /(^|\.)(by|\w*By|\w*[pP]rincipalIds?|memberIds|userId|accountId|groupId|managedIdentityId)$/
const SAID =
  /\b(ids? of|principal that) (the |a |an )?(principals?|persons?|people|account|service account|group|managed identity|PrincipalGroup|PlatformUser)\b/i

/** @returns the fields of a spec that refer to principals, by name or description */
function principalFields({ kind, spec }: AnyKind): string[] {
  const found: string[] = []
  const collect = (node: StructuralSchema, path: string) => {
    const { type, description = '', properties = {}, items } = node as Described
    const isText = type === 'string' || (type === 'array' && items?.type === 'string')
    if (isText && (NAMED.test(path) || SAID.test(description))) found.push(`${kind}.${path}`)
    for (const [name, part] of Object.entries(properties)) collect(part, path === '' ? name : `${path}.${name}`)
    if (items !== undefined) collect(items, path)
  }
  collect(structuralSchema(spec, kind), '')
  return [...new Set(found)]
}
type Described = {
  type?: string
  description?: string
  properties?: Record<string, StructuralSchema>
  items?: StructuralSchema & { type?: string }
}

describe('a principal created again with the same id', () => {
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

  function put(kind: AnyKind, name: string, spec: object, namespace?: string, incarnation = 'first', named?: object) {
    version += 1
    const annotations = {
      [INCARNATION_ANNOTATION]: incarnation,
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

  it('is tested for each field that refers to principals', () => {
    const covered = [...PLACES.map(([, field]) => field), ...Object.keys(EXCEPTIONS)]
    expect(KINDS.flatMap(principalFields).sort()).to.deep.equal(covered.sort())
  })

  for (const [principal, kind, type, namespace, spec] of PRINCIPALS) {
    for (const [place, , records, isGain] of PLACES) {
      if (records(type).length === 0) continue
      it(`is not affected by ${place} of its former incarnation: ${principal}`, () => {
        const may = () => access.isAllowed(kind === PrincipalGroup ? PERSON : ID, 'boundaries/read', SCOPE)
        put(kind, ID, spec, namespace)
        for (const [record, name, content] of records(type)) {
          const named = JSON.stringify(content).includes(ID) && name !== 'b' ? { [ID]: 'first' } : undefined
          put(record, name, content, record.placement === 'cluster' ? undefined : HOME, 'first', named)
        }
        expect(may(), 'the first life').to.equal(isGain)
        caches.get(kind.resource).observeRemoval({ namespace, name: ID }, undefined)
        put(kind, ID, spec, namespace, 'second')
        expect(may(), 'the second life').to.equal(!isGain)
      })
    }
  }
})
