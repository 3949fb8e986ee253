import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { capRequestAtLimit, type DiskShare, EPHEMERAL_STORAGE } from '../core/sizing/disk.ts'
import type { ResourceGroup } from '../crds/resourcegroups.ts'

type Quota = ResourceGroup['spec']['quota']

/** Which of our service accounts may access the Secrets of a group's namespace, and with which role. */
export const SECRET_BINDINGS = [
  { name: 'freehold-controllers-secrets', clusterRole: 'freehold-secrets', account: 'freehold-controllers' },
  { name: 'freehold-facade-secrets', clusterRole: 'freehold-facade-secrets', account: 'freehold-facade' },
] as const

const RBAC_GROUP = 'rbac.authorization.k8s.io'

/** Returns the bindings per account: none of our accounts may read the Secrets of the whole cluster. */
export function secretBindings(namespace: string): KubeObject[] {
  return SECRET_BINDINGS.map(({ name, clusterRole, account }) => ({
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: clusterRole },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: SYSTEM_NAMESPACE }],
  }))
}

/**
 * Returns the group's ResourceQuota; undefined if nothing that Kubernetes counts is limited. Like plans and verdicts it
 * counts requests; limits may overcommit. The number of resources is counted by the platform.
 */
export function groupResourceQuota(namespace: string, quota: Quota): KubeObject | undefined {
  const hard = Object.fromEntries(
    Object.entries({
      'requests.cpu': quota.cpu,
      'requests.memory': quota.memory,
      'requests.storage': quota.storage,
      pods: quota.pods === undefined ? undefined : String(quota.pods),
    }).filter(([, amount]) => amount !== undefined),
  )
  if (Object.keys(hard).length === 0) return undefined
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'freehold-quota', namespace },
    spec: { hard },
  }
}

/**
 * Defaults for containers without requests, which a quota on requests would make Kubernetes reject. It also gives each
 * container its share of the node's disk. The share is not in the pod templates, because changing those would restart
 * all pods on an upgrade or a changed setting.
 */
export function groupLimitRange(namespace: string, quota: Quota, share: DiskShare): KubeObject {
  const { limit, request } = capRequestAtLimit(share)
  const defaultRequest = {
    ...(quota.cpu === undefined ? {} : { cpu: '10m' }),
    ...(quota.memory === undefined ? {} : { memory: '32Mi' }),
    [EPHEMERAL_STORAGE]: request,
  }
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'freehold-requests', namespace },
    spec: { limits: [{ type: 'Container', default: { [EPHEMERAL_STORAGE]: limit }, defaultRequest }] },
  }
}
