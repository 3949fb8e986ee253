import { kubeRoleCeiling } from '../../adapters/clusterinspector/ceiling.ts'
import { kubeClusterInspector } from '../../adapters/clusterinspector/client.ts'
import type { ClusterInspector, WantedRoles } from '../../adapters/clusterinspector/port.ts'
import type { Services } from '../../api/http/context.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { VERSION } from '../../core/release.ts'
import { KINDS } from '../../crds/index.ts'
import { projectedRoles } from '../../iam/projection.ts'
import { clusterRole } from '../../kube/builtin.ts'
import { createKubeClient } from '../../kube/client.ts'
import { INSPECTED_TYPES } from '../../kube/inspectedTypes.ts'
import { accessAs } from '../../kubeconfig/access.ts'
import { loadKubeconfig } from '../../kubeconfig/kubeconfig.ts'
import { userAgent } from '../connection.ts'
import type { AreaSetup } from './setup.ts'

const FIELD_MANAGER = 'freehold-ceiling'

/** The ClusterRoles that this release projects assignments to. */
const ROLES: WantedRoles = Object.fromEntries(
  projectedRoles(KINDS).map(({ clusterRole: name, rights }) => [
    name,
    rights.map(({ resource, verbs, resourceNames }) => ({
      ...{ apiGroups: [resource.group], resources: [resource.plural], verbs },
      ...(resourceNames !== undefined && { resourceNames }),
    })),
  ]),
)

function clusterInspector({ client, configuration }: AreaSetup): ClusterInspector {
  const velero = configuration.backupNamespace
  return kubeClusterInspector({
    client,
    types: INSPECTED_TYPES,
    velero,
    platformNamespace: SYSTEM_NAMESPACE,
    roles: ROLES,
  })
}

export function rolloutServices(setup: AreaSetup): Pick<Services, 'rollouts'> {
  const { client } = setup
  const ceiling = kubeRoleCeiling({ client, clientAs: clientAs(setup), roles: ROLES, type: clusterRole })
  return { rollouts: { inspector: clusterInspector(setup), ceiling, version: VERSION } }
}

const clientAs =
  ({ configuration: { kubeconfig, facadeContext }, log }: AreaSetup) =>
  (authorization: string) => {
    const access = accessAs(loadKubeconfig(kubeconfig, facadeContext), authorization)
    return createKubeClient(access, { fieldManager: FIELD_MANAGER, userAgent: userAgent(FIELD_MANAGER), log })
  }

export function rolloutPorts(setup: AreaSetup): Pick<ControllerPorts, 'rollouts'> {
  return {
    rollouts: { inspector: clusterInspector(setup), version: VERSION, velero: setup.configuration.backupNamespace },
  }
}
