import type { PlatformApp } from '../../crds/apps.ts'
import { type Child, child, type WorkloadInput } from '../workload/child.ts'

type Scaling = Pick<PlatformApp['spec'], 'replicas' | 'minReplicas' | 'maxReplicas' | 'targetCpuPercent' | 'running'>

export const followsLoad = ({ minReplicas, maxReplicas }: Scaling) =>
  minReplicas !== undefined && maxReplicas !== undefined

/** How many copies are to run. Between the bounds of an app that follows its load, somebody else decides. */
export function copiesOf(spec: Scaling, now: number | undefined): number {
  const { replicas, minReplicas, maxReplicas } = spec
  if (minReplicas === undefined || maxReplicas === undefined) return replicas
  return Math.min(Math.max(now ?? minReplicas, minReplicas), maxReplicas)
}

/** What follows the load; undefined where the number is fixed or nothing runs. */
export function autoscaler(
  input: WorkloadInput,
  deployment: string,
  { minReplicas, maxReplicas, targetCpuPercent, running }: Scaling,
): Child<'HorizontalPodAutoscaler'> | undefined {
  if (!running || minReplicas === undefined || maxReplicas === undefined) return undefined
  return child(
    input,
    { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: deployment },
    {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment },
        minReplicas,
        maxReplicas,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: targetCpuPercent } },
          },
        ],
      },
    },
  )
}
