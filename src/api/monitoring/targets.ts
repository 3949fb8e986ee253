import type { ClaimName, MetricTarget, PodName } from '../../adapters/prometheus/port.ts'
import { type ContainerKind, containerNames } from '../../contracts/containerinstances.ts'
import { FUNCTION_CONTAINER, functionNames } from '../../contracts/functions.ts'
import { JOB_CONTAINER, jobNames } from '../../contracts/jobs.ts'
import type { MetricCollection } from '../../contracts/metrics.ts'
import { storeNameOf } from '../../contracts/objectstorage.ts'
import { relationalNames } from '../../contracts/relational.ts'
import { sqlNames } from '../../contracts/sql.ts'
import { vectorNames } from '../../contracts/vector.ts'
import { claimName } from '../../contracts/workloads.ts'
import { APP_COMPONENT } from '../../crds/apps.ts'
import { type ContainerInstance, completeSpec } from '../../crds/containerinstances.ts'
import { publicTarget } from '../../crds/containerRules.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import { AccountBucket } from '../../crds/objectstorage.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import type { Services } from '../http/context.ts'
import { indexedByReference } from '../records/derived.ts'
import type { MonitoredResource } from './monitoredResource.ts'

const EMPTY_TARGET = { pods: [], claims: [], routes: [], buckets: [], jobs: [] } as const
type Names = Omit<MetricTarget, 'namespace'>

/** Names of one of our StatefulSets, with one volume for each pod. */
const statefulSetNames = (workload: string): Names => ({
  ...EMPTY_TARGET,
  pods: [{ workload, tail: 'Ordinal' }],
  claims: [{ claim: claimName(workload, 0).replace(/-0$/, ''), tail: 'Ordinal' }],
})

type Components = {
  components?: readonly { name: string }[]
  volumes?: readonly { name: string; kind: string }[]
}

/** @param process one of its processes; all if absent */
function componentsOf(
  kind: ContainerKind,
  { object, location }: MonitoredResource,
  process: string | undefined,
): Names {
  const names = containerNames(location.name, kind)
  const { components = [{ name: APP_COMPONENT }], volumes = [] } = object.spec as Components
  const wanted = components.filter(({ name }) => process === undefined || name === process)
  const pods = wanted.map(({ name }): PodName => ({ workload: names.component(name), tail: 'Deployment' }))
  const claims = volumes.flatMap(({ name, kind: of }): ClaimName[] =>
    of === 'Persistent' ? [{ claim: names.volume(name), tail: 'None' }] : [],
  )
  return { ...EMPTY_TARGET, pods, claims, routes: routesOf(kind, object.spec, names) }
}

/** Returns the Gateway route of its public hosts. */
function routesOf(kind: ContainerKind, spec: object, names: ReturnType<typeof containerNames>): Names['routes'] {
  const component =
    kind === 'ContainerInstance'
      ? publicTarget(completeSpec(spec as ContainerInstance['spec']))?.component.name
      : APP_COMPONENT
  return component === undefined ? [] : [{ route: names.whole, service: names.component(component) }]
}

// An alert asks for the names of all resources of a group.
const ofNamespace = indexedByReference(ServerlessFunction, ({ spec }) => spec.namespaceName)
const ofAccount = indexedByReference(AccountBucket, ({ spec }) => spec.accountName)

function functionsOf({ records }: Pick<Services, 'records'>, { namespace, location }: MonitoredResource): Names {
  const functions = ofNamespace(records, namespace, location.name)
  const workloads = functions.map(({ metadata }) => functionNames(metadata.name).workload)
  return { ...EMPTY_TARGET, pods: workloads.map((workload) => ({ workload, tail: 'Deployment' })) }
}

function bucketsOf({ records }: Pick<Services, 'records'>, { namespace, location }: MonitoredResource): Names {
  return { ...EMPTY_TARGET, buckets: ofAccount(records, namespace, location.name).map(storeNameOf) }
}

type NamesOf = (services: Pick<Services, 'records'>, watched: MonitoredResource, process: string | undefined) => Names

