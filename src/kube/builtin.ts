import { apiVersionOf } from '../core/object.ts'
import type { Resource } from './object.ts'

const known: Resource[] = []

/** Returns the plural of a Kubernetes kind, such as `networkpolicies` or `ingresses`. */
const pluralOf = (kind: string) => `${kind.toLowerCase().replace(/y$/, 'ie').replace(/s$/, 'se')}s`

function builtin(group: string, kind: string, { namespaced = true, version = 'v1' } = {}): Resource {
  const resource = { group, version, plural: pluralOf(kind), kind, namespaced }
  known.push(resource)
  return resource
}

/** Declares a type of separately installed software; a cluster may lack it. */
export function optionalResource(group: string, kind: string, { version = 'v1', namespaced = true } = {}): Resource {
  return { group, version, plural: pluralOf(kind), kind, namespaced, optional: true }
}

const ON_CLUSTER = { namespaced: false }

/** The built-in kinds that the platform uses. */
export const namespace = builtin('', 'Namespace', ON_CLUSTER)
export const secret = builtin('', 'Secret')
/** The metadata of all Secrets, for noticing changes without the right to read the values. */
export const secretMetadata: Resource = { ...secret, metadataOnly: true }
export const configMap = builtin('', 'ConfigMap')
export const service = builtin('', 'Service')
export const persistentVolumeClaim = builtin('', 'PersistentVolumeClaim')
export const persistentVolume = builtin('', 'PersistentVolume', ON_CLUSTER)
export const pod = builtin('', 'Pod')
export const node = builtin('', 'Node', ON_CLUSTER)
export const resourceQuota = builtin('', 'ResourceQuota')
export const limitRange = builtin('', 'LimitRange')
export const serviceAccount = builtin('', 'ServiceAccount')

export const event = builtin('events.k8s.io', 'Event')
export const statefulSet = builtin('apps', 'StatefulSet')
export const deployment = builtin('apps', 'Deployment')
export const controllerRevision = builtin('apps', 'ControllerRevision')
export const daemonSet = builtin('apps', 'DaemonSet')
export const job = builtin('batch', 'Job')
export const cronJob = builtin('batch', 'CronJob')
export const podDisruptionBudget = builtin('policy', 'PodDisruptionBudget')
export const horizontalPodAutoscaler = builtin('autoscaling', 'HorizontalPodAutoscaler', { version: 'v2' })
export const ingress = builtin('networking.k8s.io', 'Ingress')
export const networkPolicy = builtin('networking.k8s.io', 'NetworkPolicy')
export const storageClass = builtin('storage.k8s.io', 'StorageClass', ON_CLUSTER)
export const lease = builtin('coordination.k8s.io', 'Lease')
/** @internal Looked up by the apiVersion and kind of a manifest; only tests name it. */
export const role = builtin('rbac.authorization.k8s.io', 'Role')
export const roleBinding = builtin('rbac.authorization.k8s.io', 'RoleBinding')
export const clusterRole = builtin('rbac.authorization.k8s.io', 'ClusterRole', ON_CLUSTER)
/** @internal Looked up by the apiVersion and kind of a manifest; only tests name it. */
export const clusterRoleBinding = builtin('rbac.authorization.k8s.io', 'ClusterRoleBinding', ON_CLUSTER)
export const customResourceDefinition = builtin('apiextensions.k8s.io', 'CustomResourceDefinition', ON_CLUSTER)
export const validatingAdmissionPolicy = builtin(
  'admissionregistration.k8s.io',
  'ValidatingAdmissionPolicy',
  ON_CLUSTER,
)
export const validatingAdmissionPolicyBinding = builtin(
  'admissionregistration.k8s.io',
  'ValidatingAdmissionPolicyBinding',
  ON_CLUSTER,
)
export const flowSchema = builtin('flowcontrol.apiserver.k8s.io', 'FlowSchema', ON_CLUSTER)
export const priorityLevelConfiguration = builtin(
  'flowcontrol.apiserver.k8s.io',
  'PriorityLevelConfiguration',
  ON_CLUSTER,
)
export const validatingWebhookConfiguration = builtin(
  'admissionregistration.k8s.io',
  'ValidatingWebhookConfiguration',
  ON_CLUSTER,
)

/** All built-in resources above, for lookups by the apiVersion and kind of a manifest. */
export const BUILTIN_RESOURCES: readonly Resource[] = known

/** Returns the built-in resource with this `apiVersion` and `kind`; undefined if the platform does not use it. */
export function builtinResource(apiVersion: string, kind: string): Resource | undefined {
  return BUILTIN_RESOURCES.find((resource) => resource.kind === kind && apiVersion === apiVersionOf(resource))
}
