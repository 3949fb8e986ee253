import { AppRuntime } from './appruntimes.ts'
import { PlatformApp } from './apps.ts'
import { BlueprintSource } from './blueprintSources.ts'
import { BlueprintExecution, BlueprintTemplate } from './blueprints.ts'
import { Boundary } from './boundaries.ts'
import { BugReport } from './bugreports.ts'
import { PlatformCluster } from './clusters.ts'
import { ContainerInstance } from './containerinstances.ts'
import { BoundaryCrosslink } from './crosslink.ts'
import type { AnyKind } from './define.ts'
import { DeploymentRecord } from './deployments.ts'
import { FunctionNamespace, ServerlessFunction } from './functions.ts'
import { PlatformClient, PlatformUser } from './identity.ts'
import { MemberInvitation, PasswordReset } from './invitations.ts'
import { PlatformJob } from './jobs.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from './lifecycle.ts'
import { ManagedIdentity } from './managedidentities.ts'
import { PlatformAlert } from './monitoring.ts'
import { NameClaim } from './nameclaims.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from './objectstorage.ts'
import { ComputePlan } from './plans.ts'
import { PlatformBackupSettings } from './platformBackups.ts'
import { BoundaryProjection } from './projections.ts'
import { QuotaLedger } from './quotas.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PlatformTenant,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from './rbac.ts'
import { RegistryPin, RegistryRepository, RetentionRun } from './registry.ts'
import { RelationalCluster } from './relational.ts'
import { RelationalSnapshot } from './relationalSnapshots.ts'
import { ResourceGroup } from './resourcegroups.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from './rollouts.ts'
import { DeploymentSource } from './sources.ts'
import { SqlInstance } from './sql.ts'
import { IdpBinding, SsoConnection } from './sso.ts'
import { StaticWebApp } from './staticwebapps.ts'
import { SecretVault, VaultEntry } from './vaults.ts'
import { VectorCluster } from './vector.ts'

/** Every kind of the platform. Code over all kinds (CRDs, rights, policies, docs, tests) iterates over this list. */
export const KINDS: readonly AnyKind[] = [
  Boundary,
  ResourceGroup,
  ComputePlan,
  PlatformCluster,
  BoundaryProjection,
  BoundaryCrosslink,
  NameClaim,
  BugReport,
  QuotaLedger,
  RoleDefinition,
  RoleAssignment,
  PrincipalGroup,
  DenyAssignment,
  JitRequest,
  BoundaryTrust,
  PlatformTenant,
  PlatformUser,
  PlatformClient,
  MemberInvitation,
  PasswordReset,
  IdpBinding,
  SsoConnection,
  ManagedIdentity,
  DeploymentSource,
  BlueprintSource,
  BlueprintTemplate,
  BlueprintExecution,
  VectorCluster,
  // Vaults before entries: a vault that must not be deleted keeps its entries.
  SecretVault,
  VaultEntry,
  RelationalCluster,
  RelationalSnapshot,
  SqlInstance,
  PlatformJob,
  ContainerInstance,
  FunctionNamespace,
  ServerlessFunction,
  AppRuntime,
  PlatformApp,
  StaticWebApp,
  DeploymentRecord,
  ObjectStorageAccount,
  AccountBucket,
  ObjectAccessKey,
  RegistryPin,
  RegistryRepository,
  RetentionRun,
  PlatformAlert,
  PlatformComponent,
  ComponentRelease,
  ComponentInstall,
  PlatformBackupSettings,
  RolloutPlan,
  RolloutExecution,
  PlatformDriftScan,
]

/**
 * Kinds of which a boundary may hold a limited number of objects: all in its namespaces, except the platform's own
 * ledger and the alerts that are reported to it.
 */
export const COUNT_LIMITED_KINDS: readonly AnyKind[] = KINDS.filter(
  (kind) =>
    ['boundary', 'boundaryOrPlatform', 'group'].includes(kind.placement) &&
    kind !== QuotaLedger &&
    kind !== PlatformAlert,
)

/**
 * Kinds whose objects are resources of a group, each a collection of the interface; lists of resources show these.
 * Parts of a resource (the buckets of an account) are not among them.
 */
export const RESOURCE_KINDS: readonly AnyKind[] = KINDS.filter(
  ({ placement, actions, isPart }) => placement === 'group' && actions !== undefined && isPart !== true,
)

/** What quotas count: resources, and those parts of them that run. */
export const QUOTA_COUNTED_KINDS: readonly AnyKind[] = KINDS.filter(
  (kind) => RESOURCE_KINDS.includes(kind) || (kind.isPart === true && kind.sized !== undefined),
)
