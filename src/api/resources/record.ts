import { z } from 'zod'
import type { AnyKind, SpecOf } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { fullSchemaOf, stripDefaultValues, withDefaults } from '../../crds/schemaDefaults.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { withoutAbsent } from '../records/specs.ts'
import { chooseCluster } from './chooseCluster.ts'
import { headFields, ignoredFields } from './dto.ts'
import { type ItemFields, shownSchema, shownValue, withItemFields, withoutWrappers, writtenSchema } from './items.ts'
import { headOf } from './resourceShape.ts'
import {
  chooseImage,
  choosePlan,
  chooseReplicas,
  chooseSizes,
  effectiveSizes,
  isReset,
  type Plan,
  PlanId,
  planOf,
  refuseRequestOverLimit,
  refuseShrinking,
  type SizedBody,
  type SizedSpec,
  shownPlan,
} from './sizing.ts'
import type { RecordDependencies, ResourceView, WriteView } from './types.ts'

type Values<K extends AnyKind> = { readonly [Field in keyof SpecOf<K>]?: (view: ResourceView<K>) => unknown }

/** Only what differs from the fields of the kind; everything else follows from `defineKind`. */
export type RecordDifferences<K extends AnyKind> = {
  /** The name of the record in documents; the kind with `Dto` if absent. */
  id?: string
  /** Fields of the head that this record does not have. */
  headless?: readonly (keyof typeof headFields)[]
  /** Fields of the spec that no body shows. */
  hidden?: readonly (keyof SpecOf<K> & string)[]
  /**
   * Fields that answers compute and that bodies may repeat without effect. A schema without a function shows the field
   * of the status; while that is absent, null, or 0 if the schema is a number that is never null.
   */
  computed?: Readonly<Record<string, z.ZodType | readonly [schema: z.ZodType, of: (view: ResourceView<K>) => unknown]>>
  /** Fields whose value in answers is not simply the stored one. */
  shownAs?: Values<K>
  /** Like `shownAs`, for optional fields that answers never leave null. */
  filled?: Values<K>
  /** What answers compute for each item of a list of records. */
  items?: Readonly<Partial<Record<keyof SpecOf<K> & string, ItemFields<K>>>>
  /** Fields with a default that a PUT without them leaves unchanged, because the change must be explicit. */
  kept?: readonly (keyof SpecOf<K> & string)[]
  /** Whether this platform lets a resource name an image of its own. */
  allowsOwnImages?: (services: Services) => boolean
  /** Computes fields of the spec itself; throws to refuse. */
  refine?: (draft: Partial<SpecOf<K>>, view: WriteView<K>, plan: Plan | undefined) => Partial<SpecOf<K>>
}

/** What the generic routes need from a record (`ResourceDeclaration`). */
export type ResourceRecord<K extends AnyKind> = {
  readonly dto: z.ZodObject
  readonly body: z.ZodObject
  readonly shownNames: readonly string[]
  readonly enumerations: Readonly<Record<string, readonly string[]>>
  readonly scale?: { min: number; max: number }
  readonly toDto: (view: ResourceView<K>) => Record<string, unknown>
  readonly toBody: (object: RecordOf<K>) => Record<string, unknown>
  readonly toSpec: (body: Record<string, unknown>, view: WriteView<K>) => object
  readonly dependsOn?: RecordDependencies<K>
}

/**
 * Derives the record of a kind of resources: `dto` for answers (every field, null included), and `body` with the
 * writable fields. Each of these may be absent or null, which sets its default, unless the kind requires it. Fields,
 * bounds, defaults and descriptions are those of the kind.
 */
