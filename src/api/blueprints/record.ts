import { z } from 'zod'
import { BLUEPRINT_CATEGORIES, BlueprintParameter } from '../../contracts/blueprints/template.ts'
import { createdAtOf } from '../../core/object.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { BLUEPRINT_ORIGINS, type ListedBlueprint } from './catalogue.ts'

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

/** Whether the file is invalid in the last synced commit, so that the template is from an earlier one. */
function isOlder(path: string | undefined, source: ListedBlueprint['source']): boolean {
  return (source?.status?.invalidTemplates ?? []).some((one) => one.keeps !== undefined && one.path === path)
}

export function blueprintDto(
  { id, object, origin, source, shown }: ListedBlueprint,
  { services, caller }: Context,
  boundaryId: string,
): BlueprintDto {
  const { metadata, spec, status } = object
  const { head, category = 'Tools', isValid, parameters, components, outputs, permissions } = shown
  const scope = boundaryScope(boundaryId)
  return wholeRecord(BlueprintDto, {
    id,
    slug: spec.slug,
    name: head.name ?? spec.slug,
    version: head.version ?? '0.0.0',
    description: head.description ?? '',
    category,
    icon: head.icon ?? DEFAULT_ICON,
    origin,
    sourceId: spec.sourceId,
    isEnabled: source?.spec.enabled ?? true,
    ...{ isValid, parameters, components: [...components], outputs: [...outputs], permissions: [...permissions] },
    missingPermissions: permissions.filter((name) => !services.access.isAllowed(caller.principalId, name, scope)),
    updatedAt: status?.updatedAt ?? createdAtOf(metadata),
    revision: isOlder(spec.sourcePath, source) ? null : (source?.status?.revision ?? null),
  })
}
