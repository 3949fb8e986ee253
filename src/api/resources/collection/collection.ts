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
import type { Home } from './homes.ts'
import {
  type Collection,
  type CollectionDeclaration,
  type Creation,
  type CreationResult,
  OPERATIONS,
  type Operation,
} from './types.ts'

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
 * What the declaration's functions throw becomes the answer. They run in this order: `home`; the refusal to create in
 * something that is being deleted; then `toSpec` or `make` for a creation, `before` and `toSpec` for a patch, `before`
 * for a removal.
 */
export function collection<
  K extends AnyKind,
  H extends Home,
  Dto extends z.ZodObject,
  Related = undefined,
  ListQuery extends z.ZodObject = z.ZodObject,
  CreateBody extends z.ZodType = z.ZodUndefined,
  PatchBody extends z.ZodType = z.ZodUndefined,
  RemoveQuery extends z.ZodObject = z.ZodObject,
>(
  kind: K,
  declaration: CollectionDeclaration<K, H, Related, Dto, ListQuery, CreateBody, PatchBody, RemoveQuery>,
): Collection<K, H> {
  const parts = new CollectionRoutes(kind, declaration as unknown as Erased)
  const made: Record<Operation, RouteDraft | undefined> = {
    list: listRouteOf(parts),
    create: createRouteOf(parts),
    get: getRouteOf(parts),
    patch: patchRouteOf(parts),
    remove: deleteRouteOf(parts),
  }
  const present = OPERATIONS.filter((name) => made[name] !== undefined)
  return {
    itemPath: parts.itemPath,
    routes: (...names) =>
      withKind(
        kind,
        (names.length === 0 ? present : names).map((name) => made[name] as RouteDraft),
      ),
    find: (context) => parts.find(context) as never,
    show: (context, object, home) => parts.answer(200, context, home, { object: object as Entry }),
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

  async all(context: Context, home: Home, fresh = context.fresh): Promise<readonly Entry[]> {
    const { holds } = this.declaration
    const objects = await context.services.records.list(this.kind, { namespace: home.namespace }, { fresh })
    return holds === undefined ? objects : objects.filter((object) => holds(object, home, context))
  }

  async find(context: Context): Promise<{ object: Entry; home: Home }> {
    const home = await this.declaration.home(context)
    return { object: await this.findIn(context, home), home }
  }

  /** @throws PlatformError NOT_FOUND */
  async findIn(context: Context, home: Home, fresh = context.fresh): Promise<Entry> {
    const { item, noun, missing, keyOf, isFresh = fresh } = this.declaration
    const key = context.parameters[item] ?? ''
    const found = await this.#findEntry(key, context, home, isFresh)
    if (found !== undefined) return found
    if (missing !== undefined) throw missing(key, home)
    const isById = keyOf === undefined || (keyOf === 'name' && this.kind.name === 'uuid')
    const hint = isById && !isUuid(key) ? 'Use its id, not its name.' : undefined
    throw notFound(`${noun} "${key.slice(0, 128)}"${home.words}`, hint)
  }

  async #findEntry(key: string, context: Context, home: Home, fresh: boolean): Promise<Entry | undefined> {
    const { keyOf = (object: Entry) => this.idOf(object), holds } = this.declaration
    if (keyOf === 'name') {
      const ref = { namespace: home.namespace, name: key }
      const object = await context.services.records.get(this.kind, ref, { fresh })
      return object !== undefined && holds?.(object, home, context) === false ? undefined : object
    }
    const named = (await this.all(context, home, fresh)).filter((object) => keyOf(object) === key)
    const [oldest] = named.sort(byAge)
    // Another replica may have just created it, before our watch reports it.
    return oldest !== undefined || fresh ? oldest : this.#findEntry(key, context, home, true)
  }

  /**
   * Refuses changes of immutable fields. A record may be sent back as it was read, but no change is ignored silently.
   *
   * @throws PlatformError BAD_REQUEST
   */
  async refuseChanged(context: Context, home: Home, found: Entry): Promise<void> {
    const body = context.body as Record<string, unknown>
    const named = this.kind.immutable.filter((field) => (body[field] ?? undefined) !== undefined)
    if (named.length === 0) return
    const [record = {}] = await this.recordsOf([found], context, home)
    const changed = named.filter((field) => field in record && !isDeepStrictEqual(body[field], record[field]))
    const errors = changed.map((field) => ({ field, message: 'cannot be changed after creation' }))
    if (errors.length > 0) throw refusedFields(errors)
  }

  idOf({ metadata }: Entry): string {
    return this.declaration.keyOf === 'name' ? metadata.name : objectId(this.kind.resource, metadata)
  }

  async recordsOf(objects: readonly Entry[], context: Context, home: Home): Promise<Record<string, unknown>[]> {
    const { related, toDto, dto } = this.declaration
    const view = { services: context.services, context, home, related: await related?.(objects, context, home) }
    return objects.map((object) => {
      const { metadata, spec, status } = object as Entry & { status?: object }
      const given = { id: this.idOf(object), createdAt: createdAtOf(metadata), createdBy: createdByOf(metadata) }
      return wholeRecord(dto, { ...status, ...(spec as object), ...given, ...toDto(object, view) })
    })
  }

  async answer(status: number, context: Context, home: Home, made: CreationResult<AnyKind>): Promise<Answer<never>> {
    const { object, more, headers } = made
    const [record] = await this.recordsOf([object], context, home)
    const body = more === undefined ? record : { ...record, ...more }
    return { status, headers: { ...headers, etag: etagOf(object) }, body: body as never }
  }
}

