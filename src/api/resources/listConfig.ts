import { ACTIONS } from '../../core/actions.ts'
import { RESOURCE_NAME_MAX_LENGTH, resourceNamePattern } from '../../core/names.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { planFor } from '../../core/sizing/plans.ts'
import { compareSortableTexts, compareTexts, sortableText } from '../../core/textOrder.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { Context, Services } from '../http/context.ts'
import type { ListConfigDto } from './dto.ts'
import {
  filtersOf,
  type ListField,
  type ListShape,
  operatorsOf,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  sortsOf,
} from './paging.ts'

export type ListConfigParts = {
  collection: string
  context: Context
  enumerations?: Readonly<Record<string, readonly string[]>>
  plans?: ListConfigDto['plans']
  limits?: Record<string, number>
  /** Fewest characters of a name. */
  nameMin?: number | undefined
  /** The prefix, such as `vectorcluster`, of the actions that are listed if the caller holds them. */
  actionPrefix: string
}

/** The answer of a `config` route: what a client needs to show the list (records: config answer). */
export function listConfig<Row>(shape: ListShape<Row>, parts: ListConfigParts): ListConfigDto {
  const fields = Object.entries(shape.fields) as [string, ListField<Row>][]
  const enumerations: Record<string, readonly string[]> = { ...parts.enumerations }
  for (const [name, field] of fields) if (field.values !== undefined) enumerations[name] = field.values
  const columns = fields.filter(([, { isColumn }]) => isColumn !== false)
  return {
    collection: parts.collection,
    columns: [
      ...columns.map(([field, { title, type, isSorted, isShown }]) => ({
        field,
        title,
        type: field === 'status' ? ('status' as const) : COLUMN_TYPE[type],
        sortable: isSorted !== false,
        defaultVisible: isShown !== false,
      })),
      ...(shape.tagsOf === undefined
        ? []
        : [{ field: 'tags', title: 'Tags', type: 'tags' as const, sortable: false, defaultVisible: false }]),
    ],
    filters: filtersOf(shape).map((field) => {
      const { type = 'text', values } = (shape.fields[field] ?? {}) as Partial<ListField<Row>>
      return { field, operators: [...operatorsOf(type)], values: values === undefined ? null : [...values] }
    }),
    sorts: sortsOf(shape),
    defaultSort: shape.defaultSort,
    searchFields: [
      ...fields.flatMap(([name, field]) => (field.isSearched === true ? [name] : [])),
      ...(shape.tagsOf === undefined ? [] : ['tags']),
    ],
    enumerations: Object.fromEntries(
      Object.entries(enumerations).map(([name, values]) => [name, values.map((value) => ({ value, title: value }))]),
    ),
    plans: parts.plans ?? [],
    actions: heldActions(parts),
    names: {
      pattern: resourceNamePattern(parts.nameMin),
      maxLength: RESOURCE_NAME_MAX_LENGTH,
      reserved: [...parts.context.services.reservedNames].sort(),
    },
    limits: parts.limits ?? {},
    pageSizeDefault: PAGE_SIZE_DEFAULT,
    pageSizeMax: PAGE_SIZE_MAX,
  }
}

const COLUMN_TYPE = {
  text: 'text',
  enumeration: 'text',
  number: 'number',
  boolean: 'boolean',
  dateTime: 'dateTime',
  quantity: 'text',
} as const

function heldActions({ context, actionPrefix }: ListConfigParts): string[] {
  const { scope, services, caller } = context
  if (scope === undefined) return []
  const names = ACTIONS.filter(({ name }) => name.startsWith(`${actionPrefix}/`)).map(({ name }) => name)
  return names.filter((name) => services.access.isAllowed(caller.principalId, name, scope))
}

/** The plans that a new resource of a kind can take, in the order of the plan lists. */
export function planChoices(services: Services, { sized: family, spec }: AnyKind): ListConfigDto['plans'] {
  if (family === undefined) return []
  const plans = services.records.peekAll(ComputePlan)
  const first = planFor(family, { computePlan: spec.shape.computePlan?.parse(undefined) as string | undefined }, plans)
  return plans
    .filter(({ spec }) => spec.family === family && !spec.deprecated)
    .sort(
      (one, other) =>
        compareQuantities(one.spec.memoryRequest, other.spec.memoryRequest) ||
        compareSortableTexts(sortableText(one.spec.displayName), sortableText(other.spec.displayName)) ||
        compareTexts(one.metadata.name, other.metadata.name),
    )
    .map((plan) => ({ id: plan.metadata.name, name: plan.spec.displayName, isDefault: plan === first }))
}
