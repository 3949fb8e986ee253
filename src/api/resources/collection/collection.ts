import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { notFound, refusedFields } from '../../../core/errors.ts'
import { objectId } from '../../../core/ids.ts'
import { createdByOf } from '../../../core/labels.ts'
import { isUuid } from '../../../core/names.ts'
import { byAge, createdAtOf, refOf } from '../../../core/object.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { type Answer, acceptedEmpty, noContent } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { etagOf, nothingToMatch } from '../../http/etag.ts'
import { type RouteDraft, route, withKind } from '../../http/route.ts'
import type { RecordOf } from '../../records/records.ts'
import { type ChangeLock, withChangeLock } from '../../rules/changeLocks.ts'
import { wholeRecord } from '../dto.ts'
import { pollUntilChanged } from '../pollUntilChanged.ts'
import { refuseWhileDeleting, writablePart } from '../writes.ts'
import { withIgnoredReadFields, withKindDescriptions } from '../writtenBody.ts'
import { listRoute } from './columns.ts'
import type { CollectionParent } from './parents.ts'
import type { Collection, CollectionDeclaration, Creation, CreationResult } from './types.ts'

/** A declaration whose type parameters only its area knows. */
// biome-ignore lint/suspicious/noExplicitAny: the area's own types have been checked where it declares them
type Erased = CollectionDeclaration<AnyKind, any, any, z.ZodObject, z.ZodObject, z.ZodType, z.ZodType, z.ZodObject>
type Entry = RecordOf<AnyKind>

/**
 * Declares the objects of a kind that live at the platform, in a boundary, in a group or in another resource, and are
 * not resources themselves: their routes, how to find one, and its record. What such routes have in common is here: the
 * order of look-ups, the answer for an absent object, the record and the options of lists, ETag and If-Match, 201 or
 * 200, 202 or 204.
 *
 * What the declaration's functions throw becomes the answer. They run in this order: `parent`; the refusal to create in
 * something that is being deleted; then `toSpec` or `make` for a creation, `before` and `toSpec` for a patch, `before`
 * for a removal.
 */
export function collection<
  K extends AnyKind,
  P extends CollectionParent,
  Dto extends z.ZodObject,
  Related = undefined,
  ListQuery extends z.ZodObject = z.ZodObject,
  CreateBody extends z.ZodType = z.ZodUndefined,
  PatchBody extends z.ZodType = z.ZodUndefined,
  RemoveQuery extends z.ZodObject = z.ZodObject,
>(
  kind: K,
  declaration: CollectionDeclaration<K, P, Related, Dto, ListQuery, CreateBody, PatchBody, RemoveQuery>,
): Collection<K, P> {
  const parts = new CollectionRoutes(kind, declaration as unknown as Erased)
  const routes = [listRouteOf, createRouteOf, getRouteOf, patchRouteOf, deleteRouteOf].flatMap(
    (routeOf) => routeOf(parts) ?? [],
  )
  return {
    itemPath: parts.itemPath,
    routes: () => withKind(kind, routes),
    find: (context) => parts.find(context) as never,
    show: (context, object, parent) => parts.answer(200, context, parent, { object: object as Entry }),
  }
}

/** What the routes of one collection share. */
class CollectionRoutes {
  readonly kind: AnyKind
  readonly declaration: Erased

  constructor(kind: AnyKind, declaration: Erased) {
    this.kind = kind
    this.declaration = declaration
  }

  get itemPath(): string {
    return `${this.declaration.path}/{${this.declaration.item}}`
  }

  async all(context: Context, parent: CollectionParent, fresh = context.fresh): Promise<readonly Entry[]> {
    const { includes } = this.declaration
    const objects = await context.services.records.list(this.kind, { namespace: parent.namespace }, { fresh })
    return includes === undefined ? objects : objects.filter((object) => includes(object, parent, context))
  }

  async find(context: Context): Promise<{ object: Entry; parent: CollectionParent }> {
    const parent = await this.declaration.parent(context)
    return { object: await this.findIn(context, parent), parent }
  }

  /** @throws PlatformError NOT_FOUND */
  async findIn(context: Context, parent: CollectionParent, fresh = context.fresh): Promise<Entry> {
    const { item, noun, missing, keyOf, isFresh = fresh } = this.declaration
    const key = context.parameters[item] ?? ''
    const found = await this.#findEntry(key, context, parent, isFresh)
    if (found !== undefined) return found
    if (missing !== undefined) throw missing(key, parent)
    const isById = keyOf === undefined || (keyOf === 'name' && this.kind.name === 'uuid')
    const hint = isById && !isUuid(key) ? 'Use its id, not its name.' : undefined
    throw notFound(`${noun} "${key.slice(0, 128)}"${parent.errorSuffix}`, hint)
  }

