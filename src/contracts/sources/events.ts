import { z } from 'zod'
import type { Provider } from './providers.ts'
import { BRANCH, isPossible, type NameRule, REF, REPOSITORY } from './refs.ts'

export const HEAD_KINDS = ['Push', 'Tag', 'PullRequest'] as const

/** Where a branch, a tag or a pull request of a repository now stands. */
export type Head = {
  kind: (typeof HEAD_KINDS)[number]
  repositoryId: string
  repositoryName: string
  /** `refs/heads/main`, `refs/tags/v1`; of a pull request its branch. */
  ref: string
  commit: string
}

/** A branch or tag that was deleted. */
export type GoneRef = Pick<Head, 'kind' | 'repositoryId' | 'ref'>

/** What a delivery says, as far as the platform acts on it. */
export type SourceEvent =
  | { kind: 'Heads'; heads: Head[]; gone?: GoneRef[] }
  | { kind: 'Ping' }
  /** The installation that deliveries came from is gone. */
  | { kind: 'Removed'; installationId: string }
  /** What the installation may do is another than before: the provider says what. */
  | { kind: 'Changed'; installationId: string }
  /** Well understood and of no consequence, as a pull request of a fork. */
  | { kind: 'Ignored' }

const HEADS_IN_A_PUSH = 50
const Id = z.union([z.int(), z.string().regex(/^[!-~]{1,64}$/)]).transform(String)
const named = (rule: NameRule) => z.string().refine((name) => isPossible(rule, name))
const [Name, Ref, Branch] = [named(REPOSITORY), named(REF), named(BRANCH)]
const Commit = z.string().regex(/^[0-9a-f]{7,64}$/)
const GONE = /^0+$/

const ignored: SourceEvent = { kind: 'Ignored' }
const heads = (all: Head[], gone: GoneRef[] = []): SourceEvent =>
  all.length + gone.length === 0 ? ignored : { kind: 'Heads', heads: all, ...(gone.length === 0 ? {} : { gone }) }

type Reader = z.ZodType<SourceEvent>

function pushed(repository: { id: string; name: string }, ref: string, commit: string): SourceEvent {
  const kind = ref.startsWith('refs/tags/') ? 'Tag' : 'Push'
  const { id: repositoryId, name: repositoryName } = repository
  if (GONE.test(commit)) return heads([], [{ kind, repositoryId, ref }])
  return heads([{ kind, repositoryId, repositoryName, ref, commit }])
}

function requested(repository: { id: string; name: string }, ref: string, commit: string): SourceEvent {
  const { id: repositoryId, name: repositoryName } = repository
  return heads([{ kind: 'PullRequest', repositoryId, repositoryName, ref, commit }])
}

const Repository = z.object({ id: Id, full_name: Name }).transform(({ id, full_name: name }) => ({ id, name }))

const gitHubPush: Reader = z
  .object({ ref: Ref, after: Commit, repository: Repository })
  .transform(({ ref, after, repository }) => pushed(repository, ref, after))

/** A fork is somebody else's code: nothing of it is ever built. Its repository may also be gone. */
const gitHubPullRequest: Reader = z
  .object({
    action: z.string().max(64),
    repository: Repository,
    pull_request: z.object({
      head: z.object({ ref: Branch, sha: Commit, repo: z.object({ id: Id }).nullish() }),
    }),
  })
  .transform(({ action, repository, pull_request: { head } }) => {
    const isNews = ['opened', 'reopened', 'synchronize', 'synchronized'].includes(action)
    if (!isNews || head.repo?.id !== repository.id) return ignored
    return requested(repository, head.ref, head.sha)
  })

const gitHubInstallation: Reader = z
  .object({ action: z.string().max(64), installation: z.object({ id: Id }) })
  .transform(({ action, installation: { id: installationId } }) => {
    if (action === 'deleted') return { kind: 'Removed' as const, installationId }
    // Whoever suspends it may end that again.
    const isNews = ['suspend', 'unsuspend', 'new_permissions_accepted'].includes(action)
    return isNews ? { kind: 'Changed' as const, installationId } : ignored
  })

