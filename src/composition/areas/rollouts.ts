import { kubeClusterLook, type LookedTypes } from '../../adapters/clusterlook/client.ts'
import type { ClusterLook, WantedRoles } from '../../adapters/clusterlook/port.ts'
import type { Services } from '../../api/http/context.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { VERSION } from '../../core/release.ts'
import { KINDS } from '../../crds/index.ts'
import { projectedRoles } from '../../iam/projection.ts'
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
} from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import { veleroBackup, veleroLocation } from '../../kube/velero.ts'
import type { AreaSetup } from './setup.ts'

const WORKLOADS = [deployment, statefulSet, daemonSet]

const TYPES: LookedTypes = {
  ...{ node, pod, quota: resourceQuota, definition: customResourceDefinition, role: clusterRole },
  ...{ database: postgresqlCluster, certificate, backup: veleroBackup, backupLocation: veleroLocation },
  workloads: WORKLOADS,
  // Never Secrets: the operator may not read those of components.
  rendered: [...WORKLOADS, service, configMap, serviceAccount, networkPolicy, podDisruptionBudget, ingress, cronJob],
}

/** What assignments become, as this release has it. */
const ROLES: WantedRoles = Object.fromEntries(
  projectedRoles(KINDS).map(({ clusterRole: name, rights }) => [
    name,
    rights.map(({ resource, verbs, resourceNames }) => ({
      ...{ apiGroups: [resource.group], resources: [resource.plural], verbs },
      ...(resourceNames !== undefined && { resourceNames }),
    })),
  ]),
)

function clusterLook({ client, configuration }: AreaSetup): ClusterLook {
  const velero = configuration.backupNamespace
  return kubeClusterLook({ client, types: TYPES, velero, home: SYSTEM_NAMESPACE, roles: ROLES })
}

export function rolloutServices(setup: AreaSetup): Pick<Services, 'rollouts'> {
  return { rollouts: { look: clusterLook(setup), version: VERSION } }
}

export function rolloutPorts(setup: AreaSetup): Pick<ControllerPorts, 'rollouts'> {
  return { rollouts: { look: clusterLook(setup), version: VERSION, velero: setup.configuration.backupNamespace } }
}
