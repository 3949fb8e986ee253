import { BOUNDARY_LABEL, GROUP_LABEL } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import { type ObjectMeta, objectKey } from '../../core/object.ts'
import { BUILD_LABEL, BUILD_NAMESPACE, type BuiltDeployment } from './progress.ts'
import type { BuildRequest } from './request.ts'

type BuildIdentity = Pick<BuildRequest, 'deploymentId'> & {
  owner: Pick<BuildRequest['owner'], 'boundaryId' | 'resourceGroup'>
}

/** Labels that tell the objects of a build from those of every other build. */
export function buildLabels({ owner, deploymentId }: BuildIdentity): Record<string, string> {
  return { [BUILD_LABEL]: deploymentId, [BOUNDARY_LABEL]: owner.boundaryId, [GROUP_LABEL]: owner.resourceGroup }
}

export function builtDeployment({ owner, deploymentId }: BuildIdentity): BuiltDeployment {
  return { namespace: groupNamespace(owner.boundaryId, owner.resourceGroup), name: deploymentId }
}

/** Returns the key of the deployment that a Job or pod builds, from its labels; empty for anything else. */
export function keyOfBuild({ namespace, labels = {} }: Pick<ObjectMeta, 'namespace' | 'labels'>): readonly string[] {
  const { [BUILD_LABEL]: deploymentId, [BOUNDARY_LABEL]: boundaryId, [GROUP_LABEL]: resourceGroup } = labels
  if (namespace !== BUILD_NAMESPACE || deploymentId === undefined) return []
  if (boundaryId === undefined || resourceGroup === undefined) return []
  const { namespace: deploymentNamespace, name } = builtDeployment({
    owner: { boundaryId, resourceGroup },
    deploymentId,
  })
  return [objectKey(deploymentNamespace, name)]
}

/** Whether a Job or pod belongs to the build of that deployment. */
export function isOfBuild(metadata: Pick<ObjectMeta, 'namespace' | 'labels'>, { namespace, name }: BuiltDeployment) {
  return keyOfBuild(metadata).includes(objectKey(namespace, name))
}
