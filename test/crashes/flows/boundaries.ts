import { entryName } from '../../../src/contracts/vaults/names.ts'
import { managedIdentityController } from '../../../src/controllers/managedidentities.ts'
import { Boundary } from '../../../src/crds/boundaries.ts'
import { ManagedIdentity } from '../../../src/crds/managedidentities.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../../src/crds/objectstorage.ts'
import { PrincipalGroup, RoleAssignment } from '../../../src/crds/rbac.ts'
import { RelationalCluster } from '../../../src/crds/relational.ts'
import { ResourceGroup } from '../../../src/crds/resourcegroups.ts'
import { SqlInstance } from '../../../src/crds/sql.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { VectorCluster } from '../../../src/crds/vector.ts'
import { namespace } from '../../../src/kube/builtin.ts'
import { StandInApp } from '../../make/workload.ts'
import type { Flow, Step } from '../flow.ts'
import { BOUNDARY_ID, GROUP, HOME, OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const PERSON = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11'
const OTHER = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a12'
const TEAM = '33333333-3333-4333-8333-333333333333'
const ID = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'
const SCOPE = `/boundaries/${BOUNDARY_ID}`

const makeBoundary: Step = {
  user: 'makes a boundary',
  act: (world) =>
    world.make(Boundary, BOUNDARY_ID, {
      displayName: 'Shop',
      initialOwner: { principalId: PERSON, principalType: 'User' },
    }),
  until: (world) => world.isReady(Boundary, BOUNDARY_ID),
}
const makeGroup: Step = {
  user: 'makes a resource group',
  act: (world) => world.make(ResourceGroup, GROUP, { quota: { cpu: '20', memory: '80Gi' } }, OUTER),
  until: (world) => world.isReady(ResourceGroup, GROUP, OUTER),
}
const makeDatabase: Step = {
  user: 'makes a vector database',
  act: (world) => world.make(VectorCluster, 'products', { computePlan: 'vector-small' }),
  until: (world) => world.isReady(VectorCluster, 'products'),
}

/** One of everything that a group can hold, with contents. */
const fill: Step = {
  user: 'makes one of everything',
  async act(world) {
    await world.make(SqlInstance, 'books', { engine: 'MariaDb', computePlan: 'sql-small' })
    await world.make(RelationalCluster, 'orders', { computePlan: 'relational-small' })
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'hunter2' })
    const valueFrom = { secretName: 'incoming', key: 'value' }
    await world.make(VaultEntry, entryName('safe', 'Password'), {
      vaultName: 'safe',
      secretName: 'Password',
      valueFrom,
    })
    await world.make(ObjectStorageAccount, 'media', {})
    await world.make(AccountBucket, 'media.one', { accountName: 'media', bucketName: 'one' })
    await world.make(ObjectAccessKey, 'uploader', { accountName: 'media' })
    await world.make(StandInApp, 'web', {})
    const app = await world.find(StandInApp.resource, 'web')
    const spec = { resourceName: 'web', resourceType: 'apps', resourceUid: app?.metadata.uid ?? '' }
    await world.make(ManagedIdentity, ID, spec)
  },
  until: async (world) =>
    (await world.isReady(SqlInstance, 'books')) &&
    (await world.isReady(RelationalCluster, 'orders')) &&
    (await world.isReady(ObjectAccessKey, 'uploader')) &&
    (await world.isReady(ManagedIdentity, ID)) &&
    (await world.isReady(VaultEntry, entryName('safe', 'Password'))),
}

const isGone = (world: World, name: string) => world.find(namespace, name).then((found) => found === undefined)

async function isBlocked(world: World): Promise<boolean> {
  const boundary = (await world.find(Boundary.resource, BOUNDARY_ID)) as Boundary | undefined
  return boundary?.status?.phase === 'DeletionBlocked'
}

/** What remains outside the API server. */
function leftovers({ engines }: World): object {
  return { users: engines.store.users.size, buckets: [...engines.store.buckets.keys()] }
}

const everything = [
  'boundary',
  'resourcegroup',
  'roleassignment',
  'managedidentity',
  'vectorcluster',
  'relationalcluster',
  'relationalsnapshot',
  'sqlinstance',
  'secretvault',
  'vaultentry',
  'objectstorageaccount',
  'accountbucket',
  'objectaccesskey',
]
const common = {
  hasGroup: false,
  instead: [managedIdentityController([StandInApp])],
  facts: leftovers,
}

export const boundaryFlows: readonly Flow[] = [
  {
    title: 'a platform starts for the first time, and creates its roles, plans, tenant and cluster',
    isFirstStart: true,
    hasGroup: false,
    controllers: ['boundary'],
    steps: [makeBoundary],
    facts: () => ({}),
  },
  {
    ...common,
    title: 'a boundary with an owner and a group is created, and limits of the group are changed and removed',
    controllers: ['boundary', 'resourcegroup'],
    steps: [
      makeBoundary,
      makeGroup,
      {
        user: 'changes the limits',
        act: (world) => world.change(ResourceGroup, GROUP, { quota: { cpu: '40' } }, OUTER),
      },
      {
        user: 'lifts them',
        act: (world) => world.change(ResourceGroup, GROUP, { quota: { cpu: null, memory: null } }, OUTER),
        until: (world) => world.isReady(ResourceGroup, GROUP, OUTER),
      },
    ],
  },
  {
    ...common,
    title: 'a group of a boundary gets a role and two members, and loses all of them',
    controllers: ['boundary', 'resourcegroup', 'roleassignment'],
    given: [makeBoundary, makeGroup],
    steps: [
      {
        user: 'makes the team and gives it a role',
        async act(world) {
          await world.make(PrincipalGroup, TEAM, { displayName: 'Team', memberIds: [PERSON] }, OUTER)
          const spec = { principalId: TEAM, principalType: 'Group', roleDefinitionName: 'Reader', scope: SCOPE }
          await world.make(RoleAssignment, 'team', spec, OUTER)
        },
        until: (world) => world.isReady(RoleAssignment, 'team', OUTER),
      },
      {
        user: 'adds a member',
        act: (world) => world.change(PrincipalGroup, TEAM, { memberIds: [PERSON, OTHER] }, OUTER),
      },
      { user: 'takes the role away', act: (world) => world.remove(RoleAssignment, 'team', OUTER) },
    ],
  },
  {
    ...common,
    title: 'a resource group is deleted with one resource of each kind',
    controllers: everything,
    given: [makeBoundary, makeGroup, makeDatabase, fill],
    steps: [
      {
        user: 'deletes the group',
        act: (world) => world.remove(ResourceGroup, GROUP, OUTER),
        until: async (world) => (await world.isGone(ResourceGroup, GROUP, OUTER)) && (await isGone(world, HOME)),
      },
    ],
  },
  {
    ...common,
    title: 'a boundary is deleted with a group and a database, and created again',
    controllers: ['boundary', 'resourcegroup', 'vectorcluster'],
    given: [makeBoundary, makeGroup, makeDatabase],
    steps: [
      {
        user: 'deletes the boundary, which waits for its group',
        act: (world) => world.remove(Boundary, BOUNDARY_ID),
        until: isBlocked,
      },
      {
        user: 'deletes the group',
        act: (world) => world.remove(ResourceGroup, GROUP, OUTER),
        until: (world) => isGone(world, OUTER),
      },
      makeBoundary,
    ],
  },
]
