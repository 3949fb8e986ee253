import { BUILD_NAMESPACE } from '../../src/contracts/builds/progress.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { IS_ADMINISTRATOR, negated, policyWithBinding } from './policy.ts'

/** The capabilities with which BuildKit's programs set up a user namespace. */
const CAPABILITIES = ['SETUID', 'SETGID']
/** Volumes that contain nothing of the node or of anything else outside the cluster. */
const VOLUMES = ['emptyDir', 'projected', 'secret', 'configMap', 'downwardAPI']

/**
 * Builds need more than the Pod Security level `restricted` allows, and no other level fits their needs. This policy
 * closes the ways from a build pod to its node, for anybody who may create pods there.
 */
export function buildPodsPolicy(): KubeObject[] {
  const added = `c.?securityContext.?capabilities.?add.orValue([]).all(a, a in [${CAPABILITIES.map((name) => `'${name}'`).join(', ')}])`
  const hosts = ['hostNetwork', 'hostPID', 'hostIPC'].map((field) => `!object.spec.?${field}.orValue(false)`)
  return policyWithBinding({
    name: 'freehold-build-pods',
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'], scope: 'Namespaced' }],
    // Pods elsewhere are not evaluated and do not depend on this policy. The API server itself sets the label.
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': BUILD_NAMESPACE } },
    matchConditions: [negated(IS_ADMINISTRATOR)],
    variables: [{ name: 'containers', expression: 'object.spec.containers + object.spec.?initContainers.orValue([])' }],
    validations: [
      ...hosts,
      `object.spec.?volumes.orValue([]).all(v, ${VOLUMES.map((type) => `has(v.${type})`).join(' || ')})`,
      'variables.containers.all(c, !c.?securityContext.?privileged.orValue(false))',
      `variables.containers.all(c, ${added})`,
      'variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))',
    ].map((expression) => ({
      expression,
      message: `a build does not reach its node: no namespaces, paths or ports of the host, no privileged container, no capabilities beside ${CAPABILITIES.join(' and ')}, only volumes of its own`,
      reason: 'Forbidden',
    })),
  })
}
