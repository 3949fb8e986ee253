import type { ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import type { Place } from './places.ts'
import { type Reserve, underQuota } from './quota.ts'
import { refuseWhileDeleting } from './writes.ts'

/**
 * Changes the intent of a resource that is not being deleted.
 *
 * @param next the spec to write, from what is stored; asked again after a conflict. What it adds, it reserves first.
 * @throws PlatformError NOT_FOUND, CONFLICT, INVALID_STATE, QUOTA_EXCEEDED; what `next` throws
 */
export function changeResource<K extends AnyKind>(
  kind: K,
  { ref, place }: { ref: ObjectRef; place: Place },
  { services, caller, ifMatch }: Pick<Context, 'services' | 'caller' | 'ifMatch'>,
  next: (stored: RecordOf<K>, reserve: Reserve) => object | Promise<object>,
): Promise<{ object: RecordOf<K>; isChanged: boolean }> {
  return underQuota(kind, place, { services, caller }, (reserve) =>
    services.records.update(kind, ref, {
      caller,
      ifMatch,
      change: async (stored) => {
        refuseWhileDeleting(stored)
        return next(stored, reserve)
      },
    }),
  )
}
