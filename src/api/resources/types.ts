import type { z } from 'zod'
import type { ActionName } from '../../core/actions.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import type { ListField } from './paging.ts'
import type { Unseen } from './references.ts'

/** A resource with the related objects that its record shows. Built for each request, so that names are current. */
export type ResourceView<K extends AnyKind = AnyKind> = {
  readonly object: RecordOf<K>
  readonly boundaryId: string
  /** Display name. */
  readonly boundary: string
  readonly resourceGroup: string
  readonly cluster: { readonly id: string; readonly name: string; readonly region: string; readonly domain: string }
  /** Versions of the boundary and the cluster, for what is kept of a record. */
  readonly contextVersion: string
  readonly services: Services
}

/** What a record shows beyond its object, its boundary and its cluster. */
export type Surroundings<K extends AnyKind = AnyKind> = {
  /** As long as no object of these kinds changes, `versionOf` stays the same for an object that stays the same. */
  readonly kinds: readonly AnyKind[]
  readonly versionOf: (view: ResourceView<K>) => string
}

/** The context for turning a body into a spec. */
export type WriteView<K extends AnyKind = AnyKind> = {
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly name: string
  readonly form: 'create' | 'put' | 'patch'
  /** Undefined at creation. */
  readonly previous: RecordOf<K> | undefined
  readonly services: Services
  readonly context: Context
  /** What `refuseMissingReferences` finds beside the cache. */
  readonly unseen?: Unseen | undefined
}

export type ResourceDeclaration<K extends AnyKind, Dto extends z.ZodObject, Body extends z.ZodObject> = {
  /** The URL segment, `collection` in records. */
  segment: string
  /** Of the action names: `vectorcluster` in `vectorcluster/read`. */
  actionPrefix: string
  dto: Dto
  body: Body
  /** Fields of responses, accepted and ignored in bodies. */
  shownNames: readonly string[]
  /** A body that works, for the documents. */
  example?: z.input<Body>
  toDto: (view: ResourceView<K>) => z.input<Dto>
  /**
   * The stored form of the writable fields, where null means "the plan's": what a merge patch is laid over. The record
   * that a GET shows will not do, because it holds the plan's own values, which would then be stored.
   */
  toBody: (object: RecordOf<K>) => z.output<Body>
  /**
   * The whole spec for a body; fields that no body shows come from `previous`.
   *
   * @throws PlatformError for what the schema cannot see: plan, cluster, quota
   */
  toSpec: (body: z.output<Body>, view: WriteView<K>) => object
  /** Such as its plan. Declare it if that is all: then records are kept as texts until something changes. */
  dependsOn?: Surroundings<K>
  /** Beyond those that every resource has. One without `of` is the field of that name of the spec. */
  fields?: Readonly<Record<string, ListField<ResourceView<K>>>>
  /** The order of lists that ask for none; by name. */
  defaultSort?: string
  /** What else writing one may ask for, in the words of `src/api/http/further.ts`. */
  further?: string
  /** Values of the body's enumerations, for the `config` routes. */
  enumerations?: Readonly<Record<string, readonly string[]>>
  /** The same, of fields whose values the platform's administrators decide. */
  choices?: (services: Services) => Readonly<Record<string, readonly string[]>>
  scale?: { min: number; max: number }
  /** The code if names are unique on the platform and another resource has it; ALREADY_EXISTS. */
  nameTaken?: ErrorCode
  /** Whether its controller must see each deletion, from the first moment on; true. */
  hasFinalizer?: boolean
  /** Whether a deletion is over within moments, so that its answer waits for the end: 204, and 202 only if it is late. */
  deletesAtOnce?: boolean
  /** Called before the object is deleted; throws to refuse. */
  beforeDelete?: (view: ResourceView<K>) => void | Promise<void>
  /** The name of a path parameter other than `name` (`appName`). */
  parameter?: string
}

export type PowerAction = 'read' | 'write' | 'delete' | 'scale'

/** The action name of a verb on a kind. The test of the route table checks that the interface has it. */
export function actionOf(prefix: string, verb: PowerAction): ActionName {
  return `${prefix}/${verb}` as ActionName
}

/** A declaration whose schemas are only known to its area. */
export type AnyDeclaration<K extends AnyKind> = ResourceDeclaration<K, z.ZodObject, z.ZodObject>
