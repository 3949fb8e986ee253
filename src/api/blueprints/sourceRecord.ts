import { z } from 'zod'
import { CATALOGUE_PROVIDERS, CATALOGUE_STATES, providerOf, stateOf } from '../../contracts/blueprints/catalogue.ts'
import { repositoryNameOf } from '../../contracts/sources/repositories.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import type { SourceObject } from './catalogue.ts'
import { TemplateProblemDto } from './reading.ts'

export const CatalogSourceDto = z
  .object({
    id: Uuid,
    provider: z.enum(CATALOGUE_PROVIDERS),
    repositoryUrl: z.string().nullable(),
    repositoryFullName: z.string().nullable(),
    repositoryId: z.string().nullable(),
    installationId: z.string().nullable(),
    ref: z.string(),
    path: z.string(),
    enabled: z.boolean(),
    status: z.enum(CATALOGUE_STATES),
    message: z.string().nullable(),
    revision: z.string().nullable(),
    templateCount: z.int(),
    invalidTemplates: z.array(z.object({ path: z.string(), errors: z.array(TemplateProblemDto) })),
    lastSyncAt: DateTime.nullable(),
    createdAt: DateTime,
  })
  .meta({ id: 'CatalogSourceDto' })
export type CatalogSourceDto = z.output<typeof CatalogSourceDto>

/** What kubectl made and REST would have refused is never read: the phase says why. */
const REFUSED = new Set<string | undefined>(['NameOccupied', 'QuotaExceeded'])

/** The fields that say something else than the spec of the source. */
export function sourceDto({ metadata, spec, status = {} }: SourceObject): Omit<CatalogSourceDto, 'id' | 'createdAt'> {
  const { repositoryUrl, installationId, repositoryId, ref, path, enabled } = spec
  const isRefused = REFUSED.has(status.phase)
  const url = repositoryUrl ?? status.repositoryUrl ?? null
  const name = spec.repositoryFullName ?? (url === null ? '' : repositoryNameOf(url))
  return {
    provider: spec.provider ?? status.provider ?? providerOf(repositoryUrl),
    repositoryUrl: url,
    repositoryFullName: name === '' ? null : name,
    repositoryId: repositoryId ?? null,
    installationId: installationId ?? null,
    ...{ ref, path, enabled },
    status: isRefused ? 'Failing' : stateOf(spec, status, metadata.generation),
    message: (isRefused ? status.statusMessage : status.message) ?? null,
    revision: status.revision ?? null,
    templateCount: status.templateCount ?? 0,
    invalidTemplates: (status.invalidTemplates ?? []).map(({ path: file, errors }) => ({
      path: file,
      errors: errors.map((error) => ({ ...error, line: error.line ?? null, column: error.column ?? null })),
    })),
    lastSyncAt: status.lastSyncAt ?? null,
  }
}
