import { valueAtFieldPath } from '../../contracts/rollouts/drift.ts'
import type { ClusterCheckFacts, Fact } from '../../contracts/rollouts/facts.ts'
import { kubeFailureOf } from '../../core/kubeFailure.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { INSPECTED_TYPES } from '../../kube/inspectedTypes.ts'
import { driftOf } from './drift.ts'
import {
  backupFacts,
  certificateFacts,
  databaseFacts,
  missingDefinitions,
  nodeFacts,
  quotaFacts,
  sumPodRequests,
  workloadFacts,
} from './facts.ts'
import type { ClusterInspector, InspectedComponent, WantedRoles } from './port.ts'
import { lackingRules } from './roles.ts'

export type ClusterInspectorOptions = {
  client: Pick<KubeClient, 'list' | 'get'>
  types: typeof INSPECTED_TYPES
  /** Namespace of Velero. */
  velero: string
  /** Namespace of the platform itself. */
  platformNamespace: string
  roles: WantedRoles
}

const FLUX_NAME = 'helm.toolkit.fluxcd.io/name'
const FLUX_NAMESPACE = 'helm.toolkit.fluxcd.io/namespace'

/** Reads from the API server. Each fact may fail on its own. */
export function kubeClusterInspector({
  client,
  types,
  velero,
  platformNamespace,
  roles,
}: ClusterInspectorOptions): ClusterInspector {
  const list = async (resource: Resource, namespace?: string) =>
    (await client.list(resource, { namespace, resourceVersion: '0' })).items
  const inAll = async (resource: Resource, namespaces: readonly string[]) =>
    (await Promise.all(namespaces.map((namespace) => list(resource, namespace)))).flat()

  return {
    async facts(components): Promise<ClusterCheckFacts> {
      const namespaces = [...new Set([platformNamespace, ...components.map(({ namespace }) => namespace)])]
      const wanted = components.flatMap(({ definitions }) => definitions)
      const [nodes, requests, databases, certificates, quotas, workloads, backups, crds, ceiling] = await Promise.all([
        readFact('nodes', async () => (await list(types.node)).map(nodeFacts)),
        readFact('pods', async () => sumPodRequests(await list(types.pod))),
        readFact('CloudNativePG', async () => (await inAll(types.database, namespaces)).map(databaseFacts)),
        readFact('cert-manager', async () => (await inAll(types.certificate, namespaces)).map(certificateFacts)),
        readFact('quotas', async () => (await inAll(types.quota, namespaces)).map(quotaFacts)),
        readFact('workloads', async () => {
          const found = await Promise.all(types.workloads.map((resource) => inAll(resource, namespaces)))
          return found.flat().map(workloadFacts)
        }),
        readFact('Velero', async () =>
          backupFacts(await list(types.backupLocation, velero), await list(types.backup, velero)),
        ),
        readFact('definitions', async () =>
          missingDefinitions(wanted, wanted.length === 0 ? [] : await list(types.definition)),
        ),
        readFact('roles', async () => lackingRules(roles, await list(types.role))),
      ])
      return { nodes, requests, databases, certificates, quotas, workloads, backups, missingDefinitions: crds, ceiling }
    },

    async drift(components) {
      const byRelease = new Map(components.map((component) => [component.release, component]))
      const labelSelector = `${FLUX_NAMESPACE}=${platformNamespace},${FLUX_NAME} in (${[...byRelease.keys()].join(',')})`
      if (byRelease.size === 0) return { scanned: 0, items: [], problems: [] }
      const problems: string[] = []
      const found: [InspectedComponent, KubeObject][] = []
      for (const resource of types.rendered) {
        const items = await client.list(resource, { labelSelector }).then(
          (answer) => answer.items,
          (error: unknown) => {
            const reason = reasonOf(error)
            if (reason === undefined) throw error
            problems.push(`${resource.plural}: ${reason}`)
            return []
          },
        )
        for (const object of items) {
          const component = byRelease.get(object.metadata.labels?.[FLUX_NAME] ?? '')
          if (component !== undefined) found.push([component, object])
        }
      }
      return {
        scanned: found.length,
        items: found.flatMap(([component, object]) => driftOf(component, object)),
        problems,
      }
    },

    async valueOf({ kind, namespace, name, field }) {
      const resource = types.rendered.find((one) => one.kind === kind)
      if (resource === undefined) return undefined
      try {
        return valueAtFieldPath(await client.get(resource, { namespace, name }), field)
      } catch (error) {
        if (reasonOf(error) === undefined) throw error
        return undefined
      }
    },
  }
}

async function readFact<Value>(what: string, read: () => Promise<Value>): Promise<Fact<Value>> {
  try {
    return { value: await read() }
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    return { unknown: `Nothing is known about ${what}: ${reason}` }
  }
}

/** Says why the API server gave no answer; undefined if it is not an error of the API server. */
function reasonOf(error: unknown): string | undefined {
  const failure = kubeFailureOf(error)
  if (failure === undefined) return undefined
  const { reason } = failure
  if (reason === 'NotServed' || reason === 'NotFound') return 'the cluster does not have it.'
  return reason === 'Forbidden' ? 'this part of the platform may not read it.' : 'the API server did not answer.'
}
