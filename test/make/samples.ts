import { randomUUID } from 'node:crypto'
import { functionObjectName } from '../../src/contracts/functions.ts'
import { SETTINGS_NAME } from '../../src/contracts/platformbackups/names.ts'
import { entryName } from '../../src/contracts/vaults/names.ts'
import { DEFAULT_BLUEPRINTS } from '../../src/crds/defaultBlueprints.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { RULE_CASES } from '../cases/ruleCases.ts'

/** What a sample refers to, which must exist. */
export type SampleWorld = { boundaryId: string; ownerId: string; memberId: string }

/** A spec of any kind that the API server accepts: from a case of its rules, if one refers to no other objects. */
export function sampleSpec(kind: AnyKind, { boundaryId, ownerId, memberId }: SampleWorld): object {
  const scope = `/boundaries/${boundaryId}`
  const principal = { principalId: memberId, principalType: 'ServicePrincipal' }
  const specs: Record<string, object> = {
    RoleAssignment: { ...principal, roleDefinitionName: 'Reader', scope },
    DenyAssignment: { ...principal, actions: ['jobs/write'], scope },
    JitRequest: {
      ...principal,
      principalId: ownerId,
      roleDefinitionName: 'Reader',
      scope,
      justification: 'a fault',
    },
    // About an existing object, and with a distant end: the controller ends any other.
    MemberInvitation: {
      ...{ email: 'a@example.com', roleDefinitionName: 'Reader', scope, invitedBy: ownerId, hasAccount: false },
      ...{ expiresAt: '2100-01-01T00:00:00Z', tokenHash: '0'.repeat(64) },
    },
    PrincipalGroup: { displayName: `Team ${randomUUID()}` },
    PlatformTenant: { displayName: 'Tenant' },
    // The cluster that the platform runs on already exists.
    PlatformCluster: { displayName: 'Far', domain: 'far.example.com' },
    QuotaLedger: { grants: {} },
    PlatformUser: { userName: 'mallory' },
    PlatformClient: { displayName: 'Mallory', secretName: 'x' },
    RoleDefinition: { displayName: `Role ${randomUUID()}`, actions: ['jobs/read'], assignableScopes: ['/'] },
    BlueprintTemplate: { slug: 'vector-database', content: DEFAULT_BLUEPRINTS[0] },
    VaultEntry: { vaultName: 'shop', secretName: 'Key' },
    RegistryPin: { repository: `${boundaryId}/shop/jobs/report`, expiresAt: '2100-01-01T00:00:00Z' },
    RegistryRepository: { repository: `${boundaryId}/shop/jobs/report`, announcedAt: '2026-01-01T00:00:00Z' },
    // Without a version: an installed one cannot be deleted.
    PlatformComponent: {
      ...{ title: 'Shop', kind: 'ThirdPartyChart', namespace: 'shop' },
      chart: { name: 'shop', url: 'oci://charts.example.com/shop' },
    },
    // As in examples/91-platformbackups: there is one object, and each test writes the same to it.
    PlatformBackupSettings: { schedule: { cron: '0 1 * * *', ttlHours: 720 } },
  }
  const found = specs[kind.kind] ?? RULE_CASES.find((one) => one.kind === kind && one.refused.length === 0)?.next
  if (found === undefined) throw new Error(`There is no spec of ${kind.kind}: add a case to test/cases/rules.`)
  return found
}

/** A name that the API server accepts for this spec; a new one each time, unless it is fixed. */
export function fittingName(kind: AnyKind, spec: object | undefined): string {
  const { clusterId, namespaceName, functionName, vaultName } = (spec ?? {}) as Record<string, unknown>
  const names: Record<string, string> = {
    BlueprintTemplate: String((spec as { slug?: string } | undefined)?.slug),
    BoundaryProjection: String(clusterId),
    BoundaryCrosslink: 'crosslink',
    PlatformBackupSettings: SETTINGS_NAME,
    ServerlessFunction: functionObjectName(String(namespaceName), String(functionName)),
    VaultEntry: `${vaultName}-${randomUUID().replaceAll('-', '').slice(0, 20)}`,
  }
  return names[kind.kind] ?? (kind.name === 'resource' ? `m-${randomUUID().slice(0, 8)}` : randomUUID())
}

/** The same for a sample that the controllers accept too. */
export function sampleName(kind: AnyKind, spec: object): string {
  const names: Record<string, string> = { AccountBucket: 'shop.photos', VaultEntry: entryName('shop', 'Key') }
  return names[kind.kind] ?? fittingName(kind, spec)
}
