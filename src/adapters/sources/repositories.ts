import { z } from 'zod'
import type { Repository } from './port.ts'

const Text = z.string().nullish()

/** A repository as GitHub tells it, and Gitea after it; each adds what only it says. */
export const GitHubRepository = z.object({
  id: z.int(),
  name: z.string(),
  full_name: z.string(),
  owner: z.object({ login: z.string() }),
  html_url: z.string(),
  clone_url: z.string(),
  default_branch: Text,
  private: z.boolean(),
  archived: z.boolean().nullish(),
  description: Text,
  language: Text,
})

/** @param pushedAt which of its times tells of the last push is the provider's own */
export function repositoryOf(repo: z.output<typeof GitHubRepository>, pushedAt: string | null | undefined): Repository {
  return {
    id: String(repo.id),
    name: repo.name,
    fullName: repo.full_name,
    owner: repo.owner.login,
    url: repo.html_url,
    cloneUrl: repo.clone_url,
    defaultBranch: repo.default_branch ?? '',
    isPrivate: repo.private,
    isArchived: repo.archived ?? false,
    description: repo.description || null,
    language: repo.language || null,
    pushedAt: pushedAt ?? null,
  }
}
