import { randomUUID } from 'node:crypto'
import { SETTINGS_NAME } from '../../src/contracts/platformbackups/names.ts'
import { BOUNDARY_LABEL, GROUP_LABEL, LEAVING_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { Gate } from '../../src/core/refusals.ts'
import { PlatformApp } from '../../src/crds/apps.ts'
import { BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../src/crds/invitations.ts'
import { AccountBucket, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { PlatformTenant } from '../../src/crds/rbac.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { RolloutExecution } from '../../src/crds/rollouts.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import { SsoConnection } from '../../src/crds/sso.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace as namespaces } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'

/** Two boundaries' worth of callers, and a group of one of them. */
export type RefusalWorld = {
  boundaryId: string
  group: string
  admin: KubeClient
  /** Owner of the boundary. */
  owner: KubeClient
  /** May write everything in the group but read no credentials of it. */
  contributor: KubeClient
  /** Holds nothing. */
  nobody: KubeClient
  /** Nobody's token. */
  stranger: KubeClient
  /** Holds every verb of Kubernetes on the kinds of access control, and no role of ours. */
  clerk: KubeClient
  until: <T>(what: string, look: () => Promise<T>) => Promise<NonNullable<T>>
}

export type RefusedWrite = {
  write: (world: RefusalWorld) => Promise<unknown>
  status: number
  /** Part of the sentence, where it is ours. */
  says?: string
}

/** What a write of this list is for; undefined for gates that other tests provoke. */
export function gateKey(code: string, gate: Gate): string | undefined {
  if (gate.by === 'policy') return `${gate.name} ${gate.kind}`
  return gate.by === 'server' || gate.by === 'schema' || gate.by === 'authorizer' ? code : undefined
}

const home = ({ boundaryId }: RefusalWorld) => boundaryNamespace(boundaryId)
const space = ({ boundaryId, group }: RefusalWorld) => groupNamespace(boundaryId, group)
const named = (kind: AnyKind, namespace: string | undefined, name: string, spec: object, metadata: object = {}) =>
  ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata },
    spec,
  }) as KubeObject
const dryRun = { dryRun: true }
/** Changes the settings of the platform's own backups, which are there from the first start on. */
function backupSettings(spec: object, says?: string): RefusedWrite {
  return {
    write: ({ admin }) =>
      admin.mergePatch(
        PlatformBackupSettings.resource,
        { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME },
        { spec },
        dryRun,
      ),
    status: 422,
    ...(says !== undefined && { says }),
  }
}
/** The app that uses a source. */
const HOLDER = 'follows-it'

async function statusOf({ admin }: RefusalWorld, kind: AnyKind, namespace: string | undefined, name: string) {
  const { status } = await admin.get<KubeObject & { status?: Record<string, unknown> }>(kind.resource, {
    namespace,
    name,
  })
  return status ?? {}
}

/** Waits until the object is held, and deletes it. */
async function removeHeld(world: RefusalWorld, kind: AnyKind, namespace: string | undefined, name: string) {
  const isHeld = async () => ((await statusOf(world, kind, namespace, name)).heldBy as string[] | undefined)?.length
  await world.until(`${name} is held`, isHeld)
  return world.admin.remove(kind.resource, { namespace, name })
}

/** A kind that only administrators and REST write. */
const closed = (kind: AnyKind, spec: object): RefusedWrite => ({
  write: ({ clerk }) =>
    clerk.create(
      kind.resource,
      named(kind, kind.placement === 'cluster' ? undefined : SYSTEM_NAMESPACE, randomUUID(), spec),
      dryRun,
    ),
  status: 403,
  says: 'written through the REST API',
})

const LINK = { email: 'ada@example.org', tokenHash: '0'.repeat(64), expiresAt: '2100-01-01T00:00:00Z' }

