import { z } from 'zod'
import { BLUEPRINT_COLLECTIONS, type BlueprintCollection } from '../../crds/blueprintCollections.ts'
import { DateTime, Description, DisplayNameOf, Scope, Uuid } from '../../crds/fields.ts'
import { declarationOf } from '../resources/declarations.ts'
import { fieldOf } from '../resources/record.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

/** Of a grant that a blueprint gives: in the group that it is deployed to, unless it says where there. */
export const GrantBody = z.strictObject({
  principalId: Uuid,
  principalType: z.enum(PRINCIPAL_TYPES).nullish(),
  roleDefinitionName: DisplayNameOf,
  scope: Scope.nullish(),
  expiresAt: DateTime.nullish(),
  reason: Description.nullish(),
})

const BODIES = new Map<string, z.ZodObject>()

/** What the spec of a component may hold: the writable fields of the record that REST makes in the collection. */
export function bodyOf(entry: BlueprintCollection): z.ZodObject {
  const known = BODIES.get(entry.collection)
  if (known !== undefined) return known
  const body = makeBody(entry)
  BODIES.set(entry.collection, body)
  return body
}

/** The names that records have for the plan of a resource. */
export const PLAN_FIELDS = ['computePlan', 'resourcePlanId']

/** The field of a component that says its plan: the one that it has, else the one that its record has. */
export function planFieldOf(collection: string, spec: object): string {
  const entry = BLUEPRINT_COLLECTIONS.get(collection)
  const fields = entry === undefined ? {} : bodyOf(entry).shape
  const isIn = (known: object) => (field: string) => Object.hasOwn(known, field)
  return PLAN_FIELDS.find(isIn(spec)) ?? PLAN_FIELDS.find(isIn(fields)) ?? 'computePlan'
}

function makeBody({ kind, collection, part }: BlueprintCollection): z.ZodObject {
  if (collection === 'roleassignments') return GrantBody
  const declared = declarationOf(kind)
  if (declared !== undefined && part === undefined) return declared.body
  const parent = part === undefined ? {} : { [part.parentField]: z.string().min(1).max(52) }
  if (declared !== undefined) return declared.body.extend(parent)
  const internal = new Set([...(part?.hidden ?? []), part?.parentField, part?.nameField])
  const fields = Object.entries(kind.spec.shape as Record<string, z.ZodType>).flatMap(([name, schema]) => {
    if (internal.has(name)) return []
    const { value, isOptional, hasDefault } = fieldOf(schema)
    return [[name, isOptional || hasDefault ? value.nullish() : value] as const]
  })
  const value = collection === 'secrets' ? { value: z.string().min(1).max(25_600) } : {}
  return z.strictObject({ ...parent, ...Object.fromEntries(fields), ...value })
}
