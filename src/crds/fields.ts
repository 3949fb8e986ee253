import { z } from 'zod'
import { ADDRESS_MAX_LENGTH, ADDRESS_PATTERN } from '../core/address.ts'
import { RESOURCE_NAME_MAX_LENGTH, RESOURCE_NAME_PATTERN, UUID_PATTERN } from '../core/names.ts'
import { QUANTITY_PATTERN } from '../core/quantity.ts'

/** Field types that kinds share. Patterns are RE2, because the API server runs them too. */

export const Uuid = z.string().regex(new RegExp(UUID_PATTERN)).max(36)

export const ResourceName = z.string().regex(new RegExp(RESOURCE_NAME_PATTERN)).max(RESOURCE_NAME_MAX_LENGTH)

export const Quantity = z.string().regex(new RegExp(QUANTITY_PATTERN)).max(32)

/** Display names: 1 to 128 characters, no control characters, no space at either end. */
export const DisplayName = z
  .string()
  .min(1)
  .max(128)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the pattern refuses.
  .regex(/^[^ \x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^ \x00-\x1f\x7f])?$/)
  .describe('A name for people, 1 to 128 characters without spaces at either end')

export const Description = z.string().max(512).describe('What it is for, in words for people')

/** At most 50 pairs that people choose; kept in the spec and never made labels, which have narrower rules. */
export const Tags = z
  .record(z.string(), z.string().max(256))
  .meta({ maxProperties: 50 })
  .describe('Pairs that people choose, at most 50, to find things by; nothing that runs depends on them')

/** Limits over everything in a boundary or group; an absent one is unlimited. */
export const Quota = z.strictObject({
  cpu: Quantity.optional().describe('Most CPU that what runs may request together, in cores; unlimited when absent'),
  memory: Quantity.optional().describe(
    'Most memory that what runs may request together, such as 64Gi; unlimited when absent',
  ),
  storage: Quantity.optional().describe(
    'Most storage of all volumes together, those of stopped resources too; unlimited when absent',
  ),
  resourceGroups: z.int().min(0).max(100000).optional().describe('Most resource groups; unlimited when absent'),
  resources: z.int().min(0).max(1000000).optional().describe('Most resources of all kinds; unlimited when absent'),
  pods: z.int().min(0).max(1000000).optional().describe('Most replicas that run at once; unlimited when absent'),
})

/** A scope as IAM writes it; the full shape is checked by `core/scope`. */
export const Scope = z
  .string()
  .max(400)
  .regex(
    /^\/(boundaries\/[0-9a-f-]{36}(\/resourcegroups\/[a-z0-9-]{1,52}(\/resources\/[a-z]{1,40}\/[a-z0-9-]{1,52})?)?)?$/,
  )
  .describe('Where it counts, and everywhere below: /, a boundary, a resource group or a resource; immutable')

/** One e-mail address. */
export const Email = z.string().regex(new RegExp(ADDRESS_PATTERN)).max(ADDRESS_MAX_LENGTH)

export const PrincipalType = z
  .enum(['User', 'Group', 'ServicePrincipal'])
  .describe('User is a person, Group a PrincipalGroup, ServicePrincipal a service account; immutable')

/** RFC 3339 date and time. */
export const DateTime = z.string().max(40).meta({ format: 'date-time' })
