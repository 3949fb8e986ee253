import { apiVersionOf } from '../core/object.ts'
import type { Resource } from './object.ts'

function core(kind: string, plural: string, namespaced = true): Resource {
  return { group: '', version: 'v1', plural, kind, namespaced }
}

function grouped(group: string, kind: string, plural: string, namespaced = true): Resource {
  return { group, version: 'v1', plural, kind, namespaced }
}

/** A type that comes with separately installed software; a cluster may lack it. */
export function optional(
  group: string,
  kind: string,
  plural: string,
  { version = 'v1', namespaced = true }: { version?: string; namespaced?: boolean } = {},
): Resource {
  return { group, version, plural, kind, namespaced, optional: true }
}

/** The kinds of Kubernetes itself that the platform touches. */
export const namespace = core('Namespace', 'namespaces', false)
export const secret = core('Secret', 'secrets')
/** The metadata of all Secrets: without a right to the values, a change may still have to be noticed. */
export const secretMetadata: Resource = { ...secret, metadataOnly: true }
export const configMap = core('ConfigMap', 'configmaps')
export const service = core('Service', 'services')
export const persistentVolumeClaim = core('PersistentVolumeClaim', 'persistentvolumeclaims')
export const persistentVolume = core('PersistentVolume', 'persistentvolumes', false)
export const pod = core('Pod', 'pods')
export const node = core('Node', 'nodes', false)
export const resourceQuota = core('ResourceQuota', 'resourcequotas')
export const limitRange = core('LimitRange', 'limitranges')
export const serviceAccount = core('ServiceAccount', 'serviceaccounts')

export const event = grouped('events.k8s.io', 'Event', 'events')
export const statefulSet = grouped('apps', 'StatefulSet', 'statefulsets')
export const deployment = grouped('apps', 'Deployment', 'deployments')
export const controllerRevision = grouped('apps', 'ControllerRevision', 'controllerrevisions')
export const daemonSet = grouped('apps', 'DaemonSet', 'daemonsets')
export const job = grouped('batch', 'Job', 'jobs')
export const cronJob = grouped('batch', 'CronJob', 'cronjobs')
export const podDisruptionBudget = grouped('policy', 'PodDisruptionBudget', 'poddisruptionbudgets')
export const horizontalPodAutoscaler: Resource = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  namespaced: true,
}
export const ingress = grouped('networking.k8s.io', 'Ingress', 'ingresses')
export const networkPolicy = grouped('networking.k8s.io', 'NetworkPolicy', 'networkpolicies')
export const storageClass = grouped('storage.k8s.io', 'StorageClass', 'storageclasses', false)
export const lease = grouped('coordination.k8s.io', 'Lease', 'leases')
export const role = grouped('rbac.authorization.k8s.io', 'Role', 'roles')
export const roleBinding = grouped('rbac.authorization.k8s.io', 'RoleBinding', 'rolebindings')
export const clusterRole = grouped('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles', false)
export const clusterRoleBinding = grouped(
  'rbac.authorization.k8s.io',
  'ClusterRoleBinding',
  'clusterrolebindings',
  false,
)
export const customResourceDefinition = grouped(
  'apiextensions.k8s.io',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
)
export const validatingAdmissionPolicy = grouped(
  'admissionregistration.k8s.io',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
  false,
)
export const validatingAdmissionPolicyBinding = grouped(
  'admissionregistration.k8s.io',
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
  false,
)
export const validatingWebhookConfiguration = grouped(
  'admissionregistration.k8s.io',
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
  false,
)

/** All of the above, for looking a type up by the words of a manifest. */
export const BUILTIN: readonly Resource[] = [
  namespace,
  secret,
  configMap,
  service,
  persistentVolumeClaim,
  persistentVolume,
  pod,
  node,
  resourceQuota,
  limitRange,
  serviceAccount,
  event,
  statefulSet,
  deployment,
  controllerRevision,
  daemonSet,
  job,
  cronJob,
  podDisruptionBudget,
  ingress,
  networkPolicy,
  storageClass,
  lease,
  role,
  roleBinding,
  clusterRole,
  clusterRoleBinding,
  customResourceDefinition,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
  validatingWebhookConfiguration,
]

/** The built-in resource of a manifest's `apiVersion` and `kind`, if it is one that we touch. */
export function builtinResource(apiVersion: string, kind: string): Resource | undefined {
  return BUILTIN.find((resource) => resource.kind === kind && apiVersion === apiVersionOf(resource))
}
