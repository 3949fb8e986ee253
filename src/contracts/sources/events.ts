import { z } from 'zod'
import { withFieldPaths } from '../../core/fieldPaths.ts'
import type { Provider } from './providers.ts'
import { BRANCH_RULE, isValidGitName, type NameRule, REF_RULE, REPOSITORY_RULE } from './refs.ts'

/** Where a branch, a tag or a pull request of a repository points now. */
export const Head = z.object({
  kind: z
    .enum(['Push', 'Tag', 'PullRequest'])
    .describe('Push of a branch, Tag, or PullRequest from the repository itself'),
  repositoryId: z.string().describe('Id of the repository at the provider'),
  repositoryName: z.string().describe('Full name of the repository'),
  ref: z.string().describe('Ref, such as refs/heads/main; for a pull request, its branch'),
  commit: z.string().describe('Commit that the ref points to'),
  before: z.string().optional().describe('Commit that the ref pointed to before the push, if the provider reports it'),
})
export type Head = z.output<typeof Head>

/** A branch or tag that was deleted. */
export type DeletedRef = Pick<Head, 'kind' | 'repositoryId' | 'ref'>

/** The content of a delivery, as far as the platform acts on it. */
export type SourceEvent =
  | { kind: 'Heads'; heads: Head[]; gone?: DeletedRef[] }
  | { kind: 'Ping' }
  /** The installation that deliveries came from was removed. */
  | { kind: 'Removed'; installationId: string }
  /** The rights of the installation changed; the provider must be asked for them. */
  | { kind: 'Changed'; installationId: string }
  /** Understood, but without consequence, such as a pull request of a fork. */
  | { kind: 'Ignored' }

const PUSH_HEADS_MAX = 50
const Id = z.union([z.int(), z.string().regex(/^[!-~]{1,64}$/)]).transform(String)
const named = (rule: NameRule) => z.string().refine((name) => isValidGitName(rule, name))
const [Name, Ref, Branch] = [named(REPOSITORY_RULE), named(REF_RULE), named(BRANCH_RULE)]
const Commit = z.string().regex(/^[0-9a-f]{7,64}$/)
const ZERO_COMMIT = /^0+$/

const ignored: SourceEvent = { kind: 'Ignored' }
const headsEvent = (all: Head[], gone: DeletedRef[] = []): SourceEvent =>
  all.length + gone.length === 0 ? ignored : { kind: 'Heads', heads: all, ...(gone.length === 0 ? {} : { gone }) }

type Reader = z.ZodType<SourceEvent>

/** Where the bodies of a provider name the repository. */
const GITHUB = { repositoryId: 'repository.id', repositoryName: 'repository.full_name' }
const GITLAB = { repositoryId: 'project.id', repositoryName: 'project.path_with_namespace' }
const BITBUCKET = { repositoryId: 'repository.uuid', repositoryName: 'repository.full_name' }
const OfRepository = z.object({ repositoryId: Id, repositoryName: Name })

const Before = Commit.nullish().catch(undefined)
const sinceBefore = (before: string | null | undefined) =>
  before == null || ZERO_COMMIT.test(before) ? {} : { before }

const Pushed = OfRepository.extend({ ref: Ref, commit: Commit, before: Before }).transform(
  ({ commit, before, ...at }) => {
    const kind = at.ref.startsWith('refs/tags/') ? 'Tag' : 'Push'
    if (!ZERO_COMMIT.test(commit)) return headsEvent([{ kind, ...at, commit, ...sinceBefore(before) }])
    return headsEvent([], [{ kind, repositoryId: at.repositoryId, ref: at.ref }])
  },
)
const gitHubPush: Reader = withFieldPaths({ ...GITHUB, ref: 'ref', commit: 'after', before: 'before' }, Pushed)
const gitLabPush: Reader = withFieldPaths({ ...GITLAB, ref: 'ref', commit: 'after', before: 'before' }, Pushed)

const Requested = OfRepository.extend({ ref: Branch, commit: Commit })

/** Ignores forks: their code is somebody else's, and is never built. */
const requested = (head: z.output<typeof Requested>, isOwn: boolean) =>
  isOwn ? headsEvent([{ kind: 'PullRequest', ...head }]) : ignored

