import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  BOUNDARY,
  type CollectionCase,
  collectionSuite,
  OWNER,
  person,
  type Server,
} from '../../test/suites/collectionSuite.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { BlueprintSource } from '../crds/blueprintSources.ts'
import { BlueprintExecution } from '../crds/blueprints.ts'
import { Boundary } from '../crds/boundaries.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { PlatformUser } from '../crds/identity.ts'
import { MemberInvitation } from '../crds/invitations.ts'
import { ComponentInstall, PlatformComponent } from '../crds/lifecycle.ts'
import { ManagedIdentity } from '../crds/managedidentities.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../crds/objectstorage.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PlatformTenant,
  PrincipalGroup,
  RoleAssignment,
} from '../crds/rbac.ts'
import { RetentionRun } from '../crds/registry.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { RelationalSnapshot } from '../crds/relationalSnapshots.ts'
import { RolloutExecution, RolloutPlan } from '../crds/rollouts.ts'
import { IdpBinding } from '../crds/sso.ts'

const B = `/boundaries/${BOUNDARY}`
const RG = `${B}/resourcegroups/shop/resources`
const IAM = `${B}/providers/authorization`
const SHOP = groupNamespace(BOUNDARY, 'shop')
const uuid = (digit: number) => `5555555${digit}-5555-4555-8555-555555555555`
const [TWO, THREE, ANNA, BERT, TENANT, TEAM] = [1, 2, 3, 4, 5, 6].map(uuid) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const inBoundary = { kind: Boundary, name: BOUNDARY }

const people = (server: Server) => {
  server.put(PlatformUser, ANNA, person('anna'), SYSTEM_NAMESPACE)
  server.put(PlatformUser, BERT, person('bert'), SYSTEM_NAMESPACE)
}
const account = (server: Server) => server.put(ObjectStorageAccount, 'media', {}, SHOP)
const keys = (spec: object) => (server: Server) => {
  for (const digit of [7, 8]) server.put(ObjectAccessKey, uuid(digit), { accountName: 'media', ...spec }, SHOP)
}
const IDENTITY = uuid(9)
const identity = (server: Server) =>
  server.put(ManagedIdentity, IDENTITY, { resourceName: 'web', resourceType: 'apps', resourceUid: 'uid-web' }, SHOP)

const STEP = { component: 'db', collection: 'vectorclusters', resourceName: 'shop', objectName: 'shop', body: '{}' }
const EXECUTION = {
  ...{ slug: 'search', blueprintName: 'Search', version: '1.0.0', name: 'shop', resourceGroup: 'shop' },
  ...{ clusterId: TWO, parameters: {}, steps: [{ ...STEP, manifest: '{}' }] },
}

