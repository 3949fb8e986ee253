import { z } from 'zod'
import { Quota } from '../../crds/fields.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'

/** The limits of a boundary or group, and the usage of each; null is unlimited. */
export const BoundaryQuotaDto = namedRecord('BoundaryQuota', {
  cpu: z.string().nullable(),
  memory: z.string().nullable(),
  storage: z.string().nullable(),
  resourceGroups: z.int().nullable(),
  resources: z.int().nullable(),
  pods: z.int().nullable(),
})
type BoundaryQuotaDto = z.output<typeof BoundaryQuotaDto>

export function quotaDto(
  limits: { [Name in keyof BoundaryQuotaDto]?: BoundaryQuotaDto[Name] | undefined },
): BoundaryQuotaDto {
  const { cpu = null, memory = null, storage = null, resourceGroups = null, resources = null, pods = null } = limits
  return { cpu, memory, storage, resourceGroups, resources, pods }
}

type Limit = string | number | null | undefined

/** The same limits in a body; null or absent means unlimited. */
export const BoundaryQuotaBody = strictRecord(
  'BoundaryQuotaRequest',
  Object.fromEntries(Object.entries(Quota.shape).map(([name, limit]) => [name, limit.nullable()])),
) as z.ZodType<Readonly<Record<string, Limit>>>