const Action = z.string().max(64)
const gitHubPullRequest: Reader = withFieldPaths(
  {
    ...GITHUB,
    action: 'action',
    ref: 'pull_request.head.ref',
    commit: 'pull_request.head.sha',
    from: 'pull_request.head.repo',
  },
  // The fork may have been deleted.
  Requested.extend({ action: Action, from: z.object({ id: Id }).nullish() }).transform(({ action, from, ...head }) => {
    const isRelevant = ['opened', 'reopened', 'synchronize', 'synchronized'].includes(action)
    return requested(head, isRelevant && from?.id === head.repositoryId)
  }),
)

const gitHubInstallation: Reader = z
  .object({ action: Action, installation: z.object({ id: Id }) })
  .transform(({ action, installation: { id: installationId } }) => {
    if (action === 'deleted') return { kind: 'Removed' as const, installationId }
    // A suspended installation may be resumed.
    const isRelevant = ['suspend', 'unsuspend', 'new_permissions_accepted'].includes(action)
    return isRelevant ? { kind: 'Changed' as const, installationId } : ignored
  })

const ping: Reader = z.object({}).transform(() => ({ kind: 'Ping' as const }))

const gitLabMergeRequest: Reader = withFieldPaths(
  {
    ...GITLAB,
    action: 'object_attributes.action',
    ref: 'object_attributes.source_branch',
    commit: 'object_attributes.last_commit.id',
    from: 'object_attributes.source_project_id',
    to: 'object_attributes.target_project_id',
  },
  Requested.extend({ action: Action.optional(), from: Id, to: Id }).transform(({ action = '', from, to, ...head }) => {
    const isRelevant = ['open', 'reopen', 'update'].includes(action)
    return requested(head, isRelevant && from === to && from === head.repositoryId)
  }),
)

const TypedRef = z
  .object({ type: z.string().max(64), name: Branch })
  .transform(({ type, name }) =>
    type === 'tag' || type === 'annotated_tag'
      ? { kind: 'Tag' as const, ref: `refs/tags/${name}` }
      : { kind: 'Push' as const, ref: `refs/heads/${name}` },
  )
const Change = z.object({
  new: TypedRef.and(z.object({ target: z.object({ hash: Commit }) })).nullish(),
  old: TypedRef.and(z.object({ target: z.object({ hash: Before }).nullish() })).nullish(),
})
const bitbucketPush: Reader = withFieldPaths(
  { ...BITBUCKET, changes: 'push.changes' },
  OfRepository.extend({ changes: z.array(Change).max(PUSH_HEADS_MAX) }).transform(({ changes, ...repository }) =>
    headsEvent(
      changes.flatMap(({ new: now, old }) => {
        if (!now) return []
        return [
          { kind: now.kind, ...repository, ref: now.ref, commit: now.target.hash, ...sinceBefore(old?.target?.hash) },
        ]
      }),
      changes.flatMap(({ new: now, old }) =>
        old && !now ? [{ kind: old.kind, repositoryId: repository.repositoryId, ref: old.ref }] : [],
      ),
    ),
  ),
)

const bitbucketPullRequest: Reader = withFieldPaths(
  {
    ...BITBUCKET,
    ref: 'pullrequest.source.branch.name',
    commit: 'pullrequest.source.commit.hash',
    from: 'pullrequest.source.repository',
  },
  Requested.extend({ from: z.object({ uuid: Id }).nullish() }).transform(({ from, ...head }) =>
    requested(head, from?.uuid === head.repositoryId),
  ),
)

/** Unlike GitHub, Gitea sends no push for a deleted branch. */
const giteaDeletion: Reader = withFieldPaths(
  { ...GITHUB, type: 'ref_type', name: 'ref' },
  OfRepository.and(TypedRef).transform(({ repositoryId, kind, ref }) => headsEvent([], [{ kind, repositoryId, ref }])),
)

const GITEA = {
  push: gitHubPush,
  delete: giteaDeletion,
  pull_request: gitHubPullRequest,
  pull_request_sync: gitHubPullRequest,
}

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

/** Reads an event; undefined if its kind or its form is unknown. */
export function parseSourceEvent(provider: Provider, event: string, body: unknown): SourceEvent | undefined {
  const readers = READERS[provider]
  const reader = Object.hasOwn(readers, event) ? readers[event] : undefined
  return reader?.safeParse(body).data
}
