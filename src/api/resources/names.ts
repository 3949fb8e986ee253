import { z } from 'zod'
import { objectId } from '../../core/ids.ts'
import { RESOURCE_NAME_MAX_LENGTH } from '../../core/names.ts'
import { pluralize } from '../../core/pluralize.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { GroupResource } from './contents.ts'
import { Uuid } from './dto.ts'

const VIOLATIONS = ['Empty', 'TooShort', 'TooLong', 'BadCharacter', 'Reserved', 'TakenElsewhere'] as const

export const ResourceNameValidationDto = namedRecord('ResourceNameValidationDto', {
  resourceName: z.string(),
  isValid: z.boolean().describe('Well formed and not reserved'),
  isAvailable: z
    .boolean()
    .describe('Valid, no resource of the group has it, and none elsewhere where names are unique on the platform'),
  violations: z.array(namedRecord('NameViolation', { code: z.enum(VIOLATIONS), message: z.string() })),
  takenBy: z
    .array(
      namedRecord('ResourceReference', {
        collection: z.string(),
        resourceGroup: z.string(),
        name: z.string(),
        id: Uuid,
      }),
    )
    .describe('Those of them that the caller may read'),
})
export type ResourceNameValidationDto = z.output<typeof ResourceNameValidationDto>
type NameViolation = ResourceNameValidationDto['violations'][number]

/**
 * Returns why a new resource cannot have the name, whether or not it is taken.
 *
 * @param least the fewest characters of a name of its kind
 */
export function nameViolations(name: string, reserved: ReadonlySet<string>, least = 1): NameViolation[] {
  if (name.trim() === '') return [{ code: 'Empty', message: 'a name has at least one character' }]
  const violations: NameViolation[] = []
  if (name.length < least) {
    violations.push({
      code: 'TooShort',
      message: `a name of this collection has at least ${pluralize(least, 'character')}`,
    })
  }
  if (name.length > RESOURCE_NAME_MAX_LENGTH) {
    violations.push({ code: 'TooLong', message: `a name has at most ${RESOURCE_NAME_MAX_LENGTH} characters` })
  }
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name)) {
    const message = 'a name has lower-case letters, digits and hyphens and begins and ends with a letter or digit'
    violations.push({ code: 'BadCharacter', message })
  }
  if (reserved.has(name)) {
    violations.push({ code: 'Reserved', message: 'the name is reserved for a route of the interface' })
  }
  return violations
}

/** Who uses a name already. */
export type NameUse = {
  /** The fewest characters that the collections in question require. */
  least: number
  /** Resources of the group that have it. */
  holders: readonly GroupResource[]
  /** Which of them the caller may know. */
  isReadable: (resource: GroupResource) => boolean
  /** Collections with platform-wide unique names, in which a resource of another group has the name. */
  takenElsewhere: readonly string[]
}

/** A name that is taken elsewhere on the platform is valid but not available; the answer does not say who has it. */
export function validateName(
  resourceName: string,
  reserved: ReadonlySet<string>,
  { least, holders, isReadable, takenElsewhere }: NameUse,
): ResourceNameValidationDto {
  const violations = nameViolations(resourceName, reserved, least)
  const isValid = violations.length === 0
  for (const collection of takenElsewhere) {
    const message = `names of ${collection} are unique on the platform, and this one is taken`
    violations.push({ code: 'TakenElsewhere', message })
  }
  const takenBy = holders.filter(isReadable).map(({ kind, object, resourceGroup }) => ({
    collection: kind.segment,
    resourceGroup,
    name: object.metadata.name,
    id: objectId(kind.resource, object.metadata),
  }))
  return { resourceName, isValid, isAvailable: violations.length === 0 && holders.length === 0, violations, takenBy }
}
