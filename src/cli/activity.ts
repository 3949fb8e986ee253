import { type ActivityEntry, OPERATIONS, pathOf } from '../client/index.ts'
import { normalizedPath } from './collections.ts'
import type { PreparedRequest } from './requests.ts'

/**
 * Returns the newest activity of a resource, a group or a boundary, newest first; undefined for anything else, which
 * has no activity log.
 */
export async function activityOf(prepared: Pick<PreparedRequest, 'client' | 'collection' | 'target'>, limit: number) {
  const path = activityPath(prepared, limit)
  if (path === undefined) return undefined
  const { text } = await prepared.client.request({ method: 'GET', path })
  return (JSON.parse(text) as { items: ActivityEntry[] }).items
}

function activityPath(
  { collection: { noun }, target }: Pick<PreparedRequest, 'collection' | 'target'>,
  pageSize: number,
) {
  const { boundaryId = '', resourceGroupName: resourceGroup = '' } = target.values
  const resourceName = target.values[target.route.nameParameter ?? '']
  const { GetActivityRecords: ofResource, GetBoundariesBoundaryIdActivity: ofBoundary } = OPERATIONS
  const path = normalizedPath(target.route)
  if (path === '/boundaries/{}') return pathOf(ofBoundary.path, { boundaryId }, { pageSize })
  if (path === '/boundaries/{}/resourcegroups/{}')
    return pathOf(ofBoundary.path, { boundaryId }, { pageSize, filter: `resourceGroup:eq:${resourceGroup}` })
  if (path !== `/boundaries/{}/resourcegroups/{}/resources/${noun}/{}` || resourceName === undefined) return undefined
  return pathOf(ofResource.path, { boundaryId, resourceGroup, resourceType: noun, resourceName }, { pageSize })
}
