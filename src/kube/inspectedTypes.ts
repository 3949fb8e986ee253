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
  service,
  serviceAccount,
  statefulSet,
} from './builtin.ts'
import { certificate } from './certmanager.ts'
import { postgresqlCluster } from './postgresql.ts'
import { veleroBackup, veleroBackupStorageLocation } from './velero.ts'

const workloads = [deployment, statefulSet, daemonSet]

const checked = {
  ...{ quota: resourceQuota, definition: customResourceDefinition, role: clusterRole },
  ...{ database: postgresqlCluster, certificate },
}

/** The types that only the checks before a rollout read. */
export const CHECKED_TYPES = Object.values(checked)

/** The types that the checks before a rollout and the scans for manual changes read. */
export const INSPECTED_TYPES = {
  ...{ node, pod, backup: veleroBackup, backupLocation: veleroBackupStorageLocation, ...checked, workloads },
  /** Types that charts render and people change. Never Secrets: the operator may not read those of components. */
  rendered: [...workloads, service, configMap, serviceAccount, networkPolicy, podDisruptionBudget, ingress, cronJob],
}
