import { BOUNDARY_LABEL, GROUP_LABEL } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import type { ObjectMeta } from '../../core/object.ts'
import { BUILD_LABEL, BUILD_NAMESPACE } from './progress.ts'

/** The key of the deployment that a Job or a pod of a build is of, from its labels; none for anything else. */
export function keyOfBuild({ namespace, labels = {} }: Pick<ObjectMeta, 'namespace' | 'labels'>): readonly string[] {
  const { [BUILD_LABEL]: id, [BOUNDARY_LABEL]: boundaryId, [GROUP_LABEL]: group } = labels
  if (namespace !== BUILD_NAMESPACE || id === undefined || boundaryId === undefined || group === undefined) return []
  return [`${groupNamespace(boundaryId, group)}/${id}`]
}
