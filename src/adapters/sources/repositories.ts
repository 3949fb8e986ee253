import { z } from 'zod'
import { type FieldPaths, withFieldPaths } from '../../core/fieldPaths.ts'
import { Repository } from './port.ts'

export const NullishText = z.string().nullish()

/** Providers use numbers or strings. */
export const ProviderId = z.union([z.int(), z.string()]).transform(String)

/** The repository fields that providers return. */
export const ProviderRepository = z.object({
  id: ProviderId,
  fullName: z.string(),
  url: z.string(),
  cloneUrl: z.string(),
  defaultBranch: NullishText,
  /** GitLab returns the visibility as a word. */
  isPrivate: z.union([z.boolean(), z.string().transform((visibility) => visibility !== 'public')]),
  isArchived: z.boolean().nullish(),
  description: NullishText,
  language: NullishText,
  pushedAt: NullishText,
})
type ProviderFields = Pick<Repository, 'id' | 'fullName' | 'url'> & {
  [Name in keyof z.output<typeof ProviderRepository>]?: Repository[Name] | null | undefined
}

/** Completes a repository with defaults. Owner and name come from the full name. */
export function repositoryOf(fields: ProviderFields): Repository {
  const parts = fields.fullName.split('/')
  return Repository.parse({
    ...fields,
    name: parts.at(-1) ?? '',
    owner: parts.slice(0, -1).join('/'),
    cloneUrl: fields.cloneUrl ?? fields.url,
    defaultBranch: fields.defaultBranch ?? '',
    isPrivate: fields.isPrivate ?? true,
    isArchived: fields.isArchived ?? false,
    description: fields.description || null,
    language: fields.language || null,
    pushedAt: fields.pushedAt ?? null,
  })
}

/** Returns a schema that reads a repository from these places of an answer. */
export const repositorySchema = (places: FieldPaths) =>
  withFieldPaths(places, ProviderRepository).transform(repositoryOf)

/** Returns a filter for repositories whose full name contains the text. */
export const nameFilter =
  (search = '') =>
  ({ fullName }: Pick<Repository, 'fullName'>): boolean =>
    fullName.toLowerCase().includes(search.toLowerCase())

/** Where GitHub, and likewise Gitea, puts the fields of a repository. The time of the last push differs. */
export const GITHUB_REPOSITORY_FIELDS = {
  id: 'id',
  fullName: 'full_name',
  url: 'html_url',
  cloneUrl: 'clone_url',
  defaultBranch: 'default_branch',
  isPrivate: 'private',
  isArchived: 'archived',
  description: 'description',
  language: 'language',
} as const
