import { z } from 'zod'
import { type Places, readAt } from '../../core/readAt.ts'
import { Repository } from './port.ts'

export const Text = z.string().nullish()

/** As hosts count things, or name them. */
export const Id = z.union([z.int(), z.string()]).transform(String)

/** What hosts say of a repository. */
export const ToldRepository = z.object({
  id: Id,
  fullName: z.string(),
  url: z.string(),
  cloneUrl: z.string(),
  defaultBranch: Text,
  /** GitLab says by a word who sees it. */
  isPrivate: z.union([z.boolean(), z.string().transform((visibility) => visibility !== 'public')]),
  isArchived: z.boolean().nullish(),
  description: Text,
  language: Text,
  pushedAt: Text,
})
type Told = Pick<Repository, 'id' | 'fullName' | 'url'> & {
  [Name in keyof z.output<typeof ToldRepository>]?: Repository[Name] | null | undefined
}

/** A repository of which a host says no more than this. Its owner and its name are the parts of its full name. */
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

/** Reads a repository, whose fields a host has at these places. */
export const repositoryAt = (places: Places) => readAt(places, ToldRepository).transform(repositoryOf)

/** Whether a repository has the words in its name. */
export const isNamed =
  (words = '') =>
  ({ fullName }: Pick<Repository, 'fullName'>): boolean =>
    fullName.toLowerCase().includes(words.toLowerCase())

/** As GitHub tells of a repository, and Gitea after it; which of its times is that of the last push is its own. */
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
