import { expect } from 'chai'
import { GIT_NAMES, REPOSITORY_NAMES } from '../../../test/cases/gitNames.ts'
import { parseSourceEvent } from './events.ts'
import { PROVIDERS, type Provider } from './providers.ts'
import { sendsWebhooks } from './signatures.ts'

const ONE = 'a'.repeat(40)
const gitHubPush = { ref: 'refs/heads/main', after: ONE, repository: { id: 7, full_name: 'acme/site' } }
const fork = (id: number | null) => ({
  action: 'opened',
  repository: { id: 7, full_name: 'acme/site' },
  pull_request: { head: { ref: 'fix', sha: ONE, repo: id === null ? null : { id } } },
})
const merge = (source: number) => ({
  project: { id: 7, path_with_namespace: 'acme/site' },
  object_attributes: {
    action: 'open',
    source_project_id: source,
    target_project_id: 7,
    source_branch: 'fix',
    last_commit: { id: ONE },
  },
})
const bitbucketRequest = (uuid: string) => ({
  repository: { uuid: '{7}', full_name: 'acme/site' },
  pullrequest: { source: { branch: { name: 'fix' }, commit: { hash: ONE }, repository: { uuid } } },
})

describe('parseSourceEvent', () => {
  const head = { kind: 'Push', repositoryId: '7', repositoryName: 'acme/site', ref: 'refs/heads/main', commit: ONE }
  const request = { ...head, kind: 'PullRequest', ref: 'fix' }
  const cases: [string, Provider, string, unknown, unknown][] = [
    ['a push', 'GitHub', 'push', gitHubPush, { kind: 'Heads', heads: [head] }],
    ['a push', 'Gitea', 'push', gitHubPush, { kind: 'Heads', heads: [head] }],
    [
      'a tag',
      'GitHub',
      'push',
      { ...gitHubPush, ref: 'refs/tags/v1' },
      { kind: 'Heads', heads: [{ ...head, kind: 'Tag', ref: 'refs/tags/v1' }] },
    ],
    [
      'a deleted branch',
      'GitHub',
      'push',
      { ...gitHubPush, after: '0'.repeat(40) },
      { kind: 'Heads', heads: [], gone: [{ kind: 'Push', repositoryId: '7', ref: 'refs/heads/main' }] },
    ],
    ...(['branch', 'tag'] as const).map((type): (typeof cases)[number] => [
      `a deleted ${type}`,
      'Gitea',
      'delete',
      { ref: 'v1', ref_type: type, repository: gitHubPush.repository },
      {
        kind: 'Heads',
        heads: [],
        gone: [
          type === 'tag'
            ? { kind: 'Tag', repositoryId: '7', ref: 'refs/tags/v1' }
            : { kind: 'Push', repositoryId: '7', ref: 'refs/heads/v1' },
        ],
      },
    ]),
    [
      'a deleted branch and a new one',
      'Bitbucket',
      'repo:push',
      {
        push: {
          changes: [
            { new: null, old: { type: 'branch', name: 'old' } },
            { new: { type: 'branch', name: 'main', target: { hash: ONE } }, old: null },
          ],
        },
        repository: { uuid: '7', full_name: 'acme/site' },
      },
      { kind: 'Heads', heads: [head], gone: [{ kind: 'Push', repositoryId: '7', ref: 'refs/heads/old' }] },
    ],
    ['a pull request from the repository', 'GitHub', 'pull_request', fork(7), { kind: 'Heads', heads: [request] }],
    ['a pull request from a fork', 'GitHub', 'pull_request', fork(8), { kind: 'Ignored' }],
    ['a pull request from a fork', 'Gitea', 'pull_request', fork(8), { kind: 'Ignored' }],
    ['a pull request from a deleted fork', 'GitHub', 'pull_request', fork(null), { kind: 'Ignored' }],
    ['a merge request from the project', 'GitLab', 'Merge Request Hook', merge(7), { kind: 'Heads', heads: [request] }],
    ['a merge request from a fork', 'GitLab', 'Merge Request Hook', merge(8), { kind: 'Ignored' }],
    ['a pull request from a fork', 'Bitbucket', 'pullrequest:created', bitbucketRequest('{8}'), { kind: 'Ignored' }],
    ...(['reopened', 'synchronize', 'synchronized', 'closed', 'labeled'] as const).map(
      (action): (typeof cases)[number] => [
        `a pull request that was ${action}`,
        'GitHub',
        'pull_request',
        { ...fork(7), action },
        /clos|label/.test(action) ? { kind: 'Ignored' } : { kind: 'Heads', heads: [request] },
      ],
    ),
    ...(['reopen', 'update', 'close', 'merge', undefined] as const).map((action): (typeof cases)[number] => [
      `a merge request with the action ${action}`,
      'GitLab',
      'Merge Request Hook',
      { ...merge(7), object_attributes: { ...merge(7).object_attributes, action } },
      action === 'reopen' || action === 'update' ? { kind: 'Heads', heads: [request] } : { kind: 'Ignored' },
    ]),
    ...[
      { source_project_id: 8, target_project_id: 8 },
      { source_project_id: 7, target_project_id: 8 },
    ].map((ids): (typeof cases)[number] => [
      `a merge request from ${ids.source_project_id} to ${ids.target_project_id}, sent by 7`,
      'GitLab',
      'Merge Request Hook',
      { ...merge(7), object_attributes: { ...merge(7).object_attributes, ...ids } },
      { kind: 'Ignored' },
    ]),
    [
      'a tag with a message',
      'Bitbucket',
      'repo:push',
      {
        push: { changes: [{ new: { type: 'annotated_tag', name: 'v1', target: { hash: ONE } } }] },
        repository: { uuid: '7', full_name: 'acme/site' },
      },
      { kind: 'Heads', heads: [{ ...head, kind: 'Tag', ref: 'refs/tags/v1' }] },
    ],
    [
      'a push without changes',
      'Bitbucket',
      'repo:push',
      { push: { changes: [] }, repository: { uuid: '7', full_name: 'acme/site' } },
      { kind: 'Ignored' },
    ],
    [
      'a branch that moved, which is not gone',
      'Bitbucket',
      'repo:push',
      {
        push: {
          changes: [
            {
              new: { type: 'branch', name: 'main', target: { hash: ONE } },
              old: { type: 'branch', name: 'main', target: { hash: 'odd' } },
            },
          ],
        },
        repository: { uuid: '7', full_name: 'acme/site' },
      },
      { kind: 'Heads', heads: [head] },
    ],
    [
      'a push without a valid previous commit',
      'GitHub',
      'push',
      { ...gitHubPush, before: 'odd' },
      { kind: 'Heads', heads: [head] },
    ],
    [
      'a commit that begins or ends with zeros',
      'GitHub',
      'push',
      { ...gitHubPush, after: '0123400' },
      { kind: 'Heads', heads: [{ ...head, commit: '0123400' }] },
    ],
    ['a commit of 6 digits', 'GitHub', 'push', { ...gitHubPush, after: 'abcdef' }, undefined],
    ['a commit with something before it', 'GitHub', 'push', { ...gitHubPush, after: `x${ONE}` }, undefined],
    ['a commit with something after it', 'GitHub', 'push', { ...gitHubPush, after: `${ONE}x` }, undefined],
    [
      'a repository id with a character that is not visible',
      'GitHub',
      'push',
      { ...gitHubPush, repository: { id: '\u00077', full_name: 'acme/site' } },
      undefined,
    ],
    [
      'a new installation',
      'GitHub',
      'installation',
      { action: 'created', installation: { id: 5 } },
      { kind: 'Ignored' },
    ],
    ['a ping', 'GitHub', 'ping', { zen: 'x' }, { kind: 'Ping' }],
    ['a ping', 'Git', 'ping', {}, { kind: 'Ping' }],
    ['a push', 'Registry', 'push', gitHubPush, undefined],
    [
      'a deleted installation',
      'GitHub',
      'installation',
      { action: 'deleted', installation: { id: 5 } },
      { kind: 'Removed', installationId: '5' },
    ],
    ...['suspend', 'unsuspend', 'new_permissions_accepted'].map((action): (typeof cases)[number] => [
      `an installation whose rights change: ${action}`,
      'GitHub',
      'installation',
      { action, installation: { id: 5 } },
      { kind: 'Changed', installationId: '5' },
    ]),
    ['an event of another type', 'GitHub', 'star', {}, undefined],
    ['an event named like a property of every object', 'GitHub', 'constructor', {}, undefined],
    ['a ref with a space', 'GitHub', 'push', { ...gitHubPush, ref: 'a b' }, undefined],
    ['an invalid commit', 'GitHub', 'push', { ...gitHubPush, after: '../../x' }, undefined],
  ]
  for (const [title, provider, event, body, wanted] of cases) {
    it(`${provider}: reads ${title}`, () => {
      expect(parseSourceEvent(provider, event, body)).to.deep.equal(wanted)
    })
  }
})

