import { z } from 'zod'
import { idOf } from '../../core/ids.ts'
import { RESOURCE_NAME_MAX_LENGTH } from '../../core/names.ts'
import type { GroupResource } from '../boundaries/contents.ts'
import { Uuid } from '../dto.ts'

const VIOLATIONS = ['Empty', 'TooLong', 'BadCharacter', 'Reserved', 'TakenElsewhere'] as const

export const ResourceNameValidationDto = z
  .object({
    resourceName: z.string(),
    isValid: z.boolean(),
    isAvailable: z.boolean().describe('Valid, and no resource of the group has it'),
    violations: z.array(z.object({ code: z.enum(VIOLATIONS), message: z.string() }).meta({ id: 'NameViolation' })),
    takenBy: z
      .array(
        z
          .object({ collection: z.string(), resourceGroup: z.string(), name: z.string(), id: Uuid })
          .meta({ id: 'ResourceReference' }),
      )
      .describe('Those of them that the caller may read'),
  })
  .meta({ id: 'ResourceNameValidationDto' })
export type ResourceNameValidationDto = z.output<typeof ResourceNameValidationDto>
type NameViolation = ResourceNameValidationDto['violations'][number]

/** What speaks against giving the name to a new resource, whoever has it already. */
export function nameViolations(name: string, reserved: ReadonlySet<string>): NameViolation[] {
  if (name.trim() === '') return [{ code: 'Empty', message: 'a name has at least one character' }]
  const violations: NameViolation[] = []
  if (name.length > RESOURCE_NAME_MAX_LENGTH) {
    violations.push({ code: 'TooLong', message: `a name has at most ${RESOURCE_NAME_MAX_LENGTH} characters` })
  }
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name)) {
    const message = 'a name has lower-case letters, digits and hyphens and begins and ends with a letter or digit'
    violations.push({ code: 'BadCharacter', message })
  }
  if (reserved.has(name)) {
    violations.push({ code: 'Reserved', message: 'a route of the interface stands in the place of this name' })
  }
  return violations
}

/** @param holders resources of the group with this name; `isReadable` says which of them the caller may know */
export function validateName(
  resourceName: string,
  reserved: ReadonlySet<string>,
  holders: readonly GroupResource[],
  isReadable: (resource: GroupResource) => boolean,
): ResourceNameValidationDto {
  const violations = nameViolations(resourceName, reserved)
  const isValid = violations.length === 0
  const takenBy = holders.filter(isReadable).map(({ kind, object, resourceGroup }) => ({
    collection: kind.segment,
    resourceGroup,
    name: object.metadata.name,
    id: idOf({
      kind: kind.kind,
      group: kind.resource.group,
      namespace: object.metadata.namespace,
      name: object.metadata.name,
    }),
  }))
  return { resourceName, isValid, isAvailable: isValid && holders.length === 0, violations, takenBy }
}
