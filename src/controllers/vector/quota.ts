import { BOUNDARY_LABEL, GROUP_LABEL } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { type KubeObject, keyOf } from '../../core/object.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { vectorNames } from '../../core/vector.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { choosePlan } from '../../desired/plans.ts'
import { type QuotaUser, quotaSentence, quotaVerdict } from '../../desired/quota.ts'
import { vectorDemand } from '../../desired/vector/index.ts'
import { namespace as namespaces, statefulSet } from '../../kube/builtin.ts'
import type { Workspace } from '../engine/controller.ts'
import { placeOfPass, type VectorPass } from './types.ts'

type Cached<T> = T & { [key: string]: unknown }

/** The vector databases of a boundary with what they ask for; those without a plan ask for nothing yet. */
export function vectorUsers(records: Workspace, boundaryId: string): QuotaUser[] {
  const plans = records.cache<Cached<ComputePlan>>(ComputePlan.resource).list()
  const homes = records.cache(namespaces)
  return records
    .cache<Cached<VectorCluster>>(VectorCluster.resource)
    .list()
    .flatMap((cluster) => {
      const labels = homes.get(undefined, cluster.metadata.namespace ?? '')?.metadata.labels
      const choice = choosePlan('Vector', cluster.spec, plans)
      if (labels?.[BOUNDARY_LABEL] !== boundaryId || choice.kind === 'refused') return []
      const replicas = cluster.spec.replicas ?? choice.plan.replicas
      return [
        {
          key: keyOf(cluster as KubeObject),
          createdAt: cluster.metadata.creationTimestamp ?? '',
          resourceGroup: labels[GROUP_LABEL] ?? '',
          demand: vectorDemand(choice.plan, { replicas, running: cluster.spec.running }),
        },
      ]
    })
}

/** Whether it fits into what the boundary and the group may use, oldest first. What runs already is never taken away. */
export function checkQuota(pass: VectorPass): Outcome {
  const { boundaryId } = pass.place
  const boundary = pass.records.cache<Cached<Boundary>>(Boundary.resource).get(undefined, boundaryId ?? '')
  if (boundaryId === undefined || boundary === undefined) return done()
  const users = vectorUsers(pass.records, boundaryId)
  const subject = users.find(({ key }) => key === pass.key)
  if (subject === undefined || stopsWhatRuns(pass)) return done()
  const groups = pass.records
    .cache<Cached<ResourceGroup>>(ResourceGroup.resource)
    .list({ namespace: boundaryNamespace(boundaryId) })
    .map((group) => [group.metadata.name, group.spec.quota] as const)
  const verdict = quotaVerdict({ boundary: boundary.spec.quota, groups: new Map(groups), subject, others: users })
  return verdict.kind === 'fits' ? done() : stalled('QuotaExceeded', quotaSentence(verdict))
}

/** Stopping always helps, whatever the quota has become since. */
function stopsWhatRuns(pass: VectorPass): boolean {
  const { namespace, name } = placeOfPass(pass)
  const exists = pass.workloads.cache(statefulSet).get(namespace, vectorNames(name).workload) !== undefined
  return exists && (!pass.object.spec.running || pass.state.replicas === 0)
}