export const REFUSED_WRITES: Readonly<Record<string, RefusedWrite>> = {
  MODEL_BINDING_FAILED: {
    write: (world) =>
      world.owner.create(VectorCluster.resource, named(VectorCluster, space(world), 'x', { replicas: 'many' }), dryRun),
    status: 422,
    says: 'spec.replicas',
  },
  'invalid-schedule': backupSettings({ schedule: { cron: 'at noon' } }, 'spec.schedule.cron'),
  'invalid-target': backupSettings(
    { target: { bucket: 'backups', endpoint: 'ftp://store.test', secretName: 'platform-backup-target-a' } },
    'spec.target.endpoint',
  ),
  'invalid-cluster': backupSettings(
    { suspendedArchives: [{ namespace: '', name: 'orders' }] },
    'spec.suspendedArchives',
  ),
  BAD_REQUEST: {
    write: (world) =>
      world.owner.create(VectorCluster.resource, named(VectorCluster, space(world), 'x', { replicas: 100 }), dryRun),
    status: 422,
    says: 'spec.replicas',
  },
  BODY_TOO_LARGE: {
    write: (world) => {
      const spec = { tags: { large: 'x'.repeat(4_000_000) } }
      return world.owner.create(VectorCluster.resource, named(VectorCluster, space(world), 'x', spec), dryRun)
    },
    status: 413,
  },
  UNAUTHORIZED: {
    write: (world) => world.stranger.remove(VectorCluster.resource, { namespace: space(world), name: 'x' }),
    status: 401,
  },
  FORBIDDEN: {
    write: (world) => world.nobody.remove(VectorCluster.resource, { namespace: space(world), name: 'x' }),
    status: 403,
  },
  NOT_FOUND: {
    write: (world) =>
      world.owner.mergePatch(VectorCluster.resource, { namespace: space(world), name: 'x' }, { spec: { replicas: 1 } }),
    status: 404,
  },
  ALREADY_EXISTS: {
    write: (world) => world.owner.create(ResourceGroup.resource, named(ResourceGroup, home(world), world.group, {})),
    status: 409,
  },
  CONFLICT: {
    write: (world) => {
      const ref = { namespace: home(world), name: world.group }
      return world.owner.mergePatch(ResourceGroup.resource, ref, { spec: { tags: {} } }, { resourceVersion: '1' })
    },
    status: 409,
  },
  'freehold-placement VectorCluster': {
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
  },
  'freehold-kind-deletions ObjectStorageAccount': {
    write: async (world) => {
      const name = `held${randomUUID().slice(0, 8)}`
      const { admin } = world
      await admin.create(ObjectStorageAccount.resource, named(ObjectStorageAccount, space(world), name, {}))
      const bucket = { accountName: name, bucketName: 'one', forceDelete: true }
      await admin.create(AccountBucket.resource, named(AccountBucket, space(world), `${name}.one`, bucket))
      return removeHeld(world, ObjectStorageAccount, space(world), name)
    },
    status: 403,
    says: 'accountbuckets/',
  },
  'freehold-kind-deletions Boundary': {
    write: (world) => removeHeld(world, Boundary, undefined, world.boundaryId),
    status: 403,
    says: 'resourcegroups/',
  },
  'freehold-kind-deletions ResourceGroup': {
    write: async (world) => {
      const gold = named(RelationalCluster, space(world), 'gold', { deletionProtection: true })
      await world.admin.create(RelationalCluster.resource, gold)
      return removeHeld(world, ResourceGroup, home(world), world.group)
    },
    status: 403,
    says: 'relationalclusters/gold',
  },
  'freehold-deletion-protection RelationalCluster': {
    write: async (world) => {
      const silver = named(RelationalCluster, space(world), 'silver', { deletionProtection: true, running: false })
      await world.admin.create(RelationalCluster.resource, silver)
      return world.owner.remove(RelationalCluster.resource, { namespace: space(world), name: 'silver' })
    },
    status: 403,
    says: 'protected from deletion',
  },
  'freehold-kind-deletions SecretVault': {
    write: async (world) => {
      const vault = `held${randomUUID().slice(0, 8)}`
      const ref = { namespace: space(world), name: vault }
      const spec = { enablePurgeProtection: true }
      await world.admin.create(SecretVault.resource, named(SecretVault, space(world), vault, spec))
      await world.admin.create(VaultEntry.resource, entryOf(world, vault))
      const secretCount = async () => (await statusOf(world, SecretVault, space(world), vault)).secretCount
      await world.until('the vault tells of its secret', secretCount)
      return world.admin.remove(SecretVault.resource, ref)
    },
    status: 403,
    says: 'under purge protection',
  },
  'freehold-kind-writes VaultEntry': {
    write: async (world) => {
      const entry = entryOf(world, 'none', { isManaged: true })
      await world.admin.create(VaultEntry.resource, entry)
      const ref = { namespace: space(world), name: entry.metadata.name }
      return world.owner.mergePatch(VaultEntry.resource, ref, { spec: { state: 'Deleted' } })
    },
    status: 403,
    says: 'the platform itself writes this secret',
  },
  'freehold-kind-writes RolloutExecution': {
    write: ({ admin }) => {
      const spec = { plan: 'none', requests: { resumeAt: '2026-01-01T00:00:00Z' } }
      const rollout = named(RolloutExecution, SYSTEM_NAMESPACE, randomUUID(), spec)
      return admin.create(RolloutExecution.resource, rollout, dryRun)
    },
    status: 403,
    says: 'only a paused rollout is resumed',
  },
  'freehold-protected-fields Boundary': {
    write: ({ owner, boundaryId }) =>
      owner.mergePatch(Boundary.resource, { name: boundaryId }, { spec: { tenantId: randomUUID() } }),
    status: 403,
    says: 'the tenantId of a Boundary',
  },
  'freehold-protected-fields DeploymentSource': {
    write: async (world) => {
      const name = await makeSource(world)
      const install = { step: 'Install', stateHash: '0'.repeat(64), expiresAt: '2099-01-01T00:00:00Z' }
      const ref = { namespace: home(world), name }
      return world.owner.mergePatch(DeploymentSource.resource, ref, { spec: { install } })
    },
    status: 403,
    says: 'the install of a DeploymentSource',
  },
  'freehold-kind-writes BlueprintTemplate': {
    write: (world) => {
      const spec = { slug: 'shop', content: 'format: 1', sourceId: randomUUID() }
      return world.owner.create(BlueprintTemplate.resource, named(BlueprintTemplate, home(world), 'shop', spec), dryRun)
    },
    status: 403,
    says: 'only the platform writes what comes from a source',
  },
  'freehold-kind-deletions BlueprintTemplate': {
    write: async (world) => {
      const [name, sourceId] = [`source.${randomUUID()}`, randomUUID()]
      const spec = { slug: 'shop', content: 'format: 1', sourceId }
      await world.admin.create(BlueprintTemplate.resource, named(BlueprintTemplate, home(world), name, spec))
      return world.owner.remove(BlueprintTemplate.resource, { namespace: home(world), name }, dryRun)
    },
    status: 403,
    says: 'goes with its file in the repository',
  },
  'freehold-kind-deletions DeploymentSource': {
    write: async (world) => {
      const ref = { namespace: home(world), name: await makeSource(world) }
      const { resource } = DeploymentSource
      const code = { sourceKind: 'Repository', repositoryUrl: 'https://git.example.com/x.git' }
      const app = named(PlatformApp, space(world), HOLDER, { ...code, deploymentSourceId: ref.name })
      await world.admin.create(PlatformApp.resource, app)
      await world.until('the source is held', async () => {
        const { status } = await world.admin.get<KubeObject & { status?: { heldBy?: string[] } }>(resource, ref)
        return (status?.heldBy ?? []).length > 0
      })
      return world.admin.remove(resource, ref, dryRun)
    },
    status: 403,
    says: HOLDER,
  },
  'freehold-boundaryprojections-beside-platformclusters BoundaryProjection': {
    write: async (world) => {
      const { items } = await world.admin.list<PlatformCluster & { [key: string]: unknown }>(PlatformCluster.resource)
      const name = items.find(({ spec }) => spec.isPlatform)?.metadata.name ?? ''
      const projection = named(BoundaryProjection, home(world), name, { clusterId: name })
      return world.admin.create(BoundaryProjection.resource, projection, dryRun)
    },
    status: 403,
    says: 'project it on another one',
  },
  'freehold-serverlessfunctions-beside-functionnamespaces ServerlessFunction': {
    write: async (world) => {
      const around = named(FunctionNamespace, space(world), 'known', { runtime: 'nodejs', managedIdentity: true })
      await world.admin.create(FunctionNamespace.resource, around)
      const spec = { namespaceName: 'known', functionName: 'more', handler: 'index' }
      const more = named(ServerlessFunction, space(world), 'known.more', spec)
      const create = () => world.contributor.create(ServerlessFunction.resource, more, dryRun)
      // Policies hear of it a moment after it is stored.
      await world.until('the policy knows the namespace', async () => {
        try {
          await create()
          return undefined
        } catch {
          return true
        }
      })
      return create()
    },
    status: 403,
    says: 'managedIdentity gives',
  },
  'freehold-kind-deletions PlatformCluster': {
    write: async (world) => {
      const { items } = await world.admin.list<PlatformCluster & { [key: string]: unknown }>(PlatformCluster.resource)
      const name = items.find(({ spec }) => spec.isPlatform)?.metadata.name ?? ''
      return world.admin.remove(PlatformCluster.resource, { name }, dryRun)
    },
    status: 403,
    says: 'the cluster that the platform runs on',
  },
  'freehold-iam-writers SsoConnection': closed(SsoConnection, {}),
  'freehold-iam-writers MemberInvitation': {
    ...closed(MemberInvitation, {}),
    write: (world) =>
      world.clerk.create(
        MemberInvitation.resource,
        named(MemberInvitation, home(world), randomUUID(), {
          ...LINK,
          roleDefinitionName: 'Reader',
          scope: `/boundaries/${world.boundaryId}`,
          invitedBy: randomUUID(),
          hasAccount: false,
        }),
        dryRun,
      ),
  },
  'freehold-iam-writers PlatformUser': closed(PlatformUser, { userName: 'ada', email: 'ada@example.org' }),
  'freehold-iam-writers PlatformTenant': closed(PlatformTenant, { displayName: 'Ada' }),
  'freehold-iam-writers PasswordReset': closed(PasswordReset, { ...LINK, userId: randomUUID() }),
}

async function makeSource(world: RefusalWorld): Promise<string> {
  const name = randomUUID()
  const credentials = { secretName: 'nothing-here' }
  const spec = { provider: 'Git', displayName: 'Held', baseUrl: 'https://git.example.com/x.git', credentials }
  await world.admin.create(DeploymentSource.resource, named(DeploymentSource, home(world), name, spec))
  return name
}

function entryOf(world: RefusalWorld, vaultName: string, given: object = {}): KubeObject {
  const history = {
    life: 1,
    lastVersion: 1,
    versions: [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }],
    softDelete: true,
    purgeProtection: true,
    ...given,
  }
  const spec = { vaultName, secretName: 'Password', history }
  return named(VaultEntry, space(world), `${vaultName}-${randomUUID().replaceAll('-', '').slice(0, 20)}`, spec)
}
