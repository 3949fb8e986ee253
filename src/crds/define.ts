import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { ErrorCode, FieldError } from '../core/errors.ts'
import type { ClaimType } from '../core/nameClaims.ts'
import type { ObjectMeta, Resource } from '../core/object.ts'
import type { PlanFamily } from '../core/sizing/plans.ts'
import { DateTime, listMapMeta } from './fields.ts'

/** API groups: `freehold.dev` for `core`, else `<group>.freehold.dev`. */
export const API_GROUPS = ['core', 'iam', 'data', 'compute', 'delivery', 'registry', 'monitoring', 'lifecycle'] as const
export type ApiGroup = (typeof API_GROUPS)[number]

export const API_VERSION = 'v1alpha1'

/** Maximum bytes of metadata and spec of an object together, as JSON, unless its kind states another. */
export const MAX_OBJECT_BYTES = 131_072
/** The maximum for kinds with documents or with whole files in variables: about as much as REST and etcd accept. */
export const MAX_LARGE_OBJECT_BYTES = 1_048_576

/**
 * Where objects of a kind may be. One generated admission policy enforces it for kubectl and Git:
 * - `cluster`: no namespace;
 * - `platform`: only in freehold-system;
 * - `boundary`: only in a boundary's own namespace;
 * - `boundaryOrPlatform`: there, or in freehold-system for objects at the root scope;
 * - `group`: only in the namespace of a resource group.
 */
export type Placement = 'cluster' | 'platform' | 'boundary' | 'boundaryOrPlatform' | 'group'

/**
 * A rule over a spec, declared once: the API server evaluates `cel`, the facade runs `test` before any API call and
 * answers with `code`. A rule that uses `oldSelf` applies to updates only. A table test runs both on the same cases.
 */
export type Rule<Spec> = {
  cel: string
  message: string
  /** Returns the message with the refused part in it, which the API server cannot do. */
  explain?: (next: Spec) => string
  /** BAD_REQUEST if absent. */
  code?: ErrorCode | undefined
  /** The field that the message is about, as a dotted path below `spec`. */
  field: string
  test: (next: Spec, previous: Spec) => boolean
}

/**
 * A rule of a kind with the fields of the spec that it checks. A write that leaves them unchanged is not checked again,
 * like validation ratcheting of the API server for a single field (KEP-4008): a rule of a later version must not keep
 * an older object from being stopped, scaled or tagged. A transition rule has no such fields, and is checked on each
 * update.
 */
export type DeclaredRule<Spec> = Rule<Spec> & { code: ErrorCode; asksAbout: readonly string[] }

export type Column = {
  name: string
  path: string
  /** `date` is shown as an age; only for past times, because others show as `<invalid>`. */
  type?: 'string' | 'integer' | 'date' | 'boolean'
  description?: string
  /** 0 is always shown, 1 with `-o wide`. */
  priority?: 0 | 1
}

type AnySpec = z.ZodObject
type AnyStatus = z.ZodObject

