import { BOUNDARY_LABEL, GROUP_LABEL, OWNER_NAMESPACE_ANNOTATION } from '../core/labels.ts'
import { groupNamespace } from '../core/names.ts'
import { withNamespaceMetadata } from '../core/namespaces.ts'
import { type KubeObject, keyOf } from '../core/object.ts'
import { done, earliest, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { DISK_SHARE, type DiskShare } from '../core/sizing/disk.ts'
import { Boundary } from '../crds/boundaries.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import type { AnyKind } from '../crds/define.ts'
import { HOLDERS_SHOWN_MAX } from '../crds/holders.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { kubectlName } from '../crds/kubectlName.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { claimHolderName, isRetainedClaim } from '../crds/retention.ts'
import { groupNetworkPolicy } from '../desired/isolation.ts'
import {
  groupOfProjected,
  type ProjectedNamespace,
  projectedNamespace,
  unknownNamespaces,
  wantedNamespaces,
} from '../desired/projections.ts'
import { SECRET_BINDINGS, secretBindings } from '../desired/resourcegroups.ts'
import {
  clusterRole,
  limitRange,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  resourceQuota,
  roleBinding,
  secret,
} from '../kube/builtin.ts'
import { controllerWith, type Pass, type Rights, steps, type Workspace } from './engine/controller.ts'
import { StalledError, WaitingError } from './engine/interruptions.ts'
import { related } from './engine/lookups.ts'
import { outcomeOfRefusal } from './engine/refusal.ts'
import { otherClusterOf } from './engine/workloadLocation.ts'
import { projectionMarkOf, removeFormerNamespace, removeFormerNamespaces } from './formerProjections.ts'
import { abbreviateNames } from './ownedNamespace.ts'
import { captureError, keepPullSecrets } from './projectionPullSecrets.ts'
import { type GroupOptions, limitNamespace } from './resourcegroups.ts'
import { childRights, clusterSettingsOf } from './workload/observers.ts'

type ProjectionPass = Pass<typeof BoundaryProjection, ProjectionState>
type ProjectionState = {
  shown: readonly ProjectedNamespace[]
  /** Named namespaces that belong to no group. */
  unmatched: readonly ProjectedNamespace[]
  /** Errors of single namespaces. */
  failures: readonly unknown[]
}
type Group = ResourceGroup & { [key: string]: unknown }
type Placed = KubeObject & { spec: { clusterId?: string } }

const MULTICLUSTER_KINDS = RESOURCE_KINDS.filter(({ runsAnywhere }) => runsAnywhere === true)

const projectionsIn = (namespaceName: string | undefined, records: Workspace) =>
  records.cache(BoundaryProjection).list({ namespace: namespaceName })

/** A resource wakes the projection that it depends on when it is deleted. */
const projectionsOfObject = ({ metadata, spec }: KubeObject, records: Workspace): string[] => {
  const { clusterId } = spec as Placed['spec']
  const namespaceObject = records.cache(namespace).get(undefined, metadata.namespace ?? '')
  const ownerNamespace = namespaceObject?.metadata.annotations?.[OWNER_NAMESPACE_ANNOTATION]
  return clusterId === undefined || ownerNamespace === undefined
    ? []
    : projectionsIn(ownerNamespace, records).map(keyOf)
}

/** A volume wakes the projection of its namespace: its deletion may unblock the namespace. */
const projectionsOfVolume = ({ metadata }: KubeObject, records: Workspace, clusterId?: string): string[] =>
  clusterId === undefined
    ? []
    : related(records.cache(BoundaryProjection), 'projected', clusterId, metadata.namespace).map(keyOf)

const WRITES: readonly Rights[] = [
  ...childRights([namespace, networkPolicy, roleBinding, resourceQuota, limitRange]),
  { resource: clusterRole, verbs: ['bind'], resourceNames: SECRET_BINDINGS.map((binding) => binding.clusterRole) },
]

/**
 * Keeps the namespaces of a boundary's groups on another cluster, furnished as the groups' own on the platform's
 * cluster. A namespace that is still used, or holds retained volumes, is not deleted.
 */
export const projectionController = controllerWith<typeof BoundaryProjection, GroupOptions, ProjectionState>(
  BoundaryProjection,
  {
    observes: [
      namespace,
      networkPolicy,
      roleBinding,
      resourceQuota,
      limitRange,
      secret,
      {
        resource: ResourceGroup.resource,
        keysOf: ({ metadata }, records) => projectionsIn(metadata.namespace, records).map(keyOf),
      },
      {
        resource: PlatformCluster.resource,
        keysOf: ({ metadata }, records) =>
          related(records.cache(BoundaryProjection), 'cluster', metadata.name).map(keyOf),
        relevant: clusterSettingsOf,
      },
      {
        resource: persistentVolumeClaim,
        keysOf: projectionsOfVolume,
        relevant: (claim) => [isRetainedClaim(claim), claim.metadata.deletionTimestamp],
      },
      ...MULTICLUSTER_KINDS.map(({ resource }) => ({
        resource,
        keysOf: projectionsOfObject,
        relevant: ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined,
      })),
    ],
    reads: [Boundary.resource],
    writes: WRITES,
  },
  (options) => ({
    clusterOf: otherClusterOf,
    state: () => ({ shown: [], unmatched: [], failures: [] }),
    reconcile: steps(checkCluster, projectNamespaces(options), judge),
    finalize: steps(removeNamespaces(options)),
    finalizeRevoked: steps(stopWhileUsed),
  }),
)

export function checkCluster({ object, records }: ProjectionPass): Outcome {
  const { clusterId } = object.spec
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  if (cluster === undefined) return stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
  if (!cluster.spec.isPlatform) return done()
  return stalled('ConfigurationInvalid', "Every boundary is on the platform's own cluster; project it on another one.")
}

const projectNamespaces = ({
  closedNetworks = [],
  registry,
  disk = DISK_SHARE,
  namespaceMetadata = {},
}: GroupOptions) =>
  async function projectNamespaces(pass: ProjectionPass): Promise<Outcome> {
    const { object, scope, records } = pass
    const { boundaryId = '' } = scope
    const groups = records.cache(ResourceGroup).list({ namespace: object.metadata.namespace })
    const wanted = wantedNamespaces(boundaryId, groups, object.spec.namespaces)
    const before = new Map((object.status?.resolvedNamespaces ?? []).map((each) => [each.namespace, each]))
    const shown: ProjectedNamespace[] = []
    const failures: unknown[] = []
    for (const { name, group } of wanted) {
      const known = before.get(name) as ProjectedNamespace | undefined
      const failure = await captureError(() =>
        prepareNamespace(pass, boundaryId, group, { closedNetworks, disk, namespaceMetadata }),
      )
      if (failure !== undefined) failures.push(failure.error)
      shown.push(
        failure === undefined
          ? { namespace: name, state: 'Applied', appliedAt: known?.appliedAt ?? pass.now }
          : { ...(known ?? { state: 'Pending' }), ...reasonOf(failure.error, pass), namespace: name },
      )
    }
    const unmatched = unknownNamespaces(boundaryId, groups, object.spec.namespaces)
    const names = new Set(wanted.map(({ name }) => name))
    const isMade = ({ name }: { name: string }) =>
      shown.some((one) => one.namespace === name && one.state === 'Applied')
    const made = wanted.filter(isMade).map(({ group }) => group)
    const nextRotation = await keepPullSecrets(pass, made, { registry, failures })
    const remaining = await removeAllBut(pass, names)
    const laterRotation = await keepPullSecrets(pass, groupsInUse(pass, remaining), { registry, failures })
    shown.push(...remaining, ...(await removeFormerNamespaces(pass, names)))
    reportNamespaces(pass, [...shown.map((one) => withRetainedVolumes(pass, one)), ...unmatched])
    Object.assign(pass.state, { shown, unmatched, failures } satisfies ProjectionState)
    return done({ after: earliest(nextRotation, laterRotation) })
  }

async function prepareNamespace(
  pass: ProjectionPass,
  boundaryId: string,
  { metadata, spec }: Group,
  { closedNetworks, disk, namespaceMetadata }: Required<Omit<GroupOptions, 'registry' | 'disk'>> & { disk: DiskShare },
): Promise<void> {
  const { children } = pass
  const own = projectedNamespace(boundaryId, metadata.name, projectionMarkOf(pass))
  const namespaceObject = withNamespaceMetadata(own, namespaceMetadata)
  const { name } = namespaceObject.metadata
  await removeFormerNamespace(pass, name)
  await children.ensure(namespaceObject, { resource: namespace })
  for (const binding of secretBindings(name)) await children.ensure(binding, { resource: roleBinding })
  await children.ensure(groupNetworkPolicy(name, closedNetworks), { resource: networkPolicy })
  await limitNamespace(pass, name, spec.quota, disk)
}

/** Returns the state to show for an error; nothing for errors that may pass by themselves: the old state stays. */
function reasonOf(error: unknown, { kind }: ProjectionPass): Pick<ProjectedNamespace, 'state' | 'message'> | object {
  if (error instanceof WaitingError) return { state: 'Pending', message: error.message }
  const refusal = error instanceof StalledError ? error : outcomeOfRefusal(error, kind)
  return refusal === undefined ? {} : { state: 'Failed', message: refusal.message }
}

/** Deletes namespaces that are no longer needed; returns those left, with what still uses them. */
async function removeAllBut(pass: ProjectionPass, keep: ReadonlySet<string>): Promise<ProjectedNamespace[]> {
  const remaining: ProjectedNamespace[] = []
  for (const { metadata } of pass.children.owned(namespace)) {
    if (keep.has(metadata.name)) continue
    const isGoing = metadata.deletionTimestamp !== undefined
    const seen = holdersOf(pass, metadata.name)
    const holders = seen.length === 0 && !isGoing ? await storedHoldersOf(pass, metadata.name) : seen
    if (holders.length > 0) {
      remaining.push({
        namespace: metadata.name,
        state: 'Drifted',
        message: `It is still used by ${abbreviateNames(holders)}.`,
      })
      continue
    }
    const isGone = await pass.children.remove(namespace, undefined, metadata.name)
    if (!isGone) remaining.push({ namespace: metadata.name, state: 'Removing' })
  }
  return remaining
}

function holdersOf(pass: ProjectionPass, namespaceName: string): string[] {
  const { records, workloads } = pass
  const contents = MULTICLUSTER_KINDS.map((kind) => ({
    kind,
    objects: records.cache<Placed>(kind.resource).list({ namespace: namespaceName }),
  }))
  return namesOf(
    pass,
    namespaceName,
    contents,
    workloads.cache(persistentVolumeClaim).list({ namespace: namespaceName }),
  )
}

/** Asks both API servers, because the caches may be stale and deleting a namespace deletes its content. */
async function storedHoldersOf(pass: ProjectionPass, namespaceName: string): Promise<string[]> {
  const options = { namespace: namespaceName }
  const contents: Contents = []
  for (const kind of MULTICLUSTER_KINDS)
    contents.push({ kind, objects: (await pass.records.client.list<Placed>(kind.resource, options)).items })
  const claims = await pass.workloads.client.list(persistentVolumeClaim, options)
  return namesOf(pass, namespaceName, contents, claims.items)
}

type Contents = { kind: AnyKind; objects: readonly Placed[] }[]

function namesOf(
  { records, object }: ProjectionPass,
  namespaceName: string,
  contents: Contents,
  claims: readonly KubeObject[],
): string[] {
  const group = groupOfProjected(records.cache(namespace).get(undefined, namespaceName))
  const resources = contents.flatMap(({ kind, objects }) =>
    objects
      .filter(({ spec }) => spec.clusterId === object.spec.clusterId)
      .map(({ metadata }) => `${group}/${kubectlName(kind, metadata.name)}`),
  )
  return [
    ...resources,
    ...claims.filter(isRetainedClaim).map(({ metadata }) => `${namespaceName}/${claimHolderName(metadata.name)}`),
  ]
}

const removeNamespaces = ({ registry }: GroupOptions) =>
  async function removeNamespaces(pass: ProjectionPass): Promise<Outcome> {
    const remaining = await removeAllBut(pass, new Set())
    reportNamespaces(
      pass,
      remaining.map((one) => withRetainedVolumes(pass, one)),
    )
    if (remaining.length === 0) return done()
    const failures: unknown[] = []
    const nextRotation = await keepPullSecrets(pass, groupsInUse(pass, remaining), { registry, failures })
    if (failures.length > 0) throw failures[0]
    const held = remaining.find(({ state }) => state === 'Drifted')
    const names = abbreviateNames(remaining.map((each) => each.namespace))
    return held === undefined
      ? waiting('TearingDown', `Waiting for the deletion of ${names}.`)
      : waiting('DeletionBlocked', `Namespace "${held.namespace}": ${held.message}`, nextRotation)
  }

/** Returns the groups whose resources still run in namespaces that are due for deletion. */
function groupsInUse({ object, scope, records }: ProjectionPass, remaining: readonly ProjectedNamespace[]): Group[] {
  const names = new Set(remaining.filter(({ state }) => state === 'Drifted').map((each) => each.namespace))
  const groups = records.cache(ResourceGroup).list({ namespace: object.metadata.namespace })
  return groups.filter(({ metadata }) => names.has(groupNamespace(scope.boundaryId ?? '', metadata.name)))
}

/** On a revoked cluster only our records count: resources must not silently lose their projection. */
async function stopWhileUsed(pass: ProjectionPass): Promise<Outcome> {
  const { object, scope, records } = pass
  const namespaces = records.cache(namespace).list()
  const inBoundary = namespaces.filter(({ metadata }) => metadata.labels?.[BOUNDARY_LABEL] === scope.boundaryId)
  const usersIn = ({ metadata: { labels } }: KubeObject, kind: AnyKind, objects: readonly Placed[]) =>
    objects
      .filter(({ spec }) => spec.clusterId === object.spec.clusterId)
      .map(({ metadata }) => `${labels?.[GROUP_LABEL]}/${kubectlName(kind, metadata.name)}`)
  const pairs = inBoundary.flatMap((home) => MULTICLUSTER_KINDS.map((kind) => ({ home, kind })))
  const users = pairs.flatMap(({ home, kind }) =>
    usersIn(home, kind, records.cache<Placed>(kind.resource).list({ namespace: home.metadata.name })),
  )
  // The caches may lack the newest objects.
  for (const { home, kind } of users.length === 0 ? pairs : []) {
    const { items } = await records.client.list<Placed>(kind.resource, { namespace: home.metadata.name })
    users.push(...usersIn(home, kind, items))
  }
  if (users.length === 0) return done()
  return waiting('DeletionBlocked', `It is still used by ${abbreviateNames(users)}.`)
}

/** Adds retained volumes, which block the deletion of the group: the group does not see that cluster. */
function withRetainedVolumes({ workloads }: ProjectionPass, shown: ProjectedNamespace): ProjectedNamespace {
  const claims = workloads.cache(persistentVolumeClaim).list({ namespace: shown.namespace })
  const retainedVolumes = claims
    .filter(isRetainedClaim)
    .map(({ metadata }) => metadata.name)
    .sort()
    .slice(0, HOLDERS_SHOWN_MAX)
  return retainedVolumes.length === 0 ? shown : { ...shown, retainedVolumes }
}

function reportNamespaces(pass: ProjectionPass, shown: ProjectedNamespace[]): void {
  const before = JSON.stringify(pass.object.status?.resolvedNamespaces ?? [])
  pass.report({ resolvedNamespaces: shown, ...(JSON.stringify(shown) !== before && { observedAt: pass.now }) })
}

/** @throws the error of a namespace: the engine decides whether it is retried or ends the pass */
function judge({ state: { shown, unmatched, failures } }: ProjectionPass): Outcome {
  const isWaiting = (error: unknown) => error instanceof WaitingError
  const transient = failures.find((error) => !isWaiting(error) && !(error instanceof StalledError))
  const failure = transient ?? failures.find((error) => !isWaiting(error))
  if (failure !== undefined) throw failure
  const [first] = unmatched
  if (first !== undefined) return stalled('ReferenceMissing', `Namespace "${first.namespace}": ${first.message}`)
  const waits = failures.find(isWaiting)
  if (waits !== undefined) throw waits
  const removing = shown.find(({ state }) => state === 'Removing')
  return removing === undefined
    ? done()
    : waiting('ApplyingWorkload', `Namespace "${removing.namespace}" is being removed.`)
}