const CASES: readonly CollectionCase[] = [
  {
    kind: BoundaryTrust,
    path: '/admin/boundary-trusts',
    world: (server) => {
      server.boundary(TWO, { displayName: 'Two' })
      server.boundary(THREE, { displayName: 'Three' })
    },
    items: {
      bodies: [
        { boundaryId: BOUNDARY, trustedBoundaryId: TWO, actions: ['boundaries/read'] },
        {
          boundaryId: BOUNDARY,
          trustedBoundaryId: THREE,
          actions: ['boundaries/read'],
          expiresAt: '2099-01-01T00:00:00Z',
        },
      ],
    },
  },
  {
    kind: RetentionRun,
    path: '/v1/registries/retention/runs',
    items: {
      seed: (server) => {
        server.put(RetentionRun, TWO, {}, SYSTEM_NAMESPACE)
        server.put(RetentionRun, THREE, { dryRun: true, trigger: 'Scheduled' }, SYSTEM_NAMESPACE)
      },
    },
  },
  {
    kind: BlueprintExecution,
    path: `${B}/resources/blueprints/deploys`,
    items: {
      seed: (server) => {
        for (const id of [TWO, THREE])
          server.put(BlueprintExecution, id, { ...EXECUTION, startedBy: id }, boundaryNamespace(BOUNDARY))
      },
    },
  },
  {
    kind: BlueprintSource,
    path: `${B}/resources/blueprints/sources`,
    owner: inBoundary,
    items: {
      bodies: [
        { repositoryUrl: 'https://git.example.com/acme/shop.git' },
        { repositoryUrl: 'https://git.example.com/acme/shop.git', path: '/more' },
      ],
    },
    patch: { body: { enabled: false, ref: null }, shows: { enabled: false, ref: 'main', status: 'Disabled' } },
    nullKeeps: true,
  },
  {
    kind: BoundaryProjection,
    path: `${B}/projections`,
    world: (server) => {
      for (const id of [TWO, THREE])
        server.put(PlatformCluster, id, { displayName: id, domain: 'far.example.org', isPlatform: false })
    },
    owner: inBoundary,
    items: { bodies: [{ clusterId: TWO }, { clusterId: THREE }] },
    patch: { body: { namespaces: null }, shows: { namespaces: null } },
  },
  {
    kind: DenyAssignment,
    path: `${IAM}/denyAssignments`,
    world: people,
    owner: inBoundary,
    items: {
      bodies: [
        { principalId: ANNA, actions: ['vectorcluster/delete'] },
        { principalId: BERT, actions: ['vectorcluster/delete'], scope: `${B}/resourcegroups/shop` },
      ],
    },
  },
  {
    kind: RoleAssignment,
    path: `${IAM}/roleAssignments`,
    world: people,
    owner: inBoundary,
    items: {
      bodies: [
        { principalId: ANNA, roleDefinitionName: 'Reader' },
        { principalId: BERT, roleDefinitionName: 'Contributor', scope: `${B}/resourcegroups/shop` },
      ],
    },
  },
  {
    kind: PrincipalGroup,
    path: `${IAM}/groups`,
    world: people,
    owner: inBoundary,
    items: { bodies: [{ displayName: 'Builders', memberIds: [ANNA] }, { displayName: 'Readers' }] },
    patch: { body: { description: 'Who builds' }, shows: { description: 'Who builds' } },
  },
  {
    kind: PlatformTenant,
    path: '/admin/tenants',
    items: { bodies: [{ displayName: 'North' }, { displayName: 'South' }] },
  },
  {
    kind: JitRequest,
    path: `${IAM}/jitRequests`,
    owner: inBoundary,
    stays: true,
    items: {
      bodies: [
        { roleDefinitionName: 'Reader', scope: B, justification: 'An incident' },
        { roleDefinitionName: 'Contributor', scope: B, justification: 'Another' },
      ],
    },
  },
  {
    kind: IdpBinding,
    path: `/admin/tenants/${TENANT}/idp-bindings`,
    world: (server) => {
      server.put(PlatformTenant, TENANT, { displayName: 'North' })
      server.put(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [] }, boundaryNamespace(BOUNDARY))
    },
    items: {
      bodies: [
        { issuer: 'https://one.example.test', claimValue: 'builders', groupId: TEAM },
        { issuer: 'https://two.example.test', claimValue: 'readers', groupId: TEAM },
      ],
    },
  },
  {
    kind: MemberInvitation,
    path: `${IAM}/invitations`,
    missing: 'not_found',
    stays: true,
    // Seeded, because POST checks in an order of its own and sends mail.
    items: {
      seed: (server) => {
        for (const [digit, email] of [
          [7, 'ada@example.test'],
          [8, 'bob@example.test'],
        ] as const) {
          const link = {
            tokenHash: 'a'.repeat(64),
            expiresAt: '2099-01-01T00:00:00Z',
            lastSentAt: '2026-01-01T00:00:00Z',
          }
          const spec = { email, roleDefinitionName: 'Reader', scope: B, invitedBy: OWNER, hasAccount: false, ...link }
          server.put(MemberInvitation, uuid(digit), spec, boundaryNamespace(BOUNDARY))
        }
      },
    },
  },
  {
    kind: ManagedIdentity,
    path: `${B}/resourcegroups/shop/providers/identity/managedidentities`,
    keyOf: ({ resourceUid }) => String(resourceUid),
    items: {
      seed: (server) => {
        for (const name of ['web', 'worker']) {
          const spec = { resourceName: name, resourceType: 'apps', resourceUid: `uid-${name}` }
          server.put(ManagedIdentity, uuid(name.length), spec, SHOP)
        }
      },
    },
  },
  {
    kind: AccountBucket,
    path: `${RG}/objectstorageaccounts/media/buckets`,
    world: account,
    owner: { kind: ObjectStorageAccount, namespace: SHOP, name: 'media' },
    keyOf: ({ name }) => String(name),
    items: {
      bodies: [
        { name: 'images', tags: { team: 'search' } },
        { name: 'videos', versioning: 'Enabled' },
      ],
    },
    patch: { body: { tags: { team: 'shop' } }, shows: { tags: { team: 'shop' } } },
  },
  {
    kind: ObjectAccessKey,
    path: `${RG}/objectstorageaccounts/media/accesskeys`,
    world: account,
    wellFormed: { status: 'Inactive' },
    items: { seed: keys({}) },
  },
  {
    kind: ObjectAccessKey,
    path: `${B}/resourcegroups/shop/managedidentities/${IDENTITY}/objectaccesskeys`,
    world: (server) => {
      account(server)
      identity(server)
    },
    wellFormed: { status: 'Inactive' },
    items: { seed: keys({ managedIdentityId: IDENTITY }) },
  },
  {
    kind: RelationalSnapshot,
    path: `${RG}/relationalclusters/orders/snapshots`,
    world: (server) => server.put(RelationalCluster, 'orders', {}, SHOP),
    items: {
      seed: (server) => {
        for (const digit of [7, 8]) {
          server.put(RelationalSnapshot, uuid(digit), { clusterName: 'orders', name: `before-${digit}` }, SHOP)
        }
      },
    },
  },
  {
    kind: ServerlessFunction,
    path: `${RG}/functionnamespaces/shop/functions`,
    keyOf: ({ name }) => String(name),
    world: (server) => server.put(FunctionNamespace, 'shop', { runtime: 'nodejs' }, SHOP),
    items: {
      seed: (server) => {
        for (const functionName of ['first', 'second']) {
          const spec = { namespaceName: 'shop', functionName, handler: 'index' }
          server.put(ServerlessFunction, functionObjectName('shop', functionName), spec, SHOP)
        }
      },
    },
  },
  {
    kind: ComponentInstall,
    path: '/lifecycle/installs',
    items: {
      seed: (server) => {
        for (const digit of [7, 8])
          server.put(ComponentInstall, uuid(digit), { component: `part-${digit}` }, SYSTEM_NAMESPACE)
      },
    },
  },
  {
    kind: RolloutPlan,
    path: '/lifecycle/rollouts/plans',
    missing: 'PlanNotFound',
    world: (server) => {
      for (const name of ['cnpg', 'velero'])
        server.put(PlatformComponent, name, { title: name, kind: 'ThirdPartyChart' }, SYSTEM_NAMESPACE)
    },
    items: { bodies: [{ targetVersions: { cnpg: '1.1.0' } }, { targetVersions: { velero: '2.0.0', cnpg: null } }] },
  },
  {
    kind: RolloutExecution,
    path: '/lifecycle/rollouts/executions',
    items: {
      seed: (server) => {
        for (const digit of [7, 8]) server.put(RolloutExecution, uuid(digit), { plan: uuid(digit) }, SYSTEM_NAMESPACE)
      },
    },
  },
]

describe('collections', () => {
  it('all have a case here', () => {
    const root = import.meta.dirname
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /(?<!\.test)\.ts$/.test(path),
    )
    const declared = files.flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      return [...text.matchAll(/\bcollection\(([A-Z]\w+), \{/g)].map(([, kind]) => kind)
    })
    expect(declared.length).to.be.greaterThan(10)
    expect([...new Set(declared)].sort()).to.deep.equal([...new Set(CASES.map(({ kind }) => kind.kind))].sort())
  })

  for (const given of CASES) collectionSuite(given)
})