/** Per provider: events with the name of a branch, its deletion or a pull request. */
const namedEvents: [Provider, string, (branch: string, name: string) => unknown, title?: string][] = [
  ...(['GitHub', 'Gitea', 'Circuit', 'Git'] as const).flatMap((provider): typeof namedEvents =>
    [ONE, '0'.repeat(40)].map((after) => [
      provider,
      'push',
      (branch, name) => ({ ref: `refs/heads/${branch}`, after, repository: { id: 7, full_name: name } }),
      after === ONE ? 'a push' : 'a deletion',
    ]),
  ),
  ...(
    [
      ['GitHub', 'pull_request'],
      ['Gitea', 'pull_request'],
      ['Gitea', 'pull_request_sync'],
    ] as const
  ).map(([provider, event]): (typeof namedEvents)[number] => [
    provider,
    event,
    (ref, name) => ({
      action: 'opened',
      repository: { id: 7, full_name: name },
      pull_request: { head: { ref, sha: ONE, repo: { id: 7 } } },
    }),
  ]),
  ...(['Push Hook', 'Tag Push Hook'] as const).map((event): (typeof namedEvents)[number] => [
    'GitLab',
    event,
    (branch, name) => ({
      ref: `refs/${event === 'Push Hook' ? 'heads' : 'tags'}/${branch}`,
      after: ONE,
      project: { id: 7, path_with_namespace: name },
    }),
  ]),
  [
    'GitLab',
    'Merge Request Hook',
    (source_branch, name) => ({
      project: { id: 7, path_with_namespace: name },
      object_attributes: { ...merge(7).object_attributes, source_branch },
    }),
  ],
  ...['new', 'old'].map((side): (typeof namedEvents)[number] => [
    'Bitbucket',
    'repo:push',
    (name, full_name) => ({
      push: { changes: [{ [side]: { type: 'branch', name, ...(side === 'new' && { target: { hash: ONE } }) } }] },
      repository: { uuid: '{7}', full_name },
    }),
    side === 'new' ? 'a push' : 'a deletion',
  ]),
  ...['pullrequest:created', 'pullrequest:updated'].map((event): (typeof namedEvents)[number] => [
    'Bitbucket',
    event,
    (name, full_name) => ({
      repository: { uuid: '{7}', full_name },
      pullrequest: { source: { branch: { name }, commit: { hash: ONE }, repository: { uuid: '{7}' } } },
    }),
  ]),
]

