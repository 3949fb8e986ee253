import { compareTexts } from '../../core/textOrder.ts'
import { type ComponentKind, configKey, holdsLifecycleLock, isUpgradedByPeople } from '../lifecycle.ts'
import type { AgentVersionFacts, CheckFacts, ClusterCheckFacts, Fact, ReleaseFacts } from './facts.ts'
import { type PlanComponent, type PlanInput, planRollout } from './plan.ts'
import { isRolloutActive, type PlanKind, type PlannedRollout } from './states.ts'

/** The records of the platform from which plans and checks are made. */

export type ComponentRecord = {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly kind: ComponentKind
    readonly namespace: string
    readonly isManualUpgrade: boolean
    readonly migratesDatabase: boolean
    readonly dependsOn: readonly { readonly name: string; readonly constraint?: string | undefined }[]
    readonly required: readonly {
      readonly key: string
      readonly isSecret?: boolean | undefined
      readonly default?: string | undefined
    }[]
    readonly crds: readonly string[]
  }
  readonly status?:
    | {
        readonly installedVersion?: string | undefined
        readonly state?: string | undefined
        readonly isOutside?: boolean | undefined
      }
    | undefined
}
export type ReleaseRecord = { readonly spec: ReleaseFacts }
export type PlanSpec = {
  readonly targetVersions: Readonly<Record<string, string>>
  readonly unselected: readonly string[]
  readonly kind: PlanKind
}
type Stock = { readonly components: readonly ComponentRecord[]; readonly releases: readonly ReleaseRecord[] }

export function planFromRecords(spec: PlanSpec, { components, releases }: Stock): PlannedRollout {
  const input: PlanInput = {
    components: components.map(plannedComponent),
    releases: releases.map((one) => one.spec),
    targetVersions: spec.targetVersions,
    unselected: spec.unselected,
    kind: spec.kind,
  }
  return planRollout(input)
}

function plannedComponent({ metadata, spec, status }: ComponentRecord): PlanComponent {
  const { kind, dependsOn, migratesDatabase } = spec
  const isManualUpgrade = isUpgradedByPeople({ spec, status })
  const installedVersion = status?.installedVersion
  return { name: metadata.name, kind, dependsOn, isManualUpgrade, migratesDatabase, installedVersion }
}

export type RolloutRecord = {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly state?: string | undefined } | undefined
}
export type ScanRecord = {
  readonly status?:
    | {
        readonly state?: string | undefined
        readonly finishedAt?: string | undefined
        readonly items?: readonly unknown[] | undefined
      }
    | undefined
}

export type ClusterRecord = {
  readonly spec: { readonly name?: string | undefined; readonly displayName: string; readonly isPlatform?: boolean }
  readonly status?: { readonly agent?: { readonly version?: string | undefined } | undefined } | undefined
}

/** Returns the scan that finished last. */
export function latestScan<S extends ScanRecord>(scans: readonly S[]): S | undefined {
  const finished = scans.filter(({ status }) => status?.state === 'Finished')
  return finished.sort((one, other) => compareTexts(other.status?.finishedAt ?? '', one.status?.finishedAt ?? ''))[0]
}

export type CheckInput = Stock & {
  readonly now: number
  readonly operatorVersion: string
  /** The plan to check; undefined for the platform alone. */
  readonly plan?: PlannedRollout | undefined
  /** Rollouts and installs other than the one that is checked. */
  readonly rollouts: readonly RolloutRecord[]
  readonly installs: readonly RolloutRecord[]
  readonly scans: readonly ScanRecord[]
  readonly clusters: readonly ClusterRecord[]
  /** Existing entries of the install-configuration. */
  readonly configured: Fact<ReadonlySet<string>>
  readonly cluster: ClusterCheckFacts
}

export function factsOf(gathered: CheckInput): CheckFacts {
  const { components, releases, plan, rollouts, installs, scans, cluster, clusters, now, operatorVersion } = gathered
  const targets = new Map(plan?.items.map(({ component, toVersion }) => [component, toVersion]))
  const wanted = releases.map(({ spec }) => spec).filter((one) => targets.get(one.component) === one.version)
  const scan = latestScan(scans)
  return {
    ...{ now, operatorVersion, plan, cluster, agents: agentsOf(clusters), releases: wanted },
    busyWith: findLifecycleLockHolder(rollouts, installs)?.metadata.name,
    components: components.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      kind: spec.kind,
      state: status?.state,
    })),
    missingValues: missingValues(gathered, wanted),
    lastScan: scan && { finishedAt: scan.status?.finishedAt ?? '', found: scan.status?.items?.length ?? 0 },
  }
}

/** Returns the rollout or install that holds the turn, which they share. */
export function findLifecycleLockHolder<R extends RolloutRecord>(
  rollouts: readonly R[],
  installs: readonly R[],
): R | undefined {
  return (
    rollouts.find(({ status }) => isRolloutActive(status?.state)) ??
    installs.find(({ status }) => holdsLifecycleLock(status))
  )
}

/** Returns the agents of all clusters but the platform's own. */
function agentsOf(clusters: readonly ClusterRecord[]): AgentVersionFacts[] {
  const others = clusters.filter(({ spec }) => !spec.isPlatform)
  return others.map(({ spec, status }) => ({ name: spec.name ?? spec.displayName, version: status?.agent?.version }))
}

function missingValues(
  { components, plan, configured }: CheckInput,
  releases: readonly ReleaseFacts[],
): Fact<string[]> {
  if ('unknown' in configured) return configured
  const missing = (plan?.items ?? []).flatMap(({ component }) => {
    const declared = components.find(({ metadata }) => metadata.name === component)?.spec.required ?? []
    const defaults = new Set(declared.filter((one) => one.default !== undefined).map(({ key }) => key))
    const release = releases.find((one) => one.component === component)
    const needed = new Set([...declared.map(({ key }) => key), ...(release?.requiredValues ?? [])])
    return [...needed]
      .filter((key) => !defaults.has(key))
      .map((key) => configKey(component, key))
      .filter((key) => !configured.value.has(key))
  })
  return { value: missing.sort() }
}

/** Returns what is read of a component in the cluster. */
export function toInspectedComponent({ metadata, spec, status }: ComponentRecord, release = '') {
  // A component that is not installed has brought no CRDs yet.
  const definitions = status?.installedVersion === undefined ? [] : spec.crds
  return {
    ...{ name: metadata.name, release, namespace: spec.namespace, definitions },
    keys: Object.fromEntries(spec.required.map(({ key, isSecret = false }) => [key, { isSecret }])),
  }
}
