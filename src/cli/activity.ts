import { OPERATIONS, pathOf } from '../client/index.ts'
import { placeOf } from './collections.ts'
import type { Prepared } from './requests.ts'

export type ActivityEntry = {
  occurredAt: string
  action: string
  operation: string
  outcome: string
  channel: string
  actor?: { displayName?: string; name?: string; id?: string; type?: string }
}

/** What was done to a resource of a group, the newest first; undefined for all else, of which there is no such record. */
export async function activityOf(
  { client, collection, target }: Pick<Prepared, 'client' | 'collection' | 'target'>,
  limit: number,
): Promise<ActivityEntry[] | undefined> {
  const { boundaryId = '', resourceGroupName: resourceGroup = '' } = target.values
  const resourceName = target.values[target.route.nameParameter ?? '']
  const isOfGroup = placeOf(target.route) === `/boundaries/{}/resourcegroups/{}/resources/${collection.noun}/{}`
  if (!isOfGroup || resourceName === undefined) return undefined
  const values = { boundaryId, resourceGroup, resourceType: collection.noun, resourceName }
  const path = pathOf(OPERATIONS.GetActivityRecords.path, values, { pageSize: limit })
  const { text } = await client.request({ method: 'GET', path })
  return (JSON.parse(text) as { items: ActivityEntry[] }).items
}