function withLock<Result>(
  { services }: Context,
  turn: ChangeLock | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  return turn === undefined ? work() : withChangeLock(services, turn, work)
}

function listRouteOf(parts: CollectionRoutes): RouteDraft {
  const { declaration } = parts
  const { path, may, list, home } = declaration
  return listRoute(path, {
    ...declaration,
    ...list,
    auth: may.read,
    rows: async (context) => {
      const found = await home(context)
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
      const { object, home } = await parts.find(context)
      return parts.answer(200, context, home, { object })
    },
  })
}

function createRouteOf(parts: CollectionRoutes): RouteDraft | undefined {
  const { path, may, dto, create } = parts.declaration
  if (create === undefined || may.write === undefined) return undefined
  const { summary, further, isBodyOptional = false, reply = dto, status = 201, answers = [], turn } = create
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
      const home: Home = await parts.declaration.home(context)
      // For 201 the pipeline has refused it already.
      if (status === 202 && context.header('if-match') !== undefined) throw nothingToMatch()
      if (home.owner !== undefined) refuseWhileDeleting(home.owner)
      return withLock(context, turn?.(home, context), async () => {
        const made = await createObject(parts.kind, create, context, home)
        return parts.answer(made.isNew === false ? 200 : status, context, home, made)
      })
    },
  })
}

async function createObject(
  kind: AnyKind,
  // biome-ignore lint/suspicious/noExplicitAny: see Erased
  create: Creation<AnyKind, any, z.ZodType>,
  context: Context,
  home: Home,
): Promise<CreationResult<AnyKind>> {
  if ('make' in create) return create.make(context, home)
  const spec = await create.toSpec(context, home)
  const name = create.nameOf?.(context, home) ?? randomUUID()
  const { services, caller } = context
  return services.records.create(kind, { namespace: home.namespace, name, spec, caller, ...create.options })
}

function patchRouteOf(parts: CollectionRoutes): RouteDraft | undefined {
  const { may, dto, patch } = parts.declaration
  if (patch === undefined || may.write === undefined) return undefined
  const { summary, further, turn, before, toSpec, after } = patch
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
      const home: Home = await parts.declaration.home(context)
      return withLock(context, turn?.(home, context), async () => {
        const found = await parts.findIn(context, home)
        await parts.refuseChanged(context, home, found)
        await before?.(context, found, home)
        const { services, caller, ifMatch } = context
        const change = (stored: Entry) => {
          refuseWhileDeleting(stored)
          return toSpec(stored, context, home)
        }
        const ref = refOf(found)
        const { object } = await services.records.update(parts.kind, ref, { caller, ifMatch, change })
        return parts.answer(200, context, home, { object: (await after?.(context, object)) ?? object })
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
  const { summary, query, turn, before, waits = false } = remove
  return route('DELETE', parts.itemPath, {
    auth,
    summary,
    answers: waits ? [202, 204] : [204],
    ...(query !== undefined && { query }),
    handler: async (context) => {
      const home: Home = await parts.declaration.home(context)
      const key = turn?.(home, context)
      return withLock(context, key, async () => {
        const found = await parts.findIn(context, home, context.fresh || key !== undefined)
        const isCompared = (await before?.(context as never, found, home)) === true
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
