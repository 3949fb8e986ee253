import { kubeClusterLook } from '../../adapters/clusterlook/client.ts'
import type { ClusterLook, WantedRoles } from '../../adapters/clusterlook/port.ts'
import type { Services } from '../../api/http/context.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { VERSION } from '../../core/release.ts'
import { KINDS } from '../../crds/index.ts'
import { projectedRoles } from '../../iam/projection.ts'
import { LOOKED_TYPES } from '../../kube/looked.ts'
import type { AreaSetup } from './setup.ts'

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
  return kubeClusterLook({ client, types: LOOKED_TYPES, velero, home: SYSTEM_NAMESPACE, roles: ROLES })
}

export function rolloutServices(setup: AreaSetup): Pick<Services, 'rollouts'> {
  return { rollouts: { look: clusterLook(setup), version: VERSION } }
}

export function rolloutPorts(setup: AreaSetup): Pick<ControllerPorts, 'rollouts'> {
  return { rollouts: { look: clusterLook(setup), version: VERSION, velero: setup.configuration.backupNamespace } }
}
