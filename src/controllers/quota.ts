import { BOUNDARY_LABEL, GROUP_LABEL } from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace } from '../core/names.ts'
import { type KubeObject, keyOf } from '../core/object.ts'
import { done, type Outcome, stalled } from '../core/outcome.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { ComputePlan, type PlanFamily } from '../crds/plans.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { SqlInstance } from '../crds/sql.ts'
import { VectorCluster } from '../crds/vector.ts'
import { demandOf } from '../desired/demand.ts'
import { choosePlan, type PlanOverrides } from '../desired/plans.ts'
import { type QuotaUser, quotaSentence, quotaVerdict } from '../desired/quota.ts'
import { namespace as namespaces } from '../kube/builtin.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'
import { PHASE_INDEX } from './engine/phaseIndex.ts'

type Cached<T> = T & { [key: string]: unknown }

/** The kinds that a quota is shared by, each with the family of its plans. */
const USERS: readonly { kind: AnyKind; family: PlanFamily }[] = [
  { kind: VectorCluster, family: 'Vector' },
  { kind: RelationalCluster, family: 'Relational' },
  { kind: SqlInstance, family: 'Sql' },
]

type Sized = PlanOverrides & { replicas?: number; running?: boolean; walStorageSize?: string }
type User = KubeObject & { spec: Sized }

/** The resources of a boundary with what they ask for; those without a plan ask for nothing yet. */
function quotaUsers(records: Workspace, boundaryId: string): QuotaUser[] {
  const plans = records.cache<Cached<ComputePlan>>(ComputePlan.resource).list()
  const homes = records.cache(namespaces)
  return USERS.flatMap(({ kind, family }) =>
    records
      .cache<User>(kind.resource)
      .list()
      .flatMap((object) => {
        const labels = homes.get(undefined, object.metadata.namespace ?? '')?.metadata.labels
        const choice = choosePlan(family, object.spec, plans)
        if (labels?.[BOUNDARY_LABEL] !== boundaryId || choice.kind === 'refused') return []
        const { replicas = choice.plan.replicas, running = true, walStorageSize: extraStorage } = object.spec
        return [
          {
            key: quotaKey(kind, keyOf(object)),
            createdAt: object.metadata.creationTimestamp ?? '',
            resourceGroup: labels[GROUP_LABEL] ?? '',
            demand: demandOf(choice.plan, { replicas, running, extraStorage }),
          },
        ]
      }),
  )
}

/** Two kinds may use one name in a namespace. */
const quotaKey = (kind: AnyKind, key: string) => `${key}/${kind.plural}`

/**
 * Whether a resource fits into what the boundary and the group may use, oldest first.
 *
 * @param isGivingBack it is stopped by what is asked for now, which always helps, whatever the quota has become since
 */
export function checkQuotaOf<K extends AnyKind, State>(pass: Pass<K, State>, isGivingBack: boolean): Outcome {
  const { boundaryId } = pass.place
  const boundary = pass.records.cache<Cached<Boundary>>(Boundary.resource).get(undefined, boundaryId ?? '')
  if (boundaryId === undefined || boundary === undefined) return done()
  const users = quotaUsers(pass.records, boundaryId)
  const subject = users.find(({ key }) => key === quotaKey(pass.kind, pass.key))
  if (subject === undefined || isGivingBack) return done()
  const groups = pass.records
    .cache<Cached<ResourceGroup>>(ResourceGroup.resource)
    .list({ namespace: boundaryNamespace(boundaryId) })
    .map((group) => [group.metadata.name, group.spec.quota] as const)
  const verdict = quotaVerdict({ boundary: boundary.spec.quota, groups: new Map(groups), subject, others: users })
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
    ...USERS.map(({ kind: user }) => ({
      resource: user.resource,
      keysOf: ({ metadata }: KubeObject, records: Workspace) => {
        const home = records.cache(namespaces).get(undefined, metadata.namespace ?? '')
        return waiting(records, home?.metadata.labels?.[BOUNDARY_LABEL])
      },
    })),
  ]
}
