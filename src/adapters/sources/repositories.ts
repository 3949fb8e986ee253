import { z } from 'zod'
import type { Repository } from './port.ts'

export const Text = z.string().nullish()

/** A repository of which a host says no more than this. Its owner and its name are the parts of its full name. */
export function repositoryOf(told: Pick<Repository, 'id' | 'fullName' | 'url'> & Partial<Repository>): Repository {
  const parts = told.fullName.split('/')
  return {
    name: parts.at(-1) ?? '',
    owner: parts.slice(0, -1).join('/'),
    cloneUrl: told.url,
    defaultBranch: '',
    isPrivate: true,
    isArchived: false,
    description: null,
    language: null,
    pushedAt: null,
    ...told,
  }
}

/** Those with the words in their name. */
export function searched<Found extends Pick<Repository, 'fullName'>>(found: readonly Found[], words = ''): Found[] {
  return found.filter(({ fullName }) => fullName.toLowerCase().includes(words.toLowerCase()))
}

/** A repository as GitHub tells it, and Gitea after it; each adds what only it says. */
export const GitHubRepository = z.object({
  id: z.int(),
  full_name: z.string(),
  html_url: z.string(),
  clone_url: z.string(),
  default_branch: Text,
  private: z.boolean(),
  archived: z.boolean().nullish(),
  description: Text,
  language: Text,
})

/** @param pushedAt which of its times tells of the last push is the provider's own */
export function gitHubRepository(repo: z.output<typeof GitHubRepository>, pushedAt: string | null | undefined) {
  return repositoryOf({
    id: String(repo.id),
    fullName: repo.full_name,
    url: repo.html_url,
    cloneUrl: repo.clone_url,
    defaultBranch: repo.default_branch ?? '',
    isPrivate: repo.private,
    isArchived: repo.archived ?? false,
    description: repo.description || null,
    language: repo.language || null,
    pushedAt: pushedAt ?? null,
  })
}
