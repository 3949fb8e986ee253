import { parseTemplateDocument } from '../contracts/blueprints/document.ts'
import { SETTINGS_NAME } from '../contracts/platformbackups/names.ts'
import { uuidV5 } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject, Resource } from '../core/object.ts'
import { AppRuntime } from '../crds/appruntimes.ts'
import { BlueprintTemplate } from '../crds/blueprints.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { DEFAULT_BLUEPRINTS } from '../crds/defaultBlueprints.ts'
import { DEFAULT_COMPONENTS } from '../crds/defaultComponents.ts'
import { DEFAULT_PLANS } from '../crds/defaultPlans.ts'
import { DEFAULT_RUNTIMES } from '../crds/defaultRuntimes.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformComponent } from '../crds/lifecycle.ts'
import { ComputePlan } from '../crds/plans.ts'
import { PlatformBackupSettings } from '../crds/platformBackups.ts'
import { DEFAULT_TENANT_ID, PlatformTenant, RoleDefinition } from '../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../iam/roles.ts'
import { namespace } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { firstDifference } from '../kube/compare.ts'
import { absent, ignoreKubeAlreadyExists } from '../kube/errors.ts'

/** Rights for installing the defaults, for the operator's generated role. */
export const DEFAULTS_RIGHTS = [
  { resource: RoleDefinition.resource, verbs: ['get', 'create', 'patch'] },
  { resource: BlueprintTemplate.resource, verbs: ['get', 'create', 'patch'] },
  { resource: ComputePlan.resource, verbs: ['list', 'create'] },
  { resource: AppRuntime.resource, verbs: ['list', 'create'] },
  { resource: PlatformCluster.resource, verbs: ['list', 'create'] },
  { resource: PlatformTenant.resource, verbs: ['list', 'create'] },
  { resource: PlatformBackupSettings.resource, verbs: ['list', 'create'] },
  { resource: PlatformComponent.resource, verbs: ['list', 'create', 'patch'] },
  { resource: namespace, verbs: ['get'] },
]

function objectOf(kind: AnyKind, name: string, spec: object): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name }, spec }
}

/**
 * Installs what a new platform starts with. Built-in roles, blueprints and components are kept as this release defines
 * them. Plans, runtimes, backup settings, the default tenant and the record of our own cluster are created only if none
 * exist, because they belong to the administrators from then on. The leader runs this at start, so that one `kubectl
 * apply` of the manifests suffices.
 */
export async function installDefaults(
  client: KubeClient,
  platform: { domain: string; region: string },
  log: Log,
): Promise<void> {
  await Promise.all(BUILT_IN_ROLES.map((role) => installRole(client, role)))
  await Promise.all(DEFAULT_BLUEPRINTS.map((content) => installBlueprint(client, content)))
  await installComponents(client)
  // The cluster record comes last: without it, an earlier start may have died while creating plans.
  const isFirstStart = await isEmpty(client, PlatformCluster.resource)
  const { items: plans } = await client.list(ComputePlan.resource)
  // By family, so that a release with a new kind also adds its plans.
  const isOurs = isFirstStart && plans.every(({ metadata }) => metadata.name in DEFAULT_PLANS)
  const present = new Set(isOurs ? [] : plans.map(({ spec }) => (spec as { family?: string }).family))
  const missing = Object.entries(DEFAULT_PLANS).filter(([, { family }]) => !present.has(family))
  if (missing.length > 0) {
    await Promise.all(
      missing.map(([name, spec]) => createOnce(client, ComputePlan.resource, objectOf(ComputePlan, name, spec))),
    )
    log.info({ plans: missing.map(([name]) => name) }, 'The default plans were installed.')
  }
  const { items: offered } = await client.list(AppRuntime.resource)
  const isPartial = isFirstStart && offered.every(({ metadata }) => metadata.name in DEFAULT_RUNTIMES)
  if (isPartial || offered.length === 0) {
    const runtimes = Object.entries(DEFAULT_RUNTIMES)
    await Promise.all(
      runtimes.map(([name, spec]) => createOnce(client, AppRuntime.resource, objectOf(AppRuntime, name, spec))),
    )
  }
  if (await isEmpty(client, PlatformTenant.resource)) {
    const spec = { displayName: 'Default' }
    await createOnce(client, PlatformTenant.resource, objectOf(PlatformTenant, DEFAULT_TENANT_ID, spec))
  }
  if (await isEmpty(client, PlatformBackupSettings.resource))
    await createOnce(client, PlatformBackupSettings.resource, {
      ...objectOf(PlatformBackupSettings, SETTINGS_NAME, {}),
      metadata: { name: SETTINGS_NAME, namespace: SYSTEM_NAMESPACE },
    })
  if (isFirstStart) {
    const { metadata } = await client.get(namespace, { name: 'kube-system' })
    const name = uuidV5(`cluster/${metadata.uid ?? 'unknown'}`)
    const spec = { displayName: 'Platform cluster', region: platform.region, domain: platform.domain, isPlatform: true }
    await createOnce(client, PlatformCluster.resource, objectOf(PlatformCluster, name, spec))
    log.info({ clusterId: name }, 'The record of the platform cluster was made.')
  }
}