  async #findEntry(
    key: string,
    context: Context,
    parent: CollectionParent,
    fresh: boolean,
  ): Promise<Entry | undefined> {
    const { keyOf = (object: Entry) => this.idOf(object), includes } = this.declaration
    if (keyOf === 'name') {
      const ref = { namespace: parent.namespace, name: key }
      const object = await context.services.records.get(this.kind, ref, { fresh })
      return object !== undefined && includes?.(object, parent, context) === false ? undefined : object
    }
    const named = (await this.all(context, parent, fresh)).filter((object) => keyOf(object) === key)
    const [oldest] = named.sort(byAge)
    // Another replica may have just created it, before our watch reports it.
    return oldest !== undefined || fresh ? oldest : this.#findEntry(key, context, parent, true)
  }

  /**
   * Refuses changes of immutable fields. A record may be sent back as it was read, but no change is ignored silently.
   *
   * @throws PlatformError BAD_REQUEST
   */
  async refuseChanged(context: Context, parent: CollectionParent, found: Entry): Promise<void> {
    const body = context.body as Record<string, unknown>
    const named = this.kind.immutable.filter((field) => (body[field] ?? undefined) !== undefined)
    if (named.length === 0) return
    const [record = {}] = await this.recordsOf([found], context, parent)
    const changed = named.filter((field) => field in record && !isDeepStrictEqual(body[field], record[field]))
    const errors = changed.map((field) => ({ field, message: 'cannot be changed after creation' }))
    if (errors.length > 0) throw refusedFields(errors)
  }

  idOf({ metadata }: Entry): string {
    return this.declaration.keyOf === 'name' ? metadata.name : objectId(this.kind.resource, metadata)
  }

  async recordsOf(
    objects: readonly Entry[],
    context: Context,
    parent: CollectionParent,
  ): Promise<Record<string, unknown>[]> {
    const { related, toDto, dto } = this.declaration
    const view = { services: context.services, context, parent, related: await related?.(objects, context, parent) }
    return objects.map((object) => {
      const { metadata, spec, status } = object as Entry & { status?: object }
      const given = { id: this.idOf(object), createdAt: createdAtOf(metadata), createdBy: createdByOf(metadata) }
      return wholeRecord(dto, { ...status, ...(spec as object), ...given, ...toDto(object, view) })
    })
  }

  async answer(
    status: number,
    context: Context,
    parent: CollectionParent,
    made: CreationResult<AnyKind>,
  ): Promise<Answer<never>> {
    const { object, more, headers } = made
    const [record] = await this.recordsOf([object], context, parent)
    const body = more === undefined ? record : { ...record, ...more }
    return { status, headers: { ...headers, etag: etagOf(object) }, body: body as never }
  }
}

function withLock<Result>(
  { services }: Context,
  lock: ChangeLock | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  return lock === undefined ? work() : withChangeLock(services, lock, work)
}

function listRouteOf(parts: CollectionRoutes): RouteDraft {
  const { declaration } = parts
  const { path, may, list, parent } = declaration
  return listRoute(path, {
    ...declaration,
    ...list,
    auth: may.read,
    rows: async (context) => {
      const found = await parent(context)
      const objects = await parts.all(context, found)
      const wanted = list.where === undefined ? objects : objects.filter(list.where(context.query, context))
      return parts.recordsOf(wanted, context, found)
    },
  })
}

function getRouteOf(parts: CollectionRoutes): RouteDraft | undefined {
  const { may, dto, get } = parts.declaration
  if (get === undefined) return undefined
  return route('GET', parts.itemPath, {
    auth: may.read,
    ...get,
    reply: dto as z.ZodType,
    handler: async (context) => {
      const { object, parent } = await parts.find(context)
      return parts.answer(200, context, parent, { object })
    },
  })
}

