import { randomUUID } from 'node:crypto'
import { FUNCTION_RUNTIMES } from '../../../src/contracts/functions.ts'
import { entryName } from '../../../src/contracts/vaults/names.ts'
import { BOUNDARY_LABEL, GROUP_LABEL, LEAVING_LABEL } from '../../../src/core/labels.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import { PlatformApp } from '../../../src/crds/apps.ts'
import { BlueprintTemplate } from '../../../src/crds/blueprints.ts'
import { Boundary } from '../../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../../src/crds/clusters.ts'
import { FunctionNamespace, ServerlessFunction } from '../../../src/crds/functions.ts'
import { AccountBucket, ObjectStorageAccount } from '../../../src/crds/objectstorage.ts'
import { BoundaryProjection } from '../../../src/crds/projections.ts'
import { RelationalCluster } from '../../../src/crds/relational.ts'
import { ResourceGroup } from '../../../src/crds/resourcegroups.ts'
import { RolloutExecution } from '../../../src/crds/rollouts.ts'
import { DeploymentSource } from '../../../src/crds/sources.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { VectorCluster } from '../../../src/crds/vector.ts'
import { namespace as namespaces } from '../../../src/kube/builtin.ts'
import {
  boundaryPath,
  dryRun,
  groupPath,
  home,
  named,
  type RefusalWorld,
  type RefusedWrite,
  refused,
  resourcePath,
  space,
  statusOf,
  untilHeld,
} from './write.ts'

const numbered = (count: number, key: string, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]))
/** More than a database may use, with every field within its bounds. */
const LARGE = { parameters: numbered(100, 'work.m', 'x'.repeat(1_024)), tags: numbered(50, 't', '物'.repeat(200)) }
const unique = (stem: string) => `${stem}${randomUUID().slice(0, 8)}`
/** The app that uses a source. */
const HOLDER = 'follows-it'

async function makeSource(world: RefusalWorld): Promise<string> {
  const name = randomUUID()
  const credentials = { secretName: 'nothing-here' }
  const spec = { provider: 'Git', displayName: 'Held', baseUrl: 'https://git.example.com/x.git', credentials }
  await world.admin.create(DeploymentSource.resource, named(DeploymentSource, home(world), name, spec))
  return name
}

/** A vault that holds a secret. */
async function makeVault(world: RefusalWorld, vaultSpec: object, history: object): Promise<string> {
  const vault = unique('held')
  const kept = {
    ...{ life: 1, lastVersion: 1, versions: [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }] },
    ...{ softDelete: true, purgeProtection: true },
  }
  const spec = { vaultName: vault, secretName: 'Password', history: { ...kept, ...history } }
  await world.admin.create(SecretVault.resource, named(SecretVault, space(world), vault, vaultSpec))
  await world.admin.create(VaultEntry.resource, named(VaultEntry, space(world), entryName(vault, 'Password'), spec))
  await world.until('the vault reports its secret', async () => {
    return (await statusOf(world, SecretVault, space(world), vault)).secretCount
  })
  return vault
}

async function platformCluster({ admin }: RefusalWorld): Promise<string> {
  const { items } = await admin.list<PlatformCluster & KubeObject>(PlatformCluster.resource)
  return items.find(({ spec }) => spec.isPlatform)?.metadata.name ?? ''
}

/** A rollout that has ended, since there is no such plan. */
async function endedRollout(world: RefusalWorld): Promise<string> {
  const name = randomUUID()
  const rollout = named(RolloutExecution, SYSTEM_NAMESPACE, name, { plan: 'none' })
  await world.admin.create(RolloutExecution.resource, rollout)
  await world.until('the rollout is over', async () => {
    return (await statusOf(world, RolloutExecution, SYSTEM_NAMESPACE, name)).state === 'Failed'
  })
  return name
}
const rolloutPath = (name: string, request: string) => `/lifecycle/rollouts/executions/${name}/${request}`
const PAUSED = 'it takes a rollout that is paused there: src/api/lifecycle/rollouts'

const ENDED = { runtime: 'nodejs', runtimeVersion: FUNCTION_RUNTIMES.nodejs.ended[0] ?? '' }

