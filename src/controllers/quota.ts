import { BOUNDARY_LABEL, GROUP_LABEL } from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace } from '../core/names.ts'
import { type KubeObject, keyOf } from '../core/object.ts'
import { done, type Outcome, stalled } from '../core/outcome.ts'
import { demandOf, type Sizable } from '../core/sizing/demand.ts'
import { planFor } from '../core/sizing/plans.ts'
import { limitsAmounts, type QuotaUser, quotaSentence, quotaVerdict } from '../core/sizing/quota.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { ComputePlan } from '../crds/plans.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { namespace as namespaces } from '../kube/builtin.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'
import { PHASE_INDEX } from './engine/phaseIndex.ts'

type Cached<T> = T & { [key: string]: unknown }

type User = KubeObject & Sizable

/** Two kinds may use one name in a namespace. */
const quotaKey = (kind: AnyKind, key: string) => `${key}/${kind.plural}`

/** What objects ask for, by key, as of one version of them and of all plans: quantities are parsed once, not each pass. */
type Known = Map<string, { version: string; user: QuotaUser | undefined }>
const knownOf = new WeakMap<Workspace, Known>()

/** The resources of a boundary's groups with what they ask for; those without a plan ask for nothing yet. */
function quotaUsers(records: Workspace, boundaryId: string): QuotaUser[] {
  const plans = records.cache<Cached<ComputePlan>>(ComputePlan.resource).list()
  const planVersions = plans.map(({ metadata }) => metadata.resourceVersion).join()
  const known: Known = knownOf.get(records) ?? new Map()
  // Of what is gone, entries remain; they are few, and forgotten together.
  if (known.size > MOST_KNOWN) known.clear()
  knownOf.set(records, known)
  const homes = records
    .cache(namespaces)
    .list()
    .filter(({ metadata }) => metadata.labels?.[BOUNDARY_LABEL] === boundaryId)
  return RESOURCE_KINDS.flatMap((kind) =>
    homes.flatMap(({ metadata: { name: namespace, labels } }) =>
      records
        .cache<User>(kind.resource)
        .list({ namespace })
        .flatMap((object) => {
          const key = quotaKey(kind, keyOf(object))
          const version = `${object.metadata.uid} ${object.metadata.resourceVersion} ${planVersions}`
          let entry = known.get(key)
          if (entry?.version !== version) {
            const resourceGroup = labels?.[GROUP_LABEL] ?? ''
            entry = { version, user: quotaUser(kind, { key, resourceGroup, object, plans }) }
            known.set(key, entry)
          }
          return entry.user ?? []
        }),
    ),
  )
}

const MOST_KNOWN = 20_000

function quotaUser(
  { sized }: AnyKind,
  of: { key: string; resourceGroup: string; object: User; plans: readonly ComputePlan[] },
): QuotaUser | undefined {
  const { key, resourceGroup, object, plans } = of
  const plan = sized === undefined ? undefined : planFor(sized, object.spec, plans)
  if (sized !== undefined && plan?.spec.family !== sized) return undefined
  const createdAt = object.metadata.creationTimestamp ?? ''
  return { key, createdAt, resourceGroup, demand: demandOf(object, plan) }
}

/**
 * Whether a resource fits into what the boundary and the group may use, oldest first. Most have no limit above them, and
 * then no other resource is looked at: a thousand databases would otherwise each weigh a thousand at every change.
 *
 * @param isGivingBack it is stopped by what is asked for now, which always helps, whatever the quota has become since
 */
export function checkQuotaOf(pass: Pick<Pass, 'place' | 'records' | 'kind' | 'key'>, isGivingBack: boolean): Outcome {
  const { boundaryId, resourceGroup } = pass.place
  const boundary = pass.records.cache<Cached<Boundary>>(Boundary.resource).get(undefined, boundaryId ?? '')
  if (boundaryId === undefined || boundary === undefined || isGivingBack) return done()
  const groups = pass.records
    .cache<Cached<ResourceGroup>>(ResourceGroup.resource)
    .list({ namespace: boundaryNamespace(boundaryId) })
    .map(({ metadata: { name }, spec: { quota } }) => ({ name, quota }))
  const own = groups.find(({ name }) => name === resourceGroup)
  if (!limitsAmounts(boundary.spec.quota) && !limitsAmounts(own?.quota ?? {})) return done()
  const users = quotaUsers(pass.records, boundaryId)
  const subject = users.find(({ key }) => key === quotaKey(pass.kind, pass.key))
  if (subject === undefined) return done()
  const limits = new Map(groups.map(({ name, quota }) => [name, quota]))
  const verdict = quotaVerdict({ boundary: boundary.spec.quota, groups: limits, subject, others: users })
  return verdict.kind === 'fits' ? done() : stalled('QuotaExceeded', quotaSentence(verdict))
}

/** What wakes those of a kind that wait for room: other limits, and resources that shrink or go. */
export function quotaObservers(kind: AnyKind): Observed[] {
  const waiting = (records: Workspace, boundaryId: string | undefined): string[] => {
    const homes = records.cache(namespaces)
    return records
      .cache<User>(kind.resource)
      .byIndex(PHASE_INDEX, 'QuotaExceeded')
      .filter(({ metadata }) => {
        const labels = homes.get(undefined, metadata.namespace ?? '')?.metadata.labels
        return labels?.[BOUNDARY_LABEL] === boundaryId
      })
      .map(keyOf)
  }
  return [
    { resource: Boundary.resource, keysOf: ({ metadata }, records) => waiting(records, metadata.name) },
    {
      resource: ResourceGroup.resource,
      keysOf: ({ metadata }, records) => waiting(records, boundaryOfNamespace(metadata.namespace ?? '')),
    },
    ...RESOURCE_KINDS.map((user) => ({
      resource: user.resource,
      keysOf: ({ metadata }: KubeObject, records: Workspace) => {
        const home = records.cache(namespaces).get(undefined, metadata.namespace ?? '')
        return waiting(records, home?.metadata.labels?.[BOUNDARY_LABEL])
      },
    })),
  ]
}