export type KindDefinition<S extends AnySpec, T extends AnyStatus> = {
  group: ApiGroup
  kind: string
  /** Lower-case plural if it differs from `pluralOf`; also the URL segment of REST, unless `segment` is set. */
  plural?: string
  /** Name of the collection in REST and in scopes, if that is not the plural. */
  segment?: string
  /**
   * How paths of REST name an object, if not by its name below the segment: the collection, and the field of the spec,
   * or `id`, that identifies it there. Objects with free names are identified by their ids.
   */
  restNaming?: { readonly collection?: string; readonly by?: (keyof z.output<S> & string) | 'id' }
  shortNames: readonly string[]
  placement: Placement
  description: string
  /** The basename that the kind's files share in every folder of `src`. */
  area: string
  spec: S
  status: T
  /** Columns of `kubectl get`; the age is added at the end. */
  columns: readonly Column[]
  scale?: { replicas: string; ready: string; selector: string }
  /** Maximum bytes of metadata and spec, except for controllers and administrators; default `MAX_OBJECT_BYTES`. */
  bytesMax?: number
  /** Fields that never change after creation, not even from absent to present. */
  immutable?: readonly (keyof z.output<S> & string)[]
  rules?: readonly Rule<z.output<S>>[]
  /** Paths that field selectors may name. */
  selectable?: readonly string[]
  /** How `metadata.name` is validated: as a resource name (the default), as a uuid, or not by the kind. */
  name?: 'resource' | 'uuid' | 'free'
  /** Minimum length of a resource name, if it is more than one. */
  nameMin?: number
  /** For names that are unique on the whole platform: the type of the claim that precedes the object. */
  uniqueName?: ClaimType
  /** Returns the public hosts that a spec names; each is served by only one resource of the platform. */
  hostsOf?(spec: z.output<S>): readonly string[]
  /** Returns the paths that a spec names; each is served by only one object among those with the same `within`. */
  pathsOf?(spec: z.output<S>): readonly { within: string; path: string }[]
  /** Whether Kubernetes' roles view, edit and admin aggregate the kind; default: if its placement is `group`. */
  aggregate?: boolean
  /** Prefix of the kind's actions (`vectorcluster`): read, write, delete, scale and data actions are standard. */
  actions?: string
  /** Verbs of the API server by the action that they need, where that is not standard or the kind has no prefix. */
  forms?: Readonly<Record<string, readonly string[]>>
  /** The same for objects in freehold-system, which concern the platform: the actions are needed at the root. */
  platformForms?: Readonly<Record<string, readonly string[]>>
  /** Actions with the prefix that have no form in Kubernetes. */
  restOnly?: readonly string[]
  /** Verbs that every principal may use, because REST needs nothing but a token for them either. */
  open?: readonly string[]
  /**
   * Fields of the spec for which the right to write is not enough: the virtual verb that is needed, or `administrators`
   * for fields that only administrators of the cluster may write.
   */
  protectedFields?: Readonly<Record<string, string>>
  /** Rules that need more than the object: the caller, other rights of the caller, or the deletion. */
  admission?: readonly AdmissionRule[]
  /**
   * Rules over another kind, by its name: CEL sees each object of it as `params`. If there is no such object, nothing is
   * refused. Every write is evaluated with each of the objects, so only administrators may create that kind.
   */
  parameterizedRules?: readonly { readonly of: string; readonly rules: readonly AdmissionRule[] }[]
  /** For parts of a resource of another kind, at whose scope permissions are checked. */
  partOf?: PartOf
  /**
   * Whether objects are parts of another resource: no list of resources shows them, and quotas do not count them as
   * resources. Quotas do count what running parts request (`sized`).
   */
  isPart?: boolean
  /** If only the platform writes the objects, so that nobody keeps them in Git: why, in words for the reference. */
  writtenByPlatform?: string
  /**
   * Whether objects are in a boundary's namespace and concern resources of different groups: reading one needs the
   * right in the whole boundary, like reading all of them.
   */
  spansGroups?: true
  /** Whether objects may run on clusters with an agent; all others run on the platform's own. */
  runsAnywhere?: true
  /** The family of compute plans that objects take their sizes from; an object without one counts as one resource. */
  sized?: PlanFamily
  /** Whether the kind runs nothing itself: its plan and running state apply to parts without their own. */
  sizesParts?: true
}

/**
 * How an object names the resource that it is a part of: by its own name, or by a field of its spec. With a field, the
 * name of a new object says nothing, so its creator also needs the virtual verb on the owner.
 */
export type PartOf = { readonly collection: string } & (
  | { readonly nameOf: (objectName: string) => string | undefined }
  | { readonly field: string; readonly verb: string }
)

/**
 * CEL of an admission policy, with `object`, `oldObject`, `request`, `authorizer` and `variables.isExempt` (a platform
 * account, an administrator, Kubernetes itself). Rules over deletions apply to everybody but Kubernetes' own
 * collectors, or a namespace would stay in Terminating. REST checks the same in its handlers.
 */
export type AdmissionRule = {
  on: 'CREATE' | 'WRITE' | 'DELETE'
  cel: string
  message: string
  /** CEL of a message that names parts of the object; `message` is used if it cannot be evaluated. */
  messageCel?: string
}

export type Kind<S extends AnySpec = AnySpec, T extends AnyStatus = AnyStatus> = Readonly<
  Omit<KindDefinition<S, T>, 'rules' | 'immutable' | 'name' | 'aggregate' | 'segment' | 'plural'> & {
    segment: string
    rules: readonly DeclaredRule<z.output<S>>[]
    immutable: readonly string[]
    name: 'resource' | 'uuid' | 'free'
    plural: string
    aggregate: boolean
    resource: Resource
    apiVersion: string
  }
>

/** An object of a kind as the API server returns it, defaults applied. */
export type ObjectOf<K> = K extends { spec: infer S extends AnySpec; status: infer T extends AnyStatus }
  ? { apiVersion: string; kind: string; metadata: ObjectMeta; spec: z.output<S>; status?: z.output<T> }
  : never

