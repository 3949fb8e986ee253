import { type CheckInput, toInspectedComponent } from '../../contracts/rollouts/checkInput.ts'
import type { Fact } from '../../contracts/rollouts/facts.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ComponentInstall, ComponentRelease } from '../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutPlan } from '../../crds/rollouts.ts'
import { fluxName } from '../../desired/lifecycle/flux.ts'
import { isKubeError } from '../../kube/errors.ts'
import { CHECKED_TYPES, INSPECTED_TYPES } from '../../kube/inspectedTypes.ts'
import type { Pass, Rights, Workspace } from '../engine/controller.ts'
import { storedConfiguration } from '../lifecycle/configuration.ts'
import { type ComponentObject, componentsOf, executionsOf, installsOf, releasesOf } from '../lifecycle/storedObjects.ts'
import { platformObjects } from '../platformObjects.ts'
import type { RolloutOptions } from './types.ts'

export type PlanObject = RolloutPlan & KubeObject
export type ScanObject = PlatformDriftScan & KubeObject

/** Kinds that a rollout reads but that do not wake it. */
export const ROLLOUT_READS: readonly Resource[] = [
  ComponentRelease.resource,
  ComponentInstall.resource,
  PlatformDriftScan.resource,
  PlatformCluster.resource,
]

/** Rights for preflight checks and drift scans. */
export const INSPECTION_RIGHTS: readonly Rights[] = [
  ...[INSPECTED_TYPES.node, INSPECTED_TYPES.pod],
  ...[...CHECKED_TYPES, ...INSPECTED_TYPES.rendered],
].map((resource) => ({ resource, verbs: ['list'] }))

export const plansOf = (records: Workspace) => platformObjects<PlanObject>(records, RolloutPlan)
export const scansOf = (records: Workspace) => platformObjects<ScanObject>(records, PlatformDriftScan)

export function inspectedComponents(components: readonly ComponentObject[]) {
  return components.map((component) => toInspectedComponent(component, fluxName(component.metadata.name)))
}

/** Gathers the input of the checks, as seen by one rollout. */
export async function gatherCheckInput(
  { records, clock, object }: Pick<Pass, 'records' | 'clock' | 'object'>,
  { inspector, version }: RolloutOptions,
  plan: CheckInput['plan'],
): Promise<CheckInput> {
  const components = componentsOf(records)
  const now = clock.now()
  const isOther = (one: KubeObject) => one.metadata.name !== object.metadata.name
  return {
    ...{ now, plan, components, operatorVersion: version, releases: releasesOf(records), scans: scansOf(records) },
    rollouts: executionsOf(records).filter(isOther),
    installs: installsOf(records),
    clusters: platformObjects<PlatformCluster & KubeObject>(records, PlatformCluster),
    configured: await configuredKeys(records),
    cluster: await inspector.facts(inspectedComponents(components), now),
  }
}

async function configuredKeys({ client }: Workspace): Promise<Fact<ReadonlySet<string>>> {
  try {
    return { value: new Set(Object.keys((await storedConfiguration(client)).entries)) }
  } catch (error) {
    if (isKubeError(error, 'Forbidden')) return { unknown: 'The operator may not read which values were given.' }
    throw error
  }
}
