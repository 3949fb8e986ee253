import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { DISK, type DiskShare, withinLimit } from '../core/sizing/disk.ts'
import type { ResourceGroup } from '../crds/resourcegroups.ts'

type Quota = ResourceGroup['spec']['quota']

/** The Secrets of a group's namespace: whom of ours they are opened to, and by which role. */
export const SECRET_BINDINGS = [
  { name: 'freehold-controllers-secrets', clusterRole: 'freehold-secrets', account: 'freehold-controllers' },
  { name: 'freehold-facade-secrets', clusterRole: 'freehold-facade-secrets', account: 'freehold-facade' },
] as const

const RBAC_GROUP = 'rbac.authorization.k8s.io'

/** One binding per account, because no account of ours may read the Secrets of the whole cluster. */
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
 * The ResourceQuota of a group, or undefined if nothing that Kubernetes counts is limited. Requests are limited, as
 * plans and verdicts count requests; limits may overcommit. The number of resources is ours to count, not Kubernetes'.
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
 * What containers get that name none. Where a quota counts requests, Kubernetes refuses a pod without them. And each has its
 * share of the disk of its node, whoever made its pod: here and not in the pods themselves, because a new template would restart
 * everything that runs when the platform is upgraded or the setting is changed.
 */
export function groupLimitRange(namespace: string, quota: Quota, share: DiskShare): KubeObject {
  const { limit, request } = withinLimit(share)
  const defaultRequest = {
    ...(quota.cpu === undefined ? {} : { cpu: '10m' }),
    ...(quota.memory === undefined ? {} : { memory: '32Mi' }),
    [DISK]: request,
  }
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'freehold-requests', namespace },
    spec: { limits: [{ type: 'Container', default: { [DISK]: limit }, defaultRequest }] },
  }
}
