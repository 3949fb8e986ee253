import { notFound } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { findGroup } from './places.ts'
import { type Place, placeOf } from './writes.ts'

/** The reference of the resource that the path names, in a group that exists. */
export async function locate(
  context: Context,
  parameter: string,
): Promise<{ ref: { namespace: string; name: string }; place: Place }> {
  const place = placeOf(context, parameter)
  const { boundaryId, resourceGroup, name } = place
  await findGroup(context, boundaryId, resourceGroup)
  return { ref: { namespace: groupNamespace(boundaryId, resourceGroup), name }, place }
}

/** The resource that the path names. @throws PlatformError NOT_FOUND */
export async function findResource<K extends AnyKind>(
  kind: K,
  context: Context,
  parameter = 'name',
  declaration: { segment: string } = { segment: kind.segment },
): Promise<{ object: RecordOf<K>; place: Place; ref: { namespace: string; name: string } }> {
  const { ref, place } = await locate(context, parameter)
  const object = await context.services.records.get(kind, ref, { fresh: context.fresh })
  if (object === undefined)
    throw notFound(`"${place.name}" of ${declaration.segment} in group "${place.resourceGroup}"`)
  return { object, place, ref }
}
