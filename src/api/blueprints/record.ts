import { z } from 'zod'
import { BLUEPRINT_CATEGORIES, BlueprintParameter, type Template } from '../../contracts/blueprints/template.ts'
import { createdAtOf } from '../../core/object.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { planFieldOf } from './bodies.ts'
import { BLUEPRINT_ORIGINS, type Blueprint, permissionsOf } from './catalogue.ts'

const ParameterValue = BlueprintParameter.shape.default.unwrap().meta({ id: 'BlueprintParameterValue' })
const ParameterDto = namedRecord('BlueprintParameter', {
  ...BlueprintParameter.shape,
  default: ParameterValue.optional(),
})

/** For templates without an icon, because every record has one. */
const DEFAULT_ICON = 'blueprint'

export const BlueprintDto = namedRecord('BlueprintDto', {
  id: Uuid,
  slug: z.string(),
  name: z.string(),
  version: z.string(),
  description: z.string(),
  category: z.enum(BLUEPRINT_CATEGORIES),
  icon: z.string().describe('A name, or an https address; "blueprint" where the template names none'),
  origin: z.enum(BLUEPRINT_ORIGINS),
  sourceId: Uuid.nullable(),
  isEnabled: z.boolean(),
  isValid: z.boolean(),
  parameters: z.array(ParameterDto),
  components: z.array(
    z.object({
      name: z.string(),
      collection: z.string(),
      computePlan: z.string().nullable(),
      replicas: z.int().nullable(),
    }),
  ),
  outputs: z.array(z.object({ name: z.string(), secret: z.boolean() })),
  permissions: z.array(z.string()).describe('What deploying needs in the group'),
  missingPermissions: z.array(z.string()).describe('Those of them that the caller lacks at the boundary'),
  updatedAt: DateTime,
  revision: z.string().nullable(),
})
export type BlueprintDto = z.output<typeof BlueprintDto>

export const WholeBlueprintDto = BlueprintDto.extend({ content: z.string() }).meta({ id: 'WholeBlueprintDto' })

export const BLUEPRINT_LIST = {
  columns: {
    name: text<BlueprintDto>('Name', { isSearched: true }),
    slug: text<BlueprintDto>('Slug', { isSearched: true }),
    category: enumeration<BlueprintDto>('Category', BLUEPRINT_CATEGORIES, { isSorted: false }),
    origin: enumeration<BlueprintDto>('Origin', BLUEPRINT_ORIGINS, { isSorted: false }),
    updatedAt: dateTime<BlueprintDto>('Updated', { isFiltered: false }),
  },
  sort: 'name',
  name: 'slug',
} as const

const textIn = (spec: Readonly<Record<string, unknown>>, field: string) => {
  const value = spec[field]
  return typeof value === 'string' ? value : null
}

function componentOf({ name, collection, spec }: Template['components'][number]) {
  const { replicas } = spec
  const isCount = typeof replicas === 'number' && Number.isSafeInteger(replicas)
  const computePlan = textIn(spec, planFieldOf(collection, spec))
  return { name, collection, computePlan, replicas: isCount ? replicas : null }
}

/** Whether the file is invalid in the last synced commit, so that the template is from an earlier one. */
function isOlder(path: string | undefined, source: Blueprint['source']): boolean {
  return (source?.status?.invalidTemplates ?? []).some((one) => one.keeps !== undefined && one.path === path)
}

export function blueprintDto(
  { id, object, origin, source, read }: Blueprint,
  { services, caller }: Context,
  boundaryId: string,
): BlueprintDto {
  const { metadata, spec, status } = object
  const { template, problems, head } = read
  const permissions = template === undefined ? [] : permissionsOf(template)
  const scope = boundaryScope(boundaryId)
  return wholeRecord(BlueprintDto, {
    id,
    slug: spec.slug,
    name: head.name ?? spec.slug,
    version: head.version ?? '0.0.0',
    description: head.description ?? '',
    category: template?.category ?? 'Tools',
    icon: head.icon ?? DEFAULT_ICON,
    origin,
    sourceId: spec.sourceId,
    isEnabled: source?.spec.enabled ?? true,
    isValid: template !== undefined && !problems.some(({ severity }) => severity === 'Error'),
    parameters: template?.parameters ?? [],
    components: (template?.components ?? []).map(componentOf),
    outputs: (template?.outputs ?? []).map(({ name, secret }) => ({ name, secret })),
    permissions,
    missingPermissions: permissions.filter((name) => !services.access.isAllowed(caller.principalId, name, scope)),
    updatedAt: status?.updatedAt ?? createdAtOf(metadata),
    revision: isOlder(spec.sourcePath, source) ? null : (source?.status?.revision ?? null),
  })
}
