import type { PlatformApp } from '../../crds/apps.ts'
import { type Child, child, type WorkloadInput } from '../workload/child.ts'

type Scaling = Pick<PlatformApp['spec'], 'replicas' | 'minReplicas' | 'maxReplicas' | 'targetCpuPercent' | 'running'>

/** Returns the number of copies. Between the bounds of an autoscaled app, the autoscaler decides. */
export function copiesOf(spec: Scaling, now: number | undefined): number {
  const { replicas, minReplicas, maxReplicas } = spec
  if (minReplicas === undefined || maxReplicas === undefined) return replicas
  return Math.min(Math.max(now ?? minReplicas, minReplicas), maxReplicas)
}

/** Returns the autoscaler; undefined if the number of copies is fixed or the app is stopped. */
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
