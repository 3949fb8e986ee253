import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { policyWithBinding } from './policy.ts'

const PART_OF = 'app.kubernetes.io/part-of'

/**
 * Deleting a CRD deletes all its objects, which admission does not see: the controllers would then delete every
 * database of every tenant. Deleting the platform's namespace deletes its keys. Both are refused while there is a
 * boundary, because after the last one nothing is left to lose. To delete them anyway, remove the label first.
 *
 * A finalizer keeps the policy in force when all manifests are deleted: kubectl would delete the CRDs at a second
 * attempt, Git tools at the first, because they delete policies before CRDs. docs/install.md says who removes it.
 */
export function removalPolicy(): KubeObject[] {
  const finalizers = ['freehold.dev/boundaries']
  return removal().map((object) => ({ ...object, metadata: { ...object.metadata, finalizers } }))
}

function removal(): KubeObject[] {
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
    // The CRD of boundaries is among those that are deleted in the end; the others must still be deletable without it.
    failurePolicy: 'Ignore',
    validations: [
      {
        expression: 'false',
        messageExpression: `'"' + oldObject.metadata.name + '" holds what tenants have: boundary "' + params.metadata.name + '" still exists. Delete the boundaries first, or remove the label ${PART_OF}'`,
        reason: 'Forbidden',
      },
    ],
  })
}