export type SpecOf<K> = K extends { spec: infer S extends AnySpec } ? z.output<S> : never
export type StatusOf<K> = K extends { status: infer T extends AnyStatus } ? z.output<T> : never

/** Any kind, for code that handles all of them and does not need their fields. */
export type AnyKind = Omit<Kind, 'rules' | 'spec' | 'status'> & {
  rules: readonly DeclaredRule<never>[]
  spec: AnySpec
  status: AnyStatus
}

/** With the bounds of Kubernetes' own conditions (metav1.Condition). */
export const conditionSchema = z.object({
  type: z
    .string()
    .max(316)
    .describe('Ready always; Reconciling and Stalled only while they are True, Startable only while it is False'),
  status: z
    .enum(['True', 'False', 'Unknown'])
    .describe('True if the condition holds, False if it does not, Unknown if that is not known'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Why, as a constant, such as Available or QuotaExceeded'),
  message: z.string().max(32768).describe('Why, as a sentence for people; empty if there is nothing to add'),
  observedGeneration: z.int().min(0).optional().describe('The metadata.generation that the condition is about'),
  lastTransitionTime: DateTime.describe('When the status of the condition last changed'),
})

type Observed<Fields extends Record<string, z.ZodType>> = {
  [Name in keyof Fields]: Fields[Name] extends z.ZodDefault ? Fields[Name] : z.ZodOptional<Fields[Name]>
}

/** Makes fields of a status: each is absent until a controller has observed it, unless it has a default. */
function observed<const Fields extends Record<string, z.ZodType>>(fields: Fields): Observed<Fields> {
  const asObserved = (field: z.ZodType) => field.optional().meta({ description: field.description })
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    field instanceof z.ZodDefault ? field : asObserved(field),
  ])
  return Object.fromEntries(entries) as Observed<Fields>
}

/** The status that the engine writes for every kind. */
export const resourceStatus = z.object(
  observed({
    observedGeneration: z
      .int()
      .describe(
        'The metadata.generation that the controller last finished a pass over; less while a change waits, -1 before the first pass',
      ),
    conditions: z
      .array(conditionSchema)
      .meta(listMapMeta('type'))
      .describe('Ready, Reconciling and Stalled, as kstatus reads them; use Ready with kubectl wait'),
    status: z
      .string()
      .describe(
        'Pending; Provisioning until first ready, Updating later; Running; Stopped; Degraded where it still serves, else Failed; Deleting',
      ),
    phase: z.string().describe('Reason of the most important condition'),
    statusMessage: z.string().describe("One sentence; the engine's own if there is one"),
    firstReadyAt: DateTime.describe('When it was ready for the first time; absent until then'),
    serving: z
      .boolean()
      .describe('Whether anything serves now; if so, a resource that is not ready is Degraded, otherwise Failed'),
  }),
)

/** The same with what the controller of a kind observes. */
export const statusWith = <const Fields extends Record<string, z.ZodType>>(fields: Fields) =>
  resourceStatus.extend(observed(fields))