function createRouteOf(parts: CollectionRoutes): RouteDraft | undefined {
  const { path, may, dto, create } = parts.declaration
  if (create === undefined || may.write === undefined) return undefined
  const { summary, further, isBodyOptional = false, reply = dto, status = 201, answers = [], lock } = create
  const body = withKindDescriptions(create.body, parts.kind)
  return route('POST', path, {
    auth: may.write,
    summary,
    further,
    body,
    isBodyOptional,
    reply: reply as z.ZodType,
    answers: [status, ...answers],
    handler: async (context) => {
      const parent: CollectionParent = await parts.declaration.parent(context)
      // For 201 the pipeline has refused it already.
      if (status === 202 && context.header('if-match') !== undefined) throw nothingToMatch()
      if (parent.owner !== undefined) refuseWhileDeleting(parent.owner)
      return withLock(context, lock?.(parent, context), async () => {
        const made = await createObject(parts.kind, create, context, parent)
        return parts.answer(made.isNew === false ? 200 : status, context, parent, made)
      })
    },
  })
}

async function createObject(
  kind: AnyKind,
  // biome-ignore lint/suspicious/noExplicitAny: see Erased
  create: Creation<AnyKind, any, z.ZodType>,
  context: Context,
  parent: CollectionParent,
): Promise<CreationResult<AnyKind>> {
  if ('make' in create) return create.make(context, parent)
  const spec = await create.toSpec(context, parent)
  const name = create.nameOf?.(context, parent) ?? randomUUID()
  const { services, caller } = context
  return services.records.create(kind, { namespace: parent.namespace, name, spec, caller, ...create.options })
}

function patchRouteOf(parts: CollectionRoutes): RouteDraft | undefined {
  const { may, dto, patch } = parts.declaration
  if (patch === undefined || may.write === undefined) return undefined
  const { summary, further, lock, before, toSpec, after } = patch
  const given = withKindDescriptions(patch.body, parts.kind) as z.ZodType & { shape?: object }
  const body = given instanceof z.ZodObject ? withIgnoredReadFields(given, dto) : given
  const isRepeated = (name: string) => Object.hasOwn(dto.shape, name) && !Object.hasOwn(given.shape ?? {}, name)
  return route('PATCH', parts.itemPath, {
    auth: may.write,
    summary,
    further,
    body,
    ...(patch.documentedBody !== undefined && { documentedBody: patch.documentedBody }),
    mediaTypes: ['application/merge-patch+json', 'application/json'],
    reply: dto as z.ZodType,
    handler: async (context) => {
      refuseOtherPath(context, isRepeated)
      const parent: CollectionParent = await parts.declaration.parent(context)
      return withLock(context, lock?.(parent, context), async () => {
        const found = await parts.findIn(context, parent)
        await parts.refuseChanged(context, parent, found)
        await before?.(context, found, parent)
        const { services, caller, ifMatch } = context
        const change = (stored: Entry) => {
          refuseWhileDeleting(stored)
          return toSpec(stored, context, parent)
        }
        const ref = refOf(found)
        const { object } = await services.records.update(parts.kind, ref, { caller, ifMatch, change })
        return parts.answer(200, context, parent, { object: (await after?.(context, object)) ?? object })
      })
    },
  })
}

/** @throws PlatformError BAD_REQUEST, MODEL_BINDING_FAILED for a body that names another boundary or parent than the path */
function refuseOtherPath({ body, parameters }: Context, isRepeated: (name: string) => boolean): void {
  writablePart(body, parameters as never, { shownNames: Object.keys(parameters).filter(isRepeated) })
}

function deleteRouteOf(parts: CollectionRoutes): RouteDraft | undefined {
  const { may, remove } = parts.declaration
  const auth = may.delete ?? may.write
  if (remove === undefined || auth === undefined) return undefined
  const { summary, query, lock, before, waits = false } = remove
  return route('DELETE', parts.itemPath, {
    auth,
    summary,
    answers: waits ? [202, 204] : [204],
    ...(query !== undefined && { query }),
    handler: async (context) => {
      const parent: CollectionParent = await parts.declaration.parent(context)
      const key = lock?.(parent, context)
      return withLock(context, key, async () => {
        const found = await parts.findIn(context, parent, context.fresh || key !== undefined)
        const isCompared = (await before?.(context as never, found, parent)) === true
        const { records } = context.services
        const { namespace, name, uid } = found.metadata
        const ref = { namespace, name }
        const ifMatch = isCompared ? undefined : context.ifMatch
        const { isGone } = await records.remove(parts.kind, ref, { caller: context.caller, ifMatch })
        if (isGone || !waits) return noContent()
        const isRemoved = async () => records.peek(parts.kind, ref)?.metadata.uid !== uid
        return (await pollUntilChanged(context, isRemoved)) ? noContent() : acceptedEmpty()
      })
    },
  })
}
