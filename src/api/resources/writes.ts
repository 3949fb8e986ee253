import { badRequest, type FieldError, invalidName, refusedFields, unreadableFields } from '../../core/errors.ts'
import { isResourceName, isUuid, resourceNamePattern, resourceNameRule } from '../../core/names.ts'
import type { ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context } from '../http/context.ts'
import { matchesAnyVersion, nothingToMatch, staleVersion } from '../http/etag.ts'
import type { NamingRule } from '../http/route.ts'
import { mergePatch } from '../records/mergePatch.ts'
import { readChanged } from '../records/readChanged.ts'
import type { RecordOf } from '../records/records.ts'
import type { ResourceLocation } from './find.ts'
import { invalidState } from './invalidState.ts'
import { type UncachedObjects, withUncachedReferences } from './references.ts'
import type { AnyDeclaration, WriteView } from './types.ts'

/** What is needed to read a body: its schema, the fields that it may repeat, and the body of a stored object. */
type Readable<K extends AnyKind> = Pick<AnyDeclaration<K>, 'body' | 'shownNames' | 'toBody'>

/** The rule for names of resources of the kind. */
export const resourceNaming = ({ nameMin, uniqueName }: Pick<AnyKind, 'nameMin' | 'uniqueName'>): NamingRule => ({
  rule: `${resourceNameRule(nameMin)}${uniqueName === undefined ? '' : '; it must be unique on the platform'}`,
  pattern: resourceNamePattern(nameMin),
})

/** @throws PlatformError BAD_REQUEST for a name that no new resource may have */
export function checkNewName(name: string, reserved: ReadonlySet<string>, least = 1): void {
  if (!isResourceName(name) || name.length < least) throw invalidName(name, least)
  if (!reserved.has(name)) return
  throw badRequest(`The name "${name}" is reserved for a route of the interface.`, [
    { field: 'name', message: 'is reserved' },
  ])
}

/**
 * Compares the If-Match of a named creation with the existing object, as for every write.
 *
 * @throws PlatformError CONFLICT, also if the object does not exist
 */
export async function requireMatch(kind: AnyKind, ref: ObjectRef, context: Context): Promise<void> {
  if (context.header('if-match') === undefined) return
  const stored = await context.services.records.get(kind, ref, { fresh: true })
  if (stored === undefined) throw nothingToMatch()
  if (context.ifMatch !== undefined && !matchesAnyVersion(context.ifMatch, stored)) throw staleVersion(stored)
}

/**
 * Returns the writable fields of a body. If the read-only part names a different resource than the path, the caller has
 * confused the two, and writing either would be wrong.
 *
 * @throws PlatformError BAD_REQUEST, MODEL_BINDING_FAILED
 */
export function writablePart(
  body: unknown,
  location: ResourceLocation,
  declaration: { readonly shownNames: readonly string[] },
): Record<string, unknown> {
  const errors: FieldError[] = []
  const unreadable: FieldError[] = []
  const writable: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(body as object)) {
    if (!declaration.shownNames.includes(field)) writable[field] = value
    else if (Object.hasOwn(location, field) && value !== null && value !== location[field as keyof ResourceLocation]) {
      const isId = field.endsWith('Id')
      if (typeof value !== 'string') unreadable.push({ field, message: 'must be a string' })
      else if (isId && !isUuid(value.toLowerCase())) unreadable.push({ field, message: 'must be a uuid' })
      else if (!isId || value.toLowerCase() !== location[field as keyof ResourceLocation]) {
        errors.push({ field, message: 'differs from the path of the request' })
      }
    }
  }
  if (unreadable.length > 0) throw unreadableFields(unreadable)
  if (errors.length > 0) throw refusedFields(errors)
  return writable
}

/** @param stored the object whose values are not validated again while unchanged; undefined for a new one */
function readOver<K extends AnyKind>(
  kind: K,
  given: unknown,
  { body, toBody }: Readable<K>,
  stored: RecordOf<K> | undefined,
): Record<string, unknown> {
  return readChanged(body, given, stored && toBody(stored), kind.spec)
}

/** Returns the body that a merge patch makes of the stored resource. Null in the patch sets the default. */
export function patchedBody<K extends AnyKind>(
  kind: K,
  patch: unknown,
  location: ResourceLocation,
  stored: RecordOf<K>,
  declaration: Readable<K>,
): Record<string, unknown> {
  const merged = mergePatch(declaration.toBody(stored), writablePart(patch, location, declaration))
  return readOver(kind, merged, declaration, stored)
}

/** Adds the immutable fields that a body leaves out, as they are stored. */
function withImmutable<K extends AnyKind>(
  body: Record<string, unknown>,
  kind: K,
  stored: RecordOf<K>,
  declaration: AnyDeclaration<K>,
): Record<string, unknown> {
  const before = declaration.toBody(stored)
  const kept = kind.immutable.filter(
    (field) => (body[field] ?? undefined) === undefined && Object.hasOwn(before, field),
  )
  return { ...body, ...Object.fromEntries(kept.map((field) => [field, before[field]])) }
}

/** @param stored values that the body may repeat although they are no longer accepted */
export async function specForCreate<K extends AnyKind>(
  kind: K,
  context: Context,
  location: ResourceLocation,
  declaration: AnyDeclaration<K>,
  { planned, stored }: { planned?: UncachedObjects; stored?: RecordOf<K> } = {},
): Promise<object> {
  const body = readOver(kind, writablePart(context.body, location, declaration), declaration, stored)
  const { services } = context
  const make = (unseen: UncachedObjects) => {
    const view: WriteView<K> = { ...location, form: 'create', previous: undefined, services, context, unseen }
    return declaration.toSpec(body, view)
  }
  return withUncachedReferences(context, make, planned)
}

export async function specForUpdate<K extends AnyKind>(
  kind: K,
  context: Context,
  location: ResourceLocation,
  declaration: AnyDeclaration<K>,
  stored: RecordOf<K>,
  form: 'put' | 'patch',
  planned?: UncachedObjects,
): Promise<object> {
  const complete = (body: Record<string, unknown>) => withImmutable(body, kind, stored, declaration)
  const body =
    form === 'put'
      ? readOver(kind, complete(writablePart(context.body, location, declaration)), declaration, stored)
      : complete(patchedBody(kind, context.body, location, stored, declaration))
  const { services } = context
  const make = (unseen: UncachedObjects) => {
    const view: WriteView<K> = { ...location, form, previous: stored, services, context, unseen }
    return declaration.toSpec(body, view)
  }
  return withUncachedReferences(context, make, planned)
}

/** @throws PlatformError INVALID_STATE */
export function refuseWhileDeleting(object: {
  metadata: { name: string; deletionTimestamp?: string }
  status?: object | undefined
}): void {
  if (object.metadata.deletionTimestamp === undefined) return
  throw invalidState(object, undefined)
}