/** Columns that every reconciled kind shows first. */
export const statusColumns: readonly Column[] = [
  { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Status', path: '.status.status' },
]

/** Shown last, and only with `-o wide`. */
export const messageColumn: Column = { name: 'Message', path: '.status.statusMessage', priority: 1 }
const phaseColumn: Column = { name: 'Phase', path: '.status.phase', priority: 1 }

/** Columns of a kind that REST shows with a phase: its state, its own columns, and why. */
export const resourceColumns = (...own: Column[]) => [...statusColumns, ...own, phaseColumn, messageColumn]
/** Columns of any other kind. */
export const partColumns = (...own: Column[]) => [...statusColumns, ...own, messageColumn]

/** Verbs of a right to read, and of a right to write everything. */
export const READ_VERBS = ['get', 'list', 'watch']
export const WRITE_VERBS = ['create', 'update', 'patch', 'delete', 'deletecollection']

/**
 * Declares a kind. The CRD, the rights of the operator, the roles of tenants, the placement policy, the OpenAPI
 * components, the reference page and the types are derived from it.
 */
export function defineKind<const S extends AnySpec, const T extends AnyStatus>(
  definition: KindDefinition<S, T>,
): Kind<S, T> {
  const group = definition.group === 'core' ? 'freehold.dev' : `${definition.group}.freehold.dev`
  const immutable = definition.immutable ?? []
  const plural = definition.plural ?? pluralOf(definition.kind)
  const rules = [...immutable.map((field) => immutableRule<z.output<S>>(field)), ...(definition.rules ?? [])]
  return Object.freeze({
    ...definition,
    rules: rules.map((rule) => {
      const asksAbout = fieldsOf(rule, Object.keys(definition.spec.shape))
      return { ...rule, code: rule.code ?? 'BAD_REQUEST', asksAbout }
    }),
    immutable,
    name: definition.name ?? 'resource',
    plural,
    segment: definition.segment ?? plural,
    aggregate: definition.aggregate ?? definition.placement === 'group',
    apiVersion: `${group}/${API_VERSION}`,
    resource: {
      group,
      version: API_VERSION,
      plural,
      kind: definition.kind,
      namespaced: definition.placement !== 'cluster',
    },
  })
}

/** `VectorCluster` becomes `vectorclusters`, `VaultEntry` `vaultentries`. */
function pluralOf(kind: string): string {
  const name = kind.toLowerCase()
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}

function immutableRule<Spec>(field: string): Rule<Spec> {
  const value = (spec: Spec) => JSON.stringify((spec as Record<string, unknown>)[field] ?? null)
  return {
    cel: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field} cannot be changed after creation`,
    field,
    test: (next, previous) => value(next) === value(previous),
  }
}

/** Whether a rule compares with the stored object and so does not apply to a create. */
export function isTransitionRule(rule: { cel: string }): boolean {
  return rule.cel.includes('oldSelf')
}

export type BrokenRule = FieldError & { code: ErrorCode }

/** Returns the fields that a rule's CEL names: the spec is `self`, or `c` where a list of containers stands for it. */
function fieldsOf<Spec>(rule: Rule<Spec>, fields: readonly string[]): string[] {
  if (isTransitionRule(rule)) return []
  return fields.filter((field) => new RegExp(`\\b(self|c)\\.\\??${field}\\b`).test(rule.cel))
}

/** Returns the rules of a kind that `next` breaks, in the order of declaration; empty if it may be written. */
export function brokenRules<Spec>(
  kind: { rules: readonly DeclaredRule<Spec>[] },
  next: Spec,
  previous?: Spec,
): BrokenRule[] {
  return kind.rules
    .filter((rule) => previous !== undefined || !isTransitionRule(rule))
    .filter((rule) => !rule.test(next, previous ?? next) && !isUnaffected(rule, next, previous))
    .map(({ field, message, code, explain }) => ({ field, message: explain?.(next) ?? message, code }))
}

function isUnaffected<Spec>(rule: DeclaredRule<Spec>, next: Spec, previous: Spec | undefined): boolean {
  if (previous === undefined || isTransitionRule(rule)) return false
  const value = (spec: Spec, field: string) => (spec as Record<string, unknown>)[field]
  return rule.asksAbout.every((field) => isDeepStrictEqual(value(next, field), value(previous, field)))
}

/**
 * A rule over creation: the creator needs the verb on another resource, which a field of the spec names. The API server
 * checks rights on the new name, which says nothing about that resource.
 *
 * @param field path below the spec whose last part is the name, such as `restoreFrom.clusterName`; absent: not checked
 */
export function requireOwnerVerb(
  resource: Pick<Resource, 'group' | 'plural'>,
  field: string,
  verb: string,
  message: string,
): AdmissionRule {
  const { group, plural } = resource
  const parts = field.split('.')
  const isGiven = parts.map((_, index) => `has(object.spec.${parts.slice(0, index + 1).join('.')})`).join(' && ')
  const holder = `authorizer.group('${group}').resource('${plural}').namespace(request.namespace).name(object.spec.${field}).check('${verb}').allowed()`
  const messageCel = celAskingFor(message, verb, resource, `object.spec.${field}`)
  return { on: 'CREATE', cel: `variables.isExempt || !(${isGiven}) || ${holder}`, message, messageCel }
}

/**
 * Returns CEL of a message with the command that asks for the missing right in the namespace of the request.
 *
 * @param name CEL of the name of the resource
 */
export function celAskingFor(
  message: string,
  verb: string,
  { group, plural }: Pick<Resource, 'group' | 'plural'>,
  name: string,
): string {
  return `'${message}: kubectl auth can-i ${verb} ${plural}.${group}/' + ${name} + ' -n ' + request.namespace`
}
