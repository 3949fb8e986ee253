import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { policyWithBinding } from './policy.ts'

const PART_OF = 'app.kubernetes.io/part-of'

/**
 * With a definition go all its objects, which no admission sees: the controllers would then take away every database of
 * every tenant. With the namespace of the platform go its keys. Both stay while there is a boundary, as nothing is left to lose
 * after the last one; whoever must takes the label off first.
 */
export function removalPolicy(): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-removal',
    rules: [
      {
        apiGroups: ['apiextensions.k8s.io'],
        apiVersions: ['*'],
        resources: ['customresourcedefinitions'],
        operations: ['DELETE'],
        scope: 'Cluster',
      },
      { apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'], operations: ['DELETE'], scope: 'Cluster' },
    ],
    matchConditions: [
      {
        name: 'part-of-the-platform',
        expression: `oldObject.metadata.?labels[?'${PART_OF}'].orValue('') == 'freehold' && (request.resource.resource != 'namespaces' || request.name == '${SYSTEM_NAMESPACE}')`,
      },
    ],
    paramKind: { apiVersion: Boundary.apiVersion, kind: Boundary.kind },
    // Its own definition is among those that go in the end, and the rest must still be able to.
    failurePolicy: 'Ignore',
    validations: [
      {
        expression: 'false',
        messageExpression: `'with "' + oldObject.metadata.name + '" would go what tenants have: boundary "' + params.metadata.name + '" is still there. Delete the boundaries first, or take the label ${PART_OF} off'`,
        reason: 'Forbidden',
      },
    ],
  })
}
