import type { z } from 'zod'
import { FINALIZER } from '../../core/labels.ts'
import type { ObjectRef } from '../../core/object.ts'
import { datesInUtc } from '../../crds/dates.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context } from '../http/context.ts'
import { isEqual } from '../records/mergePatch.ts'
import type { RecordOf } from '../records/records.ts'
import { readSpec, withoutAbsent } from '../records/specs.ts'
import { createViewBuilder, type ResourceLocation } from './find.ts'
import { withClaimedNames } from './platformNames.ts'
import { type Reserve, withReservedQuota } from './quota.ts'
import type { AnyDeclaration } from './types.ts'
import { checkNewName, refuseWhileDeleting, requireMatch, specForCreate, writablePart } from './writes.ts'

/**
 * Creates a resource from a body, or finds one that equals it: only a new one is validated, and takes quota and names.
 *
 * @throws PlatformError BAD_REQUEST (name), CONFLICT (If-Match), ALREADY_EXISTS, INVALID_STATE, QUOTA_EXCEEDED, those
 *   of names that are taken, and what `toSpec` throws
 */
export async function createResource<K extends AnyKind>(
  kind: K,
  { ref, location }: { ref: { namespace: string; name: string }; location: ResourceLocation },
  declaration: AnyDeclaration<K>,
  context: Context,
): Promise<{ object: RecordOf<K>; isNew: boolean }> {
  const { nameTaken: taken = 'ALREADY_EXISTS', hasFinalizer = true } = declaration
  checkNewName(location.name, context.services.reservedNames, kind.nameMin)
  await requireMatch(kind, ref, context)
  return withReservedQuota(kind, { ...location, name: ref.name }, context, (reserve) =>
    withClaimedNames(kind, ref, { context, taken }, (claim) =>
      context.services.records.create(kind, {
        ...ref,
        caller: context.caller,
        spec: () => specForCreate(kind, context, location, declaration),
        reserve: async (spec) => {
          await reserve(spec)
          return claim(spec)
        },
        isSame: (stored) => isRepeatedRequest(kind, stored, location, declaration, context),
        ...(hasFinalizer && { finalizers: [FINALIZER] }),
      }),
    ),
  )
}

/**
 * Whether the body equals what a read of the stored resource shows, or leads to a spec that would be shown the same.
 * Fields that only actions and kubectl set are not compared, because a client retries after a lost response.
 */
async function isRepeatedRequest<K extends AnyKind>(
  kind: K,
  stored: RecordOf<K>,
  location: ResourceLocation,
  declaration: AnyDeclaration<K>,
  context: Context,
): Promise<boolean> {
  const isWritable = ([name]: [string, unknown]) => Object.hasOwn(declaration.body.shape, name)
  const view = createViewBuilder<K>(context.services, location.boundaryId)
  const shownOf = (spec: object) => {
    const record = declaration.toDto(view({ ...stored, spec } as RecordOf<K>, location.resourceGroup))
    const inUtc = datesInUtc(declaration.dto)(record) as object
    return Object.fromEntries(Object.entries(inUtc).filter(isWritable))
  }
  const shown = shownOf(stored.spec as object)
  if (isEqual(writablePart(context.body, location, declaration), shown)) return true
  const made = withoutAbsent(await specForCreate(kind, context, location, declaration, { stored })) as object
  const requested = { ...made, ...withDefaults(kind, made, writablePart(context.body, location, declaration), stored) }
  const unseen = Object.entries(stored.spec as object).filter((field) => !isWritable(field))
  const spec = readSpec(kind, { ...Object.fromEntries(unseen), ...requested }, stored.spec as object)
  return isEqual(shownOf(spec), shown)
}

/**
 * Returns the stored values of immutable fields that the creation took from its surroundings because the body left them
 * out: the same body stays the same even if another cluster is the default by now. Fields that may change are left out,
 * because nobody knows who set them: the first body, or somebody later.
 */
function withDefaults<K extends AnyKind>(
  { spec, immutable }: K,
  made: object,
  body: Record<string, unknown>,
  stored: RecordOf<K>,
): Record<string, unknown> {
  const shape = spec.shape as Record<string, z.ZodType>
  const isFilled = (name: string) =>
    immutable.includes(name) && (body[name] ?? '') === '' && shape[name]?.safeParse(undefined).data === undefined
  const kept = stored.spec as Record<string, unknown>
  return Object.fromEntries(Object.keys(made).flatMap((name) => (isFilled(name) ? [[name, kept[name]]] : [])))
}

/**
 * Changes the spec of a resource that is not being deleted.
 *
 * @param next returns the spec to write, after reserving what it adds; called again with the newer object after a
 *   conflict
 * @throws PlatformError NOT_FOUND, CONFLICT, INVALID_STATE, QUOTA_EXCEEDED; what `next` throws
 */
export function changeResource<K extends AnyKind>(
  kind: K,
  { ref, location }: { ref: ObjectRef; location: ResourceLocation },
  { services, caller, ifMatch }: Pick<Context, 'services' | 'caller' | 'ifMatch'>,
  next: (stored: RecordOf<K>, reserve: Reserve) => object | Promise<object>,
): Promise<{ object: RecordOf<K>; isChanged: boolean }> {
  return withReservedQuota(kind, { ...location, name: ref.name }, { services, caller }, (reserve) =>
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
