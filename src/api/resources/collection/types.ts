import type { z } from 'zod'
import type { PlatformError } from '../../../core/errors.ts'
import type { AnyKind } from '../../../crds/define.ts'
import type { Answer } from '../../http/answer.ts'
import type { Context, Services } from '../../http/context.ts'
import type { Authorization, RouteDraft } from '../../http/route.ts'
import type { CreateRequest, RecordOf } from '../../records/records.ts'
import type { ChangeLock } from '../../rules/changeLocks.ts'
import type { Columns } from './columns.ts'
import type { CollectionParent } from './parents.ts'

/** The data for a record in addition to its object. */
export type CollectionRecordView<P extends CollectionParent, Related> = {
  readonly services: Services
  readonly context: Context
  readonly parent: P
  /** What `related` looked up once for all records of the answer. */
  readonly related: Related
}

type SpecOf<K extends AnyKind> = RecordOf<K> extends { spec: infer Spec } ? Spec : never
type StatusOf<K extends AnyKind> = RecordOf<K> extends { status?: infer Status } ? NonNullable<Status> : never
type MetadataField = 'id' | 'createdAt' | 'createdBy'
/** Fields that may be null, because a status may not have them yet. */
type Nullable<Fields> = { [Name in keyof Fields]: null extends Fields[Name] ? Name : never }[keyof Fields]
type DerivedField<K extends AnyKind, Fields> = keyof SpecOf<K> | (keyof StatusOf<K> & Nullable<Fields>) | MetadataField

/** What `toDto` returns: the fields that the object does not have under the same name, and those that differ. */
export type ShownFields<K extends AnyKind, Dto extends z.ZodObject> = {
  [Name in keyof z.input<Dto>]?: z.input<Dto>[Name] | undefined
} & Pick<z.input<Dto>, Exclude<keyof z.input<Dto>, DerivedField<K, z.input<Dto>>>>

/** Changes under the same key wait for each other, over all replicas. */
type Locking<P extends CollectionParent> = { lock?: (parent: P, context: Context) => ChangeLock }

export type CreationResult<K extends AnyKind> = {
  object: RecordOf<K>
  /** False if an identical object existed already: 200 instead of 201. */
  isNew?: boolean
  /** Fields that only this response has. */
  more?: object
  headers?: Record<string, string>
}

export type Creation<K extends AnyKind, P extends CollectionParent, Body extends z.ZodType> = Locking<P> & {
  summary: string
  /** What else the handler may require, in the words of `src/api/http/furtherRights.ts`. */
  further?: string
  body: Body
  isBodyOptional?: true
  /** The record of the response, if it has more fields than that of others. */
  reply?: z.ZodObject
  /** The status for a new object; 201 if absent. */
  status?: 201 | 202
  /** Statuses beyond those of every creation. */
  answers?: readonly number[]
} & (
    | {
        /** Checks the request, and returns the spec. @throws PlatformError */
        toSpec: (context: Context<string, unknown, z.output<Body>>, parent: P) => object | Promise<object>
        /** A new uuid if absent. */
        nameOf?: (context: Context<string, unknown, z.output<Body>>, parent: P) => string
        options?: Pick<CreateRequest<K>, 'finalizers' | 'isSame'>
      }
    | {
        /** For creations that take more than one write, or whose name decides whether the object is new. */
        make: (context: Context<string, unknown, z.output<Body>>, parent: P) => Promise<CreationResult<K>>
      }
  )

export type Patch<K extends AnyKind, P extends CollectionParent, Body extends z.ZodType> = Locking<P> & {
  summary: string
  further?: string
  /** Fields of the record that are not in this schema are ignored. */
  body: Body
  /** Set if `toSpec` reads the body itself. */
  documentedBody?: z.ZodType
  /** Checks that need more than the object itself. */
  before?: (context: Context<string, unknown, z.output<Body>>, object: RecordOf<K>, parent: P) => void | Promise<void>
  /** Returns the next spec. Called again with the newer object after a conflict. */
  toSpec: (stored: RecordOf<K>, context: Context<string, unknown, z.output<Body>>, parent: P) => object
  /** Waits until what the response says is true. */
  after?: (context: Context, object: RecordOf<K>) => Promise<RecordOf<K>>
}

export type Removal<K extends AnyKind, P extends CollectionParent, Query extends z.ZodObject> = Locking<P> & {
  summary: string
  query?: Query
  /** Throws to refuse. Returns true if it has written to the object, so that If-Match has been compared already. */
  before?: (context: Context<string, z.output<Query>>, object: RecordOf<K>, parent: P) => unknown
  /** Waits a moment for the finalizer: 204 once the object is gone, otherwise 202. Without it, always 204. */
  waits?: true
}

export type CollectionDeclaration<
  K extends AnyKind,
  P extends CollectionParent,
  Related,
  Dto extends z.ZodObject,
  ListQuery extends z.ZodObject,
  CreateBody extends z.ZodType,
  PatchBody extends z.ZodType,
  RemoveQuery extends z.ZodObject,
> = Columns<z.output<Dto>> & {
  /** The path with `{B}` and `{RG}`, as in the interface. */
  path: string
  /** The path parameter of one object. */
  item: string
  /** The noun for one object in errors. */
  noun: string
  /** Finds what the objects belong to. @throws PlatformError NOT_FOUND */
  parent: (context: Context) => P | Promise<P>
  /** Whether an object in the namespace belongs to the collection and is visible to the caller; all are if absent. */
  includes?: (object: RecordOf<K>, parent: P, context: Context) => boolean
  /**
   * The key of an object in the path: its `id` if absent, or `name` for the object's name. If several objects have the
   * same key, the oldest counts.
   */
  keyOf?: 'name' | ((object: RecordOf<K>) => string)
  /** Reads one object from the API server instead of the cache. */
  isFresh?: true
  /** The error for a missing object; NOT_FOUND if absent. */
  missing?: (key: string, parent: P) => PlatformError
  may: { read: Authorization; write?: Authorization; delete?: Authorization }
  /** Fields are filled from the same names in the spec, otherwise in the status, otherwise with null. */
  dto: Dto
  related?: (objects: readonly RecordOf<K>[], context: Context, parent: P) => Related | Promise<Related>
  toDto: (object: RecordOf<K>, view: CollectionRecordView<P, Related>) => ShownFields<K, Dto>
  list: {
    summary: string
    query?: ListQuery
    answers?: readonly number[]
    /** The filter for a query. */
    where?: (query: z.output<ListQuery>, context: Context) => (object: RecordOf<K>) => boolean
  }
  get?: { summary: string }
  create?: Creation<K, P, CreateBody>
  patch?: Patch<K, P, PatchBody>
  remove?: Removal<K, P, RemoveQuery>
}

export type Collection<K extends AnyKind, P extends CollectionParent> = {
  /** The path of one object, for the area's own routes. */
  readonly itemPath: string
  /** Returns the declared routes. */
  readonly routes: () => RouteDraft[]
  /** Finds the object that the path names, for the area's own routes. @throws PlatformError NOT_FOUND */
  readonly find: (context: Context) => Promise<{ object: RecordOf<K>; parent: P }>
  /** Answers 200 with the record of an object and its ETag. */
  readonly show: (context: Context, object: RecordOf<K>, parent: P) => Promise<Answer<never>>
}
