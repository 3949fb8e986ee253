import { createMetricSource } from '../../adapters/prometheus/metricClient.ts'
import type { Services } from '../../api/http/context.ts'
import { createKubernetesObjects } from '../../api/monitoring/kubernetesObjects.ts'
import type { FacadeSetup } from './setup.ts'

/** Provides metrics and objects of clusters and workloads. */
export function monitoringServices({
  client,
  caches,
  agents,
  configuration: { prometheusUrl: url },
  log,
}: FacadeSetup): Pick<Services, 'monitoring'> {
  const clientOf = (clusterId: string) => agents.clientOf(clusterId)
  return {
    monitoring: {
      metrics: url === undefined ? undefined : createMetricSource({ url, log }),
      objects: createKubernetesObjects({ client, caches, clientOf }),
    },
  }
}
