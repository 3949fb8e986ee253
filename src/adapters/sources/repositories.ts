import { z } from 'zod'
import { type Places, readAt } from '../../core/readAt.ts'
import { Repository } from './port.ts'

export const Text = z.string().nullish()

/** Providers use numbers or strings. */
export const Id = z.union([z.int(), z.string()]).transform(String)

/** The repository fields that providers return. */
export const ToldRepository = z.object({
  id: Id,
  fullName: z.string(),
  url: z.string(),
  cloneUrl: z.string(),
  defaultBranch: Text,
  /** GitLab returns the visibility as a word. */
  isPrivate: z.union([z.boolean(), z.string().transform((visibility) => visibility !== 'public')]),
  isArchived: z.boolean().nullish(),
  description: Text,
  language: Text,
  pushedAt: Text,
})
type Told = Pick<Repository, 'id' | 'fullName' | 'url'> & {
  [Name in keyof z.output<typeof ToldRepository>]?: Repository[Name] | null | undefined
}

/** Completes a repository with defaults. Owner and name come from the full name. */
export function repositoryOf(told: Told): Repository {
  const parts = told.fullName.split('/')
  return Repository.parse({
    ...told,
    name: parts.at(-1) ?? '',
    owner: parts.slice(0, -1).join('/'),
    cloneUrl: told.cloneUrl ?? told.url,
    defaultBranch: told.defaultBranch ?? '',
    isPrivate: told.isPrivate ?? true,
    isArchived: told.isArchived ?? false,
    description: told.description || null,
    language: told.language || null,
    pushedAt: told.pushedAt ?? null,
  })
}

/** Returns a schema that reads a repository from these places of an answer. */
export const repositoryAt = (places: Places) => readAt(places, ToldRepository).transform(repositoryOf)

/** Returns a filter for repositories whose full name contains the text. */
export const isNamed =
  (words = '') =>
  ({ fullName }: Pick<Repository, 'fullName'>): boolean =>
    fullName.toLowerCase().includes(words.toLowerCase())

/** Where GitHub, and likewise Gitea, puts the fields of a repository. The time of the last push differs. */
export const GITHUB_REPOSITORY = {
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