export function recordOf<const K extends AnyKind>(kind: K, differences: RecordDifferences<K>): ResourceRecord<K> {
  const { id = `${kind.kind}Dto`, headless = [], hidden = [], computed = {}, filled = {} } = differences
  const items = itemsOf(kind, differences)
  const fields = Object.entries(kind.spec.shape as Record<string, z.ZodType>)
    .filter(([name]) => !(hidden as readonly string[]).includes(name))
    // The platform chooses the cluster if the body names none.
    .map(([name, schema]) => ({
      name,
      ...unwrapField(schema),
      isFilled: Object.hasOwn(filled, name) || name === 'clusterId',
    }))
  const head = Object.entries(headFields).filter(([name]) => !(headless as readonly string[]).includes(name))
  const shown = [
    ...head,
    ...Object.entries(computed).map(([name, each]) => [name, withDescription(name, schemaOf(each), kind)] as const),
  ]
  const planId = !hasSizes(kind)
    ? []
    : [['resourcePlanId', PlanId.nullable().describe('The same as computePlan')] as const]
  const bounds = fields.find(({ name }) => name === 'replicas')?.value as z.ZodInt | undefined
  return {
    dto: namedRecord(
      id,
      Object.fromEntries([
        ...shown.map(([name, schema]) => [name, schema.meta({ ...schema.meta(), readOnly: true })]),
        ...fields.map(({ name, value, isOptional, isFilled }) => {
          const whole = described(shownItems(value, items[name]), value)
          return [name, isOptional && !isFilled ? described(whole.nullable(), value) : whole]
        }),
        ...planId,
      ]),
    ),
    body: z.strictObject(
      Object.fromEntries([
        ...fields.map(({ name, value, isOptional, hasDefault }) => {
          const written = writtenItems(value, items[name])
          return [name, described(isOptional || hasDefault ? written.nullish() : written, value)]
        }),
        ...planId.map(([name, schema]) => [name, schema.optional()]),
      ]),
    ),
    shownNames: shown.map(([name]) => name),
    enumerations: Object.fromEntries(fields.flatMap(({ name, value }) => choicesOf(name, value))),
    ...(bounds !== undefined && { scale: { min: bounds.minValue ?? 0, max: bounds.maxValue ?? 0 } }),
    toDto: dtoMaker(kind, differences, fields),
    toBody: ({ spec }) => stored(spec, (name) => !(hidden as readonly string[]).includes(name)),
    toSpec: specMaker(kind, differences),
    ...(kind.sized !== undefined && {
      dependsOn: { kinds: [ComputePlan], versionOf: (view) => planOfView(kind, view)?.metadata.resourceVersion ?? '' },
    }),
  }
}

/** Unwraps the schema of a field, which keeps its description. */
export function unwrapField(schema: z.ZodType): { value: z.ZodType; isOptional: boolean; hasDefault: boolean } {
  const { value, isOptional, hasDefault } = withoutWrappers(schema)
  return { value: described(value, schema), isOptional: isOptional && !hasDefault, hasDefault }
}

type Items<K extends AnyKind> = Readonly<Record<string, ItemFields<K> | undefined>>

/** Returns the item fields of every nested record and list of records: answers show all their fields too. */
function itemsOf<K extends AnyKind>({ spec }: K, { items }: RecordDifferences<K>): Items<K> {
  const given = (items ?? {}) as Items<K>
  const nested = Object.entries(spec.shape as Record<string, z.ZodType>).filter(([, schema]) => {
    const { value } = unwrapField(schema)
    return (value instanceof z.ZodArray ? value.element : value) instanceof z.ZodObject
  })
  return Object.fromEntries(nested.map(([name]) => [name, given[name] ?? {}]))
}

function shownItemValues<K extends AnyKind>(
  schema: z.ZodType,
  values: unknown,
  fields: ItemFields<K> | undefined,
  view: ResourceView<K>,
): unknown {
  if (values === undefined || values === null) return null
  const whole = fullSchemaOf(schema)
  // Sizes are null if an administrator removed the plan.
  const shown = shownValue(whole, whole === schema ? values : withDefaults(whole, withoutAbsent(values)))
  if (!Array.isArray(shown)) return shown
  for (const item of shown as Record<string, unknown>[])
    for (const [name, [, of]] of Object.entries(fields ?? {})) item[name] = of(item, view) ?? null
  return shown
}

function shownItems<K extends AnyKind>(value: z.ZodType, fields: ItemFields<K> | undefined): z.ZodType {
  if (fields === undefined) return value
  const more = Object.entries(fields).map(([name, [schema]]) => [
    name,
    schema.meta({ ...schema.meta(), readOnly: true }),
  ])
  return withItemFields(shownSchema(fullSchemaOf(value)), Object.fromEntries(more))
}

function writtenItems<K extends AnyKind>(value: z.ZodType, fields: ItemFields<K> | undefined): z.ZodType {
  if (fields === undefined) return value
  return withItemFields(writtenSchema(fullSchemaOf(value)), ignoredFields(Object.keys(fields)))
}

/** Returns the nested values of a body as they are stored: without computed fields, and without defaults. */
function givenItems(given: Record<string, unknown>, kind: AnyKind, items: Items<never>): object {
  return Object.fromEntries(
    Object.keys(items).flatMap((name) => {
      const { value } = unwrapField((kind.spec.shape as Record<string, z.ZodType>)[name] as z.ZodType)
      const [whole, part] = [fullSchemaOf(value), given[name] ?? undefined]
      const mayBeSparse = Array.isArray(part) || (part !== undefined && whole !== value)
      return mayBeSparse ? [[name, stripDefaultValues(whole, part)]] : []
    }),
  )
}

/** A computed field has the description of the field of the status that it shows, unless it has its own. */
function withDescription(name: string, schema: z.ZodType, { status }: AnyKind): z.ZodType {
  const description = schema.description ?? status.shape[name]?.description?.replaceAll(/\babsent\b/g, 'null')
  return description === undefined ? schema : schema.meta({ ...schema.meta(), description })
}

function described<Schema extends z.ZodType>(schema: Schema, { description }: z.ZodType): Schema {
  return description === undefined ? schema : schema.meta({ ...schema.meta(), description })
}