/** Refusals by policies for one kind. */
export const BY_POLICIES: Readonly<Record<string, RefusedWrite>> = {
  'freehold-kind-deletions ObjectStorageAccount': refused({
    prepare: async (world) => {
      const name = unique('held')
      const bucket = { accountName: name, bucketName: 'one', forceDelete: true }
      await world.admin.create(ObjectStorageAccount.resource, named(ObjectStorageAccount, space(world), name, {}))
      await world.admin.create(AccountBucket.resource, named(AccountBucket, space(world), `${name}.one`, bucket))
      await untilHeld(world, ObjectStorageAccount, space(world), name)
      return name
    },
    write: (world, name) => world.admin.remove(ObjectStorageAccount.resource, { namespace: space(world), name }),
    status: 403,
    says: 'accountbuckets/',
    rest: {
      IN_USE: (world, name) => ({ method: 'DELETE', path: resourcePath(world, 'objectstorageaccounts', name) }),
    },
  }),
  'freehold-kind-deletions Boundary': refused({
    prepare: (world) => untilHeld(world, Boundary, undefined, world.boundaryId),
    write: ({ admin, boundaryId: name }) => admin.remove(Boundary.resource, { name }),
    status: 403,
    says: 'resourcegroups/',
    rest: { BOUNDARY_NOT_EMPTY: (world) => ({ method: 'DELETE', path: boundaryPath(world) }) },
  }),
  'freehold-kind-deletions ResourceGroup': refused({
    prepare: async (world) => {
      const gold = named(RelationalCluster, space(world), 'gold', { deletionProtection: true })
      await world.admin.create(RelationalCluster.resource, gold)
      await untilHeld(world, ResourceGroup, home(world), world.group)
    },
    write: (world) => world.admin.remove(ResourceGroup.resource, { namespace: home(world), name: world.group }),
    status: 403,
    says: 'relationalclusters/gold',
    rest: { DELETION_PROTECTED: (world) => ({ method: 'DELETE', path: groupPath(world) }) },
  }),
  'freehold-size RelationalCluster': refused({
    write: (world) =>
      world.owner.create(RelationalCluster.resource, named(RelationalCluster, space(world), 'large', LARGE), dryRun),
    status: 403,
    says: 'bytes of at most',
    rest: {
      BODY_TOO_LARGE: (world) => ({
        method: 'POST',
        path: resourcePath(world, 'relationalclusters', 'large'),
        body: LARGE,
      }),
    },
  }),
  'freehold-deletion-protection RelationalCluster': refused({
    prepare: (world) => {
      const silver = named(RelationalCluster, space(world), 'silver', { deletionProtection: true, running: false })
      return world.admin.create(RelationalCluster.resource, silver)
    },
    write: (world) => world.owner.remove(RelationalCluster.resource, { namespace: space(world), name: 'silver' }),
    status: 403,
    says: 'protected from deletion',
    rest: {
      DELETION_PROTECTED: (world) => ({
        method: 'DELETE',
        path: resourcePath(world, 'relationalclusters', 'silver'),
        by: 'owner',
      }),
    },
  }),
  'freehold-kind-deletions SecretVault': refused({
    prepare: (world) => makeVault(world, { enablePurgeProtection: true }, {}),
    write: (world, name) => world.admin.remove(SecretVault.resource, { namespace: space(world), name }),
    status: 403,
    says: 'under purge protection',
    rest: {
      DELETION_PROTECTED: (world, vault) => ({ method: 'DELETE', path: resourcePath(world, 'secretvaults', vault) }),
    },
  }),
  'freehold-kind-writes VaultEntry': refused({
    prepare: (world) => makeVault(world, {}, { purgeProtection: false, isManaged: true }),
    write: (world, vault) => {
      const ref = { namespace: space(world), name: entryName(vault, 'Password') }
      return world.owner.mergePatch(VaultEntry.resource, ref, { spec: { state: 'Deleted' } })
    },
    status: 403,
    says: 'the platform itself writes this secret',
    rest: {
      MANAGED_SECRET: (world, vault) => ({
        method: 'DELETE',
        path: resourcePath(world, 'secretvaults', vault, 'secrets', 'Password'),
        by: 'owner',
      }),
    },
  }),
  'freehold-kind-states RolloutExecution': refused({
    prepare: endedRollout,
    write: ({ admin }, name) => {
      const spec = { requests: { resumeAt: '2026-01-01T00:00:00Z' } }
      return admin.mergePatch(RolloutExecution.resource, { namespace: SYSTEM_NAMESPACE, name }, { spec }, dryRun)
    },
    status: 403,
    says: 'only a paused rollout can be resumed',
    rest: {
      NotPaused: (_, name) => ({ method: 'POST', path: rolloutPath(name, 'resume') }),
      AlreadyFinished: (_, name) => ({ method: 'POST', path: rolloutPath(name, 'cancel') }),
      NothingToRollBack: (_, name) => ({ method: 'POST', path: rolloutPath(name, 'rollback') }),
      NotPausedOnPlatformDrift: (_, name) => ({
        method: 'POST',
        path: rolloutPath(name, 'revert-platform-drift'),
        body: { acknowledge: true },
      }),
    },
    elsewhere: { SnapshotRequired: PAUSED, PlatformDriftPending: PAUSED },
    release: ({ admin }, name) => admin.remove(RolloutExecution.resource, { namespace: SYSTEM_NAMESPACE, name }),
  }),
  'freehold-kind-writes FunctionNamespace': refused({
    write: (world) => {
      const old = named(FunctionNamespace, space(world), 'old', ENDED)
      return world.owner.create(FunctionNamespace.resource, old, dryRun)
    },
    status: 403,
    says: 'runtimeVersion must be one that the platform still has',
    rest: {
      RUNTIME_ENDED: (world) => ({
        method: 'POST',
        path: resourcePath(world, 'functionnamespaces', 'old'),
        body: ENDED,
        by: 'owner',
      }),
    },
  }),
  'freehold-protected-fields Boundary': refused({
    write: ({ owner, boundaryId }) =>
      owner.mergePatch(Boundary.resource, { name: boundaryId }, { spec: { tenantId: randomUUID() } }),
    status: 403,
    says: 'the tenantId of a Boundary',
    rest: {
      TENANT_NOT_FOUND: (world) => ({
        method: 'POST',
        path: `${boundaryPath(world)}/tenant`,
        body: { tenantId: randomUUID() },
      }),
      tenant_not_found: (world) => ({
        method: 'POST',
        path: `${boundaryPath(world)}/providers/authorization/tenant-move`,
        body: { tenantId: randomUUID() },
      }),
    },
  }),
  'freehold-protected-fields DeploymentSource': refused({
    prepare: makeSource,
    write: (world, name) => {
      const install = { step: 'Install', stateHash: '0'.repeat(64), expiresAt: '2099-01-01T00:00:00Z' }
      return world.owner.mergePatch(DeploymentSource.resource, { namespace: home(world), name }, { spec: { install } })
    },
    status: 403,
    says: 'the install of a DeploymentSource',
    rest: {
      'state-invalid': (world) => ({
        method: 'GET',
        path: `${boundaryPath(world)}/sources/github/finalize?installation_id=1&state=forged`,
        by: 'owner',
      }),
    },
  }),
  'freehold-kind-writes BlueprintTemplate': refused({
    write: (world) => {
      const spec = { slug: 'shop', content: 'format: 1', sourceId: randomUUID() }
      return world.owner.create(BlueprintTemplate.resource, named(BlueprintTemplate, home(world), 'shop', spec), dryRun)
    },
    status: 403,
    says: 'only the platform writes what comes from a source',
    rest: {},
    elsewhere: { NOT_OWNED: 'a template that is written by REST is one of the boundary, and its body names no source' },
  }),
  'freehold-kind-deletions BlueprintTemplate': refused({
    prepare: async (world) => {
      const name = `source.${randomUUID()}`
      const spec = { slug: 'shop', content: 'format: 1', sourceId: randomUUID() }
      await world.admin.create(BlueprintTemplate.resource, named(BlueprintTemplate, home(world), name, spec))
      return name
    },
    write: (world, name) => world.owner.remove(BlueprintTemplate.resource, { namespace: home(world), name }, dryRun),
    status: 403,
    says: 'is deleted with its file in the repository',
    rest: {
      // Kept by the platform, as others are by their source.
      NOT_OWNED: (world) => ({
        method: 'DELETE',
        path: `${boundaryPath(world)}/resources/blueprints/templates/vector-database`,
        by: 'owner',
      }),
    },
  }),
  'freehold-kind-deletions DeploymentSource': refused({
    prepare: async (world) => {
      const name = await makeSource(world)
      const code = { sourceKind: 'Repository', repositoryUrl: 'https://git.example.com/x.git' }
      const app = named(PlatformApp, space(world), HOLDER, { ...code, deploymentSourceId: name })
      await world.admin.create(PlatformApp.resource, app)
      await untilHeld(world, DeploymentSource, home(world), name)
      return name
    },
    write: (world, name) => world.admin.remove(DeploymentSource.resource, { namespace: home(world), name }, dryRun),
    status: 403,
    says: HOLDER,
    rest: { 'in-use': (world, name) => ({ method: 'DELETE', path: `${boundaryPath(world)}/sources/git/${name}` }) },
  }),
  'freehold-boundaryprojections-beside-platformclusters BoundaryProjection': refused({
    prepare: platformCluster,
    write: (world, name) => {
      const projection = named(BoundaryProjection, home(world), name, { clusterId: name })
      return world.admin.create(BoundaryProjection.resource, projection, dryRun)
    },
    status: 403,
    says: 'project it on another one',
    rest: {
      INVALID_STATE: (world, clusterId) => ({
        method: 'POST',
        path: `${boundaryPath(world)}/projections`,
        body: { clusterId },
      }),
    },
  }),
  'freehold-kind-writes ServerlessFunction': refused({
    prepare: async (world) => {
      const around = named(FunctionNamespace, space(world), 'known', { runtime: 'nodejs', managedIdentity: true })
      await world.admin.create(FunctionNamespace.resource, around)
      await world.until('REST knows the namespace', async () => {
        const path = resourcePath(world, 'functionnamespaces', 'known')
        return (await world.rest({ method: 'GET', path })).status === 200
      })
    },
    write: (world) => {
      const names = { namespaceName: 'known', functionName: 'more' }
      const spec = { ...names, handler: 'index', namespaceSecrets: ['managedidentities'] }
      return world.contributor.create(
        ServerlessFunction.resource,
        named(ServerlessFunction, space(world), 'known.more', spec),
        dryRun,
      )
    },
    status: 403,
    says: 'namespaceSecrets has what you may not read',
    rest: {
      FORBIDDEN: (world) => ({
        method: 'POST',
        path: resourcePath(world, 'functionnamespaces', 'known', 'functions', 'more'),
        body: { handler: 'index' },
        by: 'contributor',
      }),
    },
  }),
  'freehold-kind-deletions PlatformCluster': refused({
    prepare: platformCluster,
    write: (world, name) => world.admin.remove(PlatformCluster.resource, { name }, dryRun),
    status: 403,
    says: 'the cluster that the platform runs on',
    rest: { 'cluster-is-local': (_, name) => ({ method: 'DELETE', path: `/clusters/${name}` }) },
  }),
  'freehold-placement VectorCluster': refused({
    write: async (world) => {
      const name = groupNamespace(world.boundaryId, 'leaving')
      const labels = { [BOUNDARY_LABEL]: world.boundaryId, [GROUP_LABEL]: 'leaving', [LEAVING_LABEL]: 'true' }
      await world.admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
      try {
        return await world.admin.create(VectorCluster.resource, named(VectorCluster, name, 'x', {}), dryRun)
      } finally {
        await world.admin.mergePatch(namespaces, { name }, { metadata: { labels: { [BOUNDARY_LABEL]: null } } })
        await world.admin.remove(namespaces, { name })
      }
    },
    status: 403,
    says: 'is being deleted',
    rest: {},
    elsewhere: { INVALID_STATE: 'REST reads the group itself: "is placed in no group that is going", for both' },
  }),
}
