import { z } from 'zod'
import { BLUEPRINT_COLLECTIONS, type BlueprintCollection } from '../../crds/blueprintCollections.ts'
import { DateTime, Description, Scope, StoredDisplayName, Uuid } from '../../crds/fields.ts'
import { declarationOf } from '../resources/declarations.ts'
import { unwrapField } from '../resources/record.ts'
import { PRINCIPAL_TYPES } from '../rules/memberRecord.ts'

/** A grant in a blueprint. Its scope defaults to the group of the deployment. */
export const GrantBody = z.strictObject({
  principalId: Uuid,
  principalType: z.enum(PRINCIPAL_TYPES).nullish(),
  roleDefinitionName: StoredDisplayName,
  scope: Scope.nullish(),
  expiresAt: DateTime.nullish(),
  reason: Description.nullish(),
})

const BODIES = new Map<string, z.ZodObject>()

/** Returns the schema of a component's spec: the writable fields of the REST record in its collection. */
export function componentBodySchema(entry: BlueprintCollection): z.ZodObject {
  const known = BODIES.get(entry.collection)
  if (known !== undefined) return known
  const body = makeBody(entry)
  BODIES.set(entry.collection, body)
  return body
}

/** The field names that records use for a plan. */
export const PLAN_FIELDS = ['computePlan', 'resourcePlanId']

/** Returns the plan field of a component: the one in its spec, or else the one of its record. */
export function planFieldOf(collection: string, spec: object): string {
  const entry = BLUEPRINT_COLLECTIONS.get(collection)
  const fields = entry === undefined ? {} : componentBodySchema(entry).shape
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
    const { value, isOptional, hasDefault } = unwrapField(schema)
    return [[name, isOptional || hasDefault ? value.nullish() : value] as const]
  })
  const value = collection === 'secrets' ? { value: z.string().min(1).max(25_600) } : {}
  return z.strictObject({ ...parent, ...Object.fromEntries(fields), ...value })
}