function choicesOf(name: string, value: z.ZodType): (readonly [string, readonly string[]])[] {
  const choice = value instanceof z.ZodArray ? value.element : value
  return choice instanceof z.ZodEnum ? [[name, choice.options as readonly string[]]] : []
}

/** Whether specs of the kind can override the sizes of their plan. */
const hasSizes = ({ spec }: AnyKind) => Object.hasOwn(spec.shape, 'cpuRequest')

function stored(spec: object, isKept: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(spec).filter(([name, value]) => isKept(name) && value !== undefined && value !== null),
  )
}

function planOfView<K extends AnyKind>({ sized }: K, { services, object }: ResourceView<K>): Plan | undefined {
  return sized === undefined ? undefined : planOf(services, sized, object.spec as SizedSpec)
}

function dtoMaker<K extends AnyKind>(
  kind: K,
  differences: RecordDifferences<K>,
  fields: readonly { name: string; value: z.ZodType }[],
): ResourceRecord<K>['toDto'] {
  const { headless = [], computed = {}, shownAs = {}, filled = {} } = differences
  const items = itemsOf(kind, differences)
  const nested = fields.filter(({ name }) => items[name] !== undefined)
  const others = Object.entries<((view: ResourceView<K>) => unknown) | undefined>({ ...shownAs, ...filled })
  const computedFields = Object.entries(computed).map(([name, each]) => [name, valueReader(name, each)] as const)
  return (view) => {
    const spec = view.object.spec as SizedSpec & Record<string, unknown>
    const dto: Record<string, unknown> = headOf(view as unknown as ResourceView, kind.segment)
    for (const name of headless) delete dto[name]
    for (const [name, of] of computedFields) dto[name] = of(view) ?? null
    for (const { name } of fields) if (name !== 'clusterId') dto[name] = spec[name] ?? null
    if (hasSizes(kind)) {
      const plan = planOfView(kind, view)
      const planId = shownPlan(spec, plan)
      Object.assign(dto, effectiveSizes(spec, plan), { computePlan: planId, resourcePlanId: planId })
      if (Object.hasOwn(kind.spec.shape, 'replicas')) dto.replicas = spec.replicas ?? plan?.spec.replicas ?? null
    }
    for (const [name, of] of others) dto[name] = of?.(view) ?? null
    for (const { name, value } of nested) dto[name] = shownItemValues(value, dto[name], items[name], view)
    return dto
  }
}

/** @throws PlatformError CLUSTER_NOT_PROJECTED, and for kinds with sizes what `sizing.ts` refuses */
function specMaker<K extends AnyKind>(kind: K, differences: RecordDifferences<K>): ResourceRecord<K>['toSpec'] {
  const { hidden = [], kept = [], allowsOwnImages, refine } = differences
  const items = itemsOf(kind, differences)
  const hasReplicas = Object.hasOwn(kind.spec.shape, 'replicas')
  return (body, view) => {
    const previous: Record<string, unknown> = { ...(view.previous?.spec as object | undefined) }
    const unchanged = kept.filter((name) => (body[name] ?? undefined) === undefined && !isReset(view, name))
    const { resourcePlanId: _, ...given } = body
    const draft: Record<string, unknown> = {
      ...Object.fromEntries([...hidden, ...unchanged].map((name) => [name, previous[name]])),
      ...stored(given, (name) => given[name] !== ''),
      ...givenItems(given, kind, items),
      clusterId: chooseCluster(kind, (body.clusterId as string | null) ?? undefined, view),
    }
    const plan = kind.sized === undefined ? undefined : choosePlan(kind.sized, body as SizedBody, view)
    if (kind.sized !== undefined && plan !== undefined) {
      Object.assign(draft, { computePlan: plan.named }, chooseSizes(kind.sized, body as SizedBody, view, plan))
      if (hasReplicas) draft.replicas = chooseReplicas(body as SizedBody, view, plan.effective)
      if (allowsOwnImages !== undefined) {
        draft.imageName = chooseImage(body as SizedBody, view, allowsOwnImages(view.services))
      }
      refuseRequestOverLimit(draft as SizedSpec, plan.effective)
      refuseShrinking(kind.sized, draft as SizedSpec, view, plan.effective)
    }
    return { ...draft, ...refine?.(draft as Partial<SpecOf<K>>, view, plan?.effective) }
  }
}

type Computed<K extends AnyKind> = NonNullable<RecordDifferences<K>['computed']>[string]

const schemaOf = <K extends AnyKind>(each: Computed<K>): z.ZodType => (each instanceof z.ZodType ? each : each[0])

function valueReader<K extends AnyKind>(name: string, each: Computed<K>): (view: ResourceView<K>) => unknown {
  if (!(each instanceof z.ZodType)) return each[1]
  const otherwise = each instanceof z.ZodNumber ? 0 : null
  return ({ object }) => (object as { status?: Record<string, unknown> }).status?.[name] ?? otherwise
}
