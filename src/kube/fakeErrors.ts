import { type ObjectRef, objectKey, type Resource, resourceId } from '../core/object.ts'
import { KubeError, type KubeErrorReason } from './errors.ts'

const STATUS: Partial<Record<KubeErrorReason, number>> = {
  NotFound: 404,
  Conflict: 409,
  AlreadyExists: 409,
  Invalid: 422,
  Forbidden: 403,
  Unauthorized: 401,
  Throttled: 429,
  Gone: 410,
  Unavailable: 503,
}

/** Returns the error that the real client throws for this reason. */
export function fakeKubeError(
  reason: KubeErrorReason,
  verb: string,
  resource: Resource,
  ref: Partial<ObjectRef>,
): KubeError {
  const message = `Cannot ${verb} ${resourceId(resource)} "${objectKey(ref.namespace, ref.name ?? '')}": ${reason}.`
  return new KubeError(reason, message, { status: STATUS[reason] ?? 500, resource, ...ref })
}