/** The names of pods, claims and buckets, by collection. */
const NAMES_BY_COLLECTION: Readonly<Record<MetricCollection, NamesOf>> = {
  vectorclusters: (_, { location }) => statefulSetNames(vectorNames(location.name).workload),
  sqlclusters: (_, { location }) => statefulSetNames(sqlNames(location.name).workload),
  relationalclusters(_, { location }) {
    const { cluster } = relationalNames(location.name)
    const name = { tail: 'Ordinal' } as const
    return { ...EMPTY_TARGET, pods: [{ workload: cluster, ...name }], claims: [{ claim: cluster, ...name }] }
  },
  containerinstances: (_, watched, process) => componentsOf('ContainerInstance', watched, process),
  apps: (_, watched, process) => componentsOf('PlatformApp', watched, process),
  staticwebapps: (_, watched, process) => componentsOf('StaticWebApp', withoutVolumes(watched), process),
  functionnamespaces: functionsOf,
  jobs(_, { location }) {
    const { workload } = jobNames(location.name)
    return { ...EMPTY_TARGET, pods: [{ workload, tail: 'Job' }], jobs: [{ job: workload, tail: 'None' }] }
  },
  objectstorageaccounts: bucketsOf,
  secretvaults: () => EMPTY_TARGET,
}

const withoutVolumes = (watched: MonitoredResource): MonitoredResource => ({
  ...watched,
  object: { ...watched.object, spec: {} } as never,
})

/** Returns the objects in the cluster that belong to a resource. */
export function targetOf(
  services: Pick<Services, 'records'>,
  watched: MonitoredResource,
  process?: string,
): MetricTarget {
  const { collection } = watched.location
  return { namespace: watched.namespace, ...NAMES_BY_COLLECTION[collection](services, watched, process) }
}

/** The container in each pod that runs the engine or the code. */
const MAIN_CONTAINERS: Partial<Record<MetricCollection, (spec: object) => string>> = {
  vectorclusters: () => 'qdrant',
  relationalclusters: () => 'postgres',
  sqlclusters: (spec) => (spec as SqlInstance['spec']).engine.toLowerCase(),
  functionnamespaces: () => FUNCTION_CONTAINER,
  jobs: () => JOB_CONTAINER,
}

export function hasProcess({ object, location }: MonitoredResource, name: string): boolean {
  const { components = [{ name: APP_COMPONENT }] } = object.spec as Components
  if (choosesPods(location.collection)) return components.some((component) => component.name === name)
  return MAIN_CONTAINERS[location.collection]?.(object.spec) === name
}

/** Returns whether processes are separate Deployments, so that a name selects pods rather than containers. */
export function choosesPods(collection: MetricCollection): boolean {
  return collection === 'containerinstances' || collection === 'apps' || collection === 'staticwebapps'
}

type NamePrefixes = { readonly workload: string; readonly claim?: string }

/** Returns the common prefixes of names, derived from those of a resource called `x`. */
const prefixesOf = (workload: string, claim?: string): NamePrefixes => {
  const prefixOf = (name: string) => name.slice(0, name.indexOf('-x'))
  return { workload: prefixOf(workload), ...(claim !== undefined && { claim: prefixOf(claim) }) }
}
const statefulPrefixes = (workload: string) => prefixesOf(workload, claimName(workload, 0))
const containerPrefixes = (kind: ContainerKind) => {
  const names = containerNames('x', kind)
  return prefixesOf(names.whole, names.volume('x'))
}

const PREFIXES_BY_COLLECTION: Partial<Record<MetricCollection, NamePrefixes>> = {
  vectorclusters: statefulPrefixes(vectorNames('x').workload),
  relationalclusters: prefixesOf(relationalNames('x').cluster, relationalNames('x').cluster),
  sqlclusters: statefulPrefixes(sqlNames('x').workload),
  containerinstances: containerPrefixes('ContainerInstance'),
  apps: containerPrefixes('PlatformApp'),
  staticwebapps: containerPrefixes('StaticWebApp'),
  functionnamespaces: prefixesOf(functionNames('x').workload),
  jobs: prefixesOf(jobNames('x').workload),
}

/** Returns the objects that belong to any resource of a collection. */
export function targetOfAll(collection: MetricCollection): MetricTarget {
  const { workload, claim }: Partial<NamePrefixes> = PREFIXES_BY_COLLECTION[collection] ?? {}
  return {
    namespace: 'every group',
    pods: workload === undefined ? [] : [{ workload, tail: 'Any' }],
    claims: claim === undefined ? [] : [{ claim, tail: 'Any' }],
    routes: { stem: workload ?? '-' },
    buckets: undefined,
    jobs: workload === undefined ? [] : [{ job: workload, tail: 'Any' }],
  }
}
