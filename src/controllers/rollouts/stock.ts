import { INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import type { Known } from '../../contracts/rollouts/facts.ts'
import { type Gathered, lookedComponent } from '../../contracts/rollouts/gather.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ageOf, type KubeObject, type Resource, refOf } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import { fluxName } from '../../desired/lifecycle/flux.ts'
import {
  clusterRole,
  configMap,
  cronJob,
  customResourceDefinition,
  daemonSet,
  deployment,
  ingress,
  networkPolicy,
  node,
  pod,
  podDisruptionBudget,
  resourceQuota,
  secret,
  service,
  serviceAccount,
  statefulSet,
} from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { alreadyThere, isKubeError } from '../../kube/errors.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import type { Pass, Rights, Workspace } from '../engine/controller.ts'
import type { RolloutOptions } from './types.ts'

export type ComponentObject = PlatformComponent & KubeObject
export type ReleaseObject = ComponentRelease & KubeObject
export type PlanObject = RolloutPlan & KubeObject
export type ExecutionObject = RolloutExecution & KubeObject
export type ScanObject = PlatformDriftScan & KubeObject

/** Kinds that a rollout is judged by and that wake nobody. */
export const STOCK_READS: readonly Resource[] = [
  ComponentRelease.resource,
  ComponentInstall.resource,
  PlatformDriftScan.resource,
  PlatformCluster.resource,
]
/** What is asked of the cluster for the checks, and for what was changed by hand. */
export const LOOKS: readonly Rights[] = [
  ...[node, pod, clusterRole, customResourceDefinition].map((resource) => ({ resource, verbs: ['list'] })),
  ...[resourceQuota, deployment, statefulSet, daemonSet, service, configMap, serviceAccount, networkPolicy].map(
    (resource) => ({ resource, verbs: ['list'] }),
  ),
  ...[podDisruptionBudget, ingress, cronJob, postgresqlCluster, certificate].map((resource) => ({
    ...{ resource, verbs: ['list'] },
  })),
]

/** Which values people gave; what they are is read by nobody here. Rollouts hold the right, scans use it too. */
export const CONFIGURATION_READ: Rights = {
  resource: secret,
  verbs: ['get'],
  resourceNames: [INSTALL_CONFIGURATION],
  in: 'system',
}

const all = <T extends KubeObject>(records: Workspace, { resource }: AnyKind) =>
  records.cache<T>(resource).list(resource.namespaced ? { namespace: SYSTEM_NAMESPACE } : {})

export const componentsOf = (records: Workspace) => all<ComponentObject>(records, PlatformComponent)
export const releasesOf = (records: Workspace) => all<ReleaseObject>(records, ComponentRelease)
export const plansOf = (records: Workspace) => all<PlanObject>(records, RolloutPlan)
export const executionsOf = (records: Workspace) => all<ExecutionObject>(records, RolloutExecution)
export const scansOf = (records: Workspace) => all<ScanObject>(records, PlatformDriftScan)
export const installsOf = (records: Workspace) => all<ComponentInstall & KubeObject>(records, ComponentInstall)

export function looked(components: readonly ComponentObject[]) {
  return components.map((component) => lookedComponent(component, fluxName(component.metadata.name)))
}

/** Everything that the checks are made from, as seen by one rollout. */
export async function gathered(
  { records, clock, object }: Pick<Pass, 'records' | 'clock' | 'object'>,
  { look, version }: RolloutOptions,
  plan: Gathered['plan'],
): Promise<Gathered> {
  const components = componentsOf(records)
  const now = clock.now()
  const isOther = (one: KubeObject) => one.metadata.name !== object.metadata.name
  return {
    ...{ now, plan, components, operatorVersion: version, releases: releasesOf(records), scans: scansOf(records) },
    rollouts: executionsOf(records).filter(isOther),
    installs: installsOf(records),
    clusters: all<PlatformCluster & KubeObject>(records, PlatformCluster),
    configured: await configured(records),
    cluster: await look.facts(looked(components), now),
  }
}

async function configured(records: Workspace): Promise<Known<ReadonlySet<string>>> {
  try {
    const ref = { namespace: SYSTEM_NAMESPACE, name: INSTALL_CONFIGURATION }
    const { data = {} } = await records.client.get<KubeObject & { data?: object }>(secret, ref)
    return { value: new Set(Object.keys(data)) }
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return { value: new Set() }
    if (isKubeError(error, 'Forbidden')) return { unknown: 'The operator may not read which values were given.' }
    throw error
  }
}

/** Of those that are over the newest are kept. @returns whether the object of the pass went */
export async function tidied(
  { records, object, kind }: Pick<Pass, 'records' | 'object' | 'kind'>,
  over: readonly KubeObject[],
  kept: number,
): Promise<boolean> {
  const newest = [...over].sort((one, other) => (ageOf(one) < ageOf(other) ? 1 : -1))
  const isSurplus = newest.slice(kept).some(({ metadata }) => metadata.name === object.metadata.name)
  if (isSurplus) await records.client.remove(kind.resource, refOf(object as KubeObject), { uid: object.metadata.uid })
  return isSurplus
}

/** Makes an object of the platform that may be there already. */
export async function makeOnce(records: Workspace, kind: AnyKind, name: string, spec: object): Promise<void> {
  const metadata = { name, namespace: SYSTEM_NAMESPACE }
  const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: kind.spec.parse(spec) }
  await records.client.create(kind.resource, object).catch(alreadyThere)
}