describe('parseSourceEvent, names', () => {
  for (const [provider, event, body, title = event] of namedEvents) {
    it(`${provider}: accepts valid names in ${title} and rejects others`, () => {
      const read = (branch: string, name: string) => parseSourceEvent(provider, event, body(branch, name))?.kind
      for (const name of GIT_NAMES.possible) expect(read(name, 'acme/shop'), name).to.equal('Heads')
      for (const [what, name] of GIT_NAMES.impossible) expect(read(name, 'acme/shop'), what).to.equal(undefined)
      for (const name of REPOSITORY_NAMES.possible) expect(read('main', name), name).to.equal('Heads')
      for (const [what, name] of REPOSITORY_NAMES.impossible) expect(read('main', name), what).to.equal(undefined)
    })
  }

  it('are tested for every provider with webhooks', () => {
    const tried = namedEvents.map(([provider]) => provider)
    expect(PROVIDERS.filter((provider) => sendsWebhooks(provider) && !tried.includes(provider))).to.deep.equal([])
  })

  it('reads at most 50 changes of a push', () => {
    const changes = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ new: { type: 'branch', name: `b${at}`, target: { hash: ONE } } }))
    const repository = { uuid: '7', full_name: 'acme/site' }
    const read = (count: number) =>
      parseSourceEvent('Bitbucket', 'repo:push', { push: { changes: changes(count) }, repository })?.kind
    expect([read(50), read(51)]).to.deep.equal(['Heads', undefined])
  })

  it('rejects a line break in a repository id', () => {
    const repository = { id: '7\r\n', full_name: 'acme/site' }
    expect(parseSourceEvent('GitHub', 'push', { ...gitHubPush, repository })).to.equal(undefined)
  })
})
