import type { z } from 'zod'
import type { ActionName } from '../../core/actions.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import type { ListField } from './paging.ts'
import type { UncachedObjects } from './references.ts'

/** A resource with the related objects that its record shows. Built for each request, so that names are current. */
export type ResourceView<K extends AnyKind = AnyKind> = {
  readonly object: RecordOf<K>
  readonly boundaryId: string
  /** Display name. */
  readonly boundary: string
  readonly resourceGroup: string
  readonly cluster: { readonly id: string; readonly name: string; readonly region: string; readonly domain: string }
  /** Versions of the boundary and the cluster, for cached records. */
  readonly contextVersion: string
  readonly services: Services
}

/** What a record shows beyond its object, its boundary and its cluster. */
export type RecordDependencies<K extends AnyKind = AnyKind> = {
  /** While no object of these kinds changes, `versionOf` stays the same for an unchanged object. */
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
  /** Objects that `refuseMissingReferences` finds although the cache lacks them. */
  readonly unseen?: UncachedObjects | undefined
}

export type ResourceDeclaration<K extends AnyKind, Dto extends z.ZodObject, Body extends z.ZodObject> = {
  dto: Dto
  body: Body
  /** Fields of responses, accepted and ignored in bodies. */
  shownNames: readonly string[]
  /** A working body, for the documents. */
  example?: z.input<Body>
  toDto: (view: ResourceView<K>) => z.input<Dto>
  /**
   * Returns the stored form of the writable fields, where null means "the plan's", as the base of a merge patch. The
   * record of a GET will not do, because it holds the plan's own values, which would then be stored.
   */
  toBody: (object: RecordOf<K>) => z.output<Body>
  /**
   * Returns the whole spec for a body; fields that no body shows come from `previous`.
   *
   * @throws PlatformError for what the schema cannot see: plan, cluster, quota
   */
  toSpec: (body: z.output<Body>, view: WriteView<K>) => object
  /** What else the record depends on, such as its plan. If declared, records are cached until something changes. */
  dependsOn?: RecordDependencies<K>
  /** List fields beyond those of every resource. Without `of`, a field is the one of that name in the spec. */
  fields?: Readonly<Record<string, ListField<ResourceView<K>>>>
  /** The default order of lists; by name if absent. */
  defaultSort?: string
  /** What else a write may require, in the words of `src/api/http/furtherRights.ts`. */
  further?: string
  /** Values of the body's enumerations, for the `config` routes. */
  enumerations?: Readonly<Record<string, readonly string[]>>
  /** The same, for fields whose values the platform's administrators decide. */
  choices?: (services: Services) => Readonly<Record<string, readonly string[]>>
  scale?: { min: number; max: number }
  /** The code if another resource has a name that is unique on the platform; ALREADY_EXISTS if absent. */
  nameTaken?: ErrorCode
  /** Whether its controller must see each deletion, from creation on; true if absent. */
  hasFinalizer?: boolean
  /** Whether a deletion ends within moments, so that the response waits for that: 204, or 202 if it takes longer. */
  deletesAtOnce?: boolean
  /** Called before the object is deleted; throws to refuse. */
  beforeDelete?: (view: ResourceView<K>) => void | Promise<void>
  /** The name of a path parameter other than `name` (`appName`). */
  parameter?: string
}

export type PowerAction = 'read' | 'write' | 'delete' | 'scale'

/** The action name of a verb on a kind. The test of the route table checks that the interface has it. */
export function actionOf(kind: AnyKind, verb: PowerAction): ActionName {
  return `${actionPrefixOf(kind)}/${verb}` as ActionName
}

export const actionPrefixOf = ({ actions, segment }: AnyKind): string => actions ?? segment

/** A declaration whose schemas only its area knows. */
export type AnyDeclaration<K extends AnyKind> = ResourceDeclaration<K, z.ZodObject, z.ZodObject>