async function installRole(client: KubeClient, role: (typeof BUILT_IN_ROLES)[number]): Promise<void> {
  const { name, displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes } = role
  const spec = {
    displayName,
    description,
    actions,
    notActions,
    dataActions,
    notDataActions,
    assignableScopes,
    isBuiltIn: true,
  }
  const stored = await client.get(RoleDefinition.resource, { name }).catch(absent)
  if (stored !== undefined && JSON.stringify(sorted(stored.spec)) === JSON.stringify(sorted(spec))) return
  await client.apply(RoleDefinition.resource, objectOf(RoleDefinition, name, spec), { force: true })
}

async function installBlueprint(client: KubeClient, content: string): Promise<void> {
  const { slug } = parseTemplateDocument(content).value as { slug: string }
  const ref = { namespace: SYSTEM_NAMESPACE, name: slug }
  const stored = await client.get(BlueprintTemplate.resource, ref).catch(absent)
  if ((stored?.spec as { content?: string } | undefined)?.content === content) return
  const { apiVersion, kind, resource } = BlueprintTemplate
  await client.apply(resource, { apiVersion, kind, metadata: ref, spec: { slug, content } }, { force: true })
}

/** Only declared fields are written: those set by administrators, installs and rollouts stay. */
async function installComponents(client: KubeClient): Promise<void> {
  const { items } = await client.list<KubeObject & { spec: object }>(PlatformComponent.resource)
  const stored = new Map(items.map(({ metadata, spec }) => [metadata.name, spec]))
  for (const [name, spec] of Object.entries(DEFAULT_COMPONENTS)) {
    const whole = PlatformComponent.spec.parse(spec)
    const declared = Object.fromEntries(Object.entries(whole).filter(([field]) => field in spec))
    const found = stored.get(name)
    if (found !== undefined && firstDifference(declared, found) === undefined) continue
    const metadata = { name, namespace: SYSTEM_NAMESPACE }
    await client.apply(
      PlatformComponent.resource,
      { ...objectOf(PlatformComponent, name, declared), metadata },
      { force: true },
    )
  }
}

function sorted(spec: unknown): unknown {
  return Object.entries(spec as object).sort(([a], [b]) => a.localeCompare(b))
}

async function isEmpty(client: KubeClient, resource: Resource): Promise<boolean> {
  return (await client.list(resource, { limit: 1 })).items.length === 0
}

/** If another replica was first, it wrote the same object. */
async function createOnce(client: KubeClient, resource: Resource, object: KubeObject): Promise<void> {
  await client.create(resource, object).catch(ignoreKubeAlreadyExists)
}