const ping: Reader = z.object({}).transform(() => ({ kind: 'Ping' as const }))

const Project = z
  .object({ id: Id, path_with_namespace: Name })
  .transform(({ id, path_with_namespace: name }) => ({ id, name }))

const gitLabPush: Reader = z
  .object({ ref: Ref, after: Commit, project: Project })
  .transform(({ ref, after, project }) => pushed(project, ref, after))

const gitLabMergeRequest: Reader = z
  .object({
    project: Project,
    object_attributes: z.object({
      action: z.string().max(64).optional(),
      source_project_id: Id,
      target_project_id: Id,
      source_branch: Branch,
      last_commit: z.object({ id: Commit }),
    }),
  })
  .transform(({ project, object_attributes: request }) => {
    const isNews = ['open', 'reopen', 'update'].includes(request.action ?? '')
    const isOwn = request.source_project_id === request.target_project_id && request.source_project_id === project.id
    if (!isNews || !isOwn) return ignored
    return requested(project, request.source_branch, request.last_commit.id)
  })

const Uuid = z.object({ uuid: Id })
const BitbucketRepository = z
  .object({ uuid: Id, full_name: Name })
  .transform(({ uuid: id, full_name: name }) => ({ id, name }))

const BitbucketRef = z
  .object({ type: z.string().max(64), name: Branch })
  .transform(({ type, name }) =>
    type === 'tag' || type === 'annotated_tag'
      ? { kind: 'Tag' as const, ref: `refs/tags/${name}` }
      : { kind: 'Push' as const, ref: `refs/heads/${name}` },
  )
const Change = z.object({
  new: BitbucketRef.and(z.object({ target: z.object({ hash: Commit }) })).nullish(),
  old: BitbucketRef.nullish(),
})
const bitbucketPush: Reader = z
  .object({ push: z.object({ changes: z.array(Change).max(HEADS_IN_A_PUSH) }), repository: BitbucketRepository })
  .transform(({ push: { changes }, repository: { id: repositoryId, name: repositoryName } }) =>
    heads(
      changes.flatMap(({ new: now }) =>
        now ? [{ kind: now.kind, repositoryId, repositoryName, ref: now.ref, commit: now.target.hash }] : [],
      ),
      changes.flatMap(({ new: now, old }) => (old && !now ? [{ kind: old.kind, repositoryId, ref: old.ref }] : [])),
    ),
  )

const bitbucketPullRequest: Reader = z
  .object({
    repository: BitbucketRepository,
    pullrequest: z.object({
      source: z.object({
        branch: z.object({ name: Branch }),
        commit: z.object({ hash: Commit }),
        repository: Uuid.nullish(),
      }),
    }),
  })
  .transform(({ repository, pullrequest: { source } }) => {
    if (source.repository?.uuid !== repository.id) return ignored
    return requested(repository, source.branch.name, source.commit.hash)
  })

const GITEA = { push: gitHubPush, pull_request: gitHubPullRequest, pull_request_sync: gitHubPullRequest }

/** The event kinds of each provider that can be read; all others are refused. */
const READERS: Readonly<Record<Provider, Readonly<Record<string, Reader>>>> = {
  GitHub: { push: gitHubPush, pull_request: gitHubPullRequest, installation: gitHubInstallation, ping },
  Gitea: GITEA,
  Circuit: GITEA,
  Git: { push: gitHubPush, ping },
  GitLab: { 'Push Hook': gitLabPush, 'Tag Push Hook': gitLabPush, 'Merge Request Hook': gitLabMergeRequest },
  Bitbucket: {
    'repo:push': bitbucketPush,
    'pullrequest:created': bitbucketPullRequest,
    'pullrequest:updated': bitbucketPullRequest,
  },
  Registry: {},
}

/** Undefined if the event is of a kind, or has a form, that cannot be read. */
export function readEvent(provider: Provider, event: string, body: unknown): SourceEvent | undefined {
  const readers = READERS[provider]
  const reader = Object.hasOwn(readers, event) ? readers[event] : undefined
  return reader?.safeParse(body).data
}
