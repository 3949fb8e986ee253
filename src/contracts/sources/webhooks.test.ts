import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { GIT_NAMES, REPOSITORY_NAMES } from '../../../test/cases/gitNames.ts'
import { SeededRandom } from '../../../test/make/random.ts'
import { parseSourceEvent } from './events.ts'
import { DELIVERY_KEYS_KEPT, type DeliveryJournal, HEADS_KEPT, withDelivery } from './journal.ts'
import { PROVIDERS, type Provider } from './providers.ts'
import { deliveryKeys, isDeliveryAuthentic, parseDeliveryClaim, sendsWebhooks } from './signatures.ts'

const SECRET = 'a secret of thirty-two characters'
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex')
const [ONE, TWO] = ['a'.repeat(40), 'b'.repeat(40)]
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
const SIGNED: [Provider, string, string][] = [
  ['GitHub', 'x-hub-signature-256', 'sha256='],
  ['Gitea', 'x-gitea-signature', ''],
  ['Bitbucket', 'x-hub-signature', 'sha256='],
  ['Git', 'x-hub-signature-256', 'sha256='],
]
const EVENT_HEADERS: Record<string, string> = {
  GitHub: 'x-github-event',
  Gitea: 'x-gitea-event',
  Bitbucket: 'x-event-key',
  Git: 'x-freehold-event',
}

describe('isDeliveryAuthentic and parseDeliveryClaim', () => {
  const body = Buffer.from(JSON.stringify(gitHubPush))
  for (const [provider, header, prefix] of SIGNED) {
    const claim = (signature: string) =>
      parseDeliveryClaim(provider, (name) => ({ [header]: signature, [EVENT_HEADERS[provider] ?? '']: 'push' })[name])

    it(`${provider}: accept a signature only with the same body and secret`, () => {
      const made = claim(`${prefix}${hmac(body.toString())}`)
      if (made === undefined) throw new Error('no claim')
      expect(isDeliveryAuthentic(provider, made, SECRET, body)).to.equal(true)
      expect(isDeliveryAuthentic(provider, made, `${SECRET}x`, body)).to.equal(false)
      expect(isDeliveryAuthentic(provider, made, '', body)).to.equal(false)
      const random = new SeededRandom(7)
      for (let round = 0; round < 200; round += 1) {
        const forged = Buffer.from(body)
        const at = random.below(forged.length)
        const byte = (forged[at] ?? 0) ^ (1 + random.below(255))
        forged[at] = byte
        const cut = round % 2 === 0 ? forged : body.subarray(0, random.below(body.length))
        expect(isDeliveryAuthentic(provider, made, SECRET, cut), `round ${round}`).to.equal(false)
      }
    })

    it(`${provider}: reject a malformed signature`, () => {
      for (const wrong of [
        '',
        'sha1=abc',
        hmac('x').toUpperCase(),
        `${prefix}${hmac('x')}0`,
        `${prefix}xyz`,
        `x${prefix}${hmac('x')}`,
        'sha256=',
      ])
        expect(claim(wrong), wrong).to.equal(undefined)
    })
  }

  it('GitLab: compare the token with the secret', () => {
    const headers: Record<string, string> = { 'x-gitlab-token': 'x'.repeat(32), 'x-gitlab-event': 'Push Hook' }
    const made = parseDeliveryClaim('GitLab', (name) => headers[name])
    if (made === undefined) throw new Error('no claim')
    expect(isDeliveryAuthentic('GitLab', made, 'x'.repeat(32), body)).to.equal(true)
    expect(isDeliveryAuthentic('GitLab', made, 'x'.repeat(31), body)).to.equal(false)
  })

  it('GitLab: need a token of 16 to 256 visible characters', () => {
    const proofOf = (token: string) =>
      parseDeliveryClaim('GitLab', (name) => ({ 'x-gitlab-token': token, 'x-gitlab-event': 'a' })[name])?.proof
    for (const token of ['x'.repeat(16), 'x'.repeat(256)]) expect(proofOf(token)).to.equal(token)
    for (const token of ['', 'x'.repeat(15), 'x'.repeat(257), ` ${'x'.repeat(16)}`, `${'x'.repeat(16)} `])
      expect(proofOf(token), token).to.equal(undefined)
  })

  it('need a secret of 16 characters', () => {
    const isTaken = (secret: string) => {
      const proof = createHmac('sha256', secret).update(body).digest('hex')
      return isDeliveryAuthentic('Git', { proof, event: 'push', deliveryId: undefined }, secret, body)
    }
    expect(['', 'x'.repeat(15), 'x'.repeat(16)].map(isTaken)).to.deep.equal([false, false, true])
  })

  const ids: [Provider, header: string][] = [
    ['GitHub', 'x-github-delivery'],
    ['GitLab', 'idempotency-key'],
    ['GitLab', 'x-gitlab-event-uuid'],
    ['Gitea', 'x-gitea-delivery'],
    ['Circuit', 'x-gitea-delivery'],
    ['Bitbucket', 'x-request-uuid'],
    ['Git', 'x-freehold-delivery'],
  ]
  /** The claim of a valid delivery, with these headers instead. */
  const claimed = (provider: Provider, headers: Record<string, string>) =>
    parseDeliveryClaim(provider, (name) => {
      if (/signature/.test(name)) return `${name === 'x-gitea-signature' ? '' : 'sha256='}${hmac('')}`
      return headers[name] ?? (/token/.test(name) ? 'x'.repeat(16) : /event(-key)?$/.test(name) ? 'push' : undefined)
    })
  for (const [provider, header] of ids) {
    it(`${provider}: read the id of a delivery from ${header}, if it is short and visible`, () => {
      expect(claimed(provider, { [header]: 'one' })).to.include({ event: 'push', deliveryId: 'one' })
      expect(claimed(provider, {})).to.include({ event: 'push', deliveryId: undefined })
      for (const odd of ['', ' one', 'ö', 'one\n', 'x'.repeat(129)])
        expect(claimed(provider, { [header]: odd }), odd).to.include({ event: 'push', deliveryId: undefined })
    })
  }

  it('need the name of an event', () => {
    for (const odd of ['', ' push', 'push\n', 'x'.repeat(129)])
      expect(claimed('GitHub', { 'x-github-event': odd }), odd).to.equal(undefined)
    expect(
      parseDeliveryClaim('GitHub', (name) => (/signature/.test(name) ? `sha256=${hmac('')}` : undefined)),
    ).to.equal(undefined)
  })

  it('Registry: accept no delivery', () => {
    expect(sendsWebhooks('Registry')).to.equal(false)
    expect(parseDeliveryClaim('Registry', () => 'x'.repeat(64))).to.equal(undefined)
  })
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

describe('withDelivery', () => {
  const claim = { proof: '', event: 'push', deliveryId: 'one' }
  const push = (commit: string, ref = 'refs/heads/main') =>
    parseSourceEvent('GitHub', 'push', { ...gitHubPush, after: commit, ref }) ?? { kind: 'Ping' as const }
  const delivery = (id: string, keys: string[], commit = ONE, ref?: string) => ({
    id,
    keys,
    event: push(commit, ref),
    at: '2026-01-01T00:00:00Z',
  })

  it('returns undefined for a repeated delivery, even with another id', () => {
    const body = Buffer.from('{}')
    const first = withDelivery({}, delivery('one', deliveryKeys(claim, body)))
    if (first === undefined) throw new Error('not recorded')
    const again = deliveryKeys({ ...claim, deliveryId: 'two' }, body)
    expect(withDelivery(first, delivery('two', again))).to.equal(undefined)
    const other = deliveryKeys(claim, Buffer.from('{"a":1}'))
    expect(withDelivery(first, delivery('one', other))).to.equal(undefined)
    const next = deliveryKeys({ ...claim, deliveryId: 'two' }, Buffer.from('{"a":1}'))
    expect(withDelivery(first, delivery('two', next))?.deliveries).to.have.length(4)
  })

  it('recognises a repeat by its content alone if it has no id', () => {
    const keys = deliveryKeys({ ...claim, deliveryId: undefined }, Buffer.from('{}'))
    expect(keys).to.have.length(1)
    expect(deliveryKeys(claim, Buffer.from('{}'))).to.include.members(keys)
    for (const key of deliveryKeys(claim, Buffer.from('{}'))) expect(key).to.match(/^[cd][0-9a-f]{20}$/)
  })

  it('remembers when it came, and a short id', () => {
    const given = withDelivery({}, delivery('x'.repeat(200), ['a']))
    const at = '2026-01-01T00:00:00Z'
    expect(given).to.include({ lastEventAt: at })
    expect(given?.heads?.[0]).to.include({ deliveryId: 'x'.repeat(128), receivedAt: at })
  })

  it('keeps heads of other repositories, and of a pull request of the same name, apart', () => {
    const one = push(ONE, 'refs/heads/a')
    if (one.kind !== 'Heads') throw new Error('not read')
    let journal: DeliveryJournal = {}
    const others = [{}, { repositoryId: '8' }, { kind: 'PullRequest' as const }]
    for (const [at, other] of others.entries()) {
      const event = { kind: 'Heads' as const, heads: one.heads.map((head) => ({ ...head, ...other })) }
      journal = { ...journal, ...withDelivery(journal, { id: `${at}`, keys: [`${at}`], event, at: 'now' }) }
    }
    expect(journal.heads).to.have.length(3)
  })

  it('takes a push that moved nothing for one of which nothing is missing', () => {
    const event = parseSourceEvent('GitHub', 'push', { ...gitHubPush, before: ONE }) ?? { kind: 'Ping' as const }
    expect(withDelivery({}, { ...delivery('one', ['a']), event })?.heads?.[0]?.missing).to.equal(undefined)
  })

  it('keeps only the newest head of a ref', () => {
    const first = withDelivery({}, delivery('one', ['a']))
    const second = withDelivery(first ?? {}, delivery('two', ['b'], TWO))
    expect(second?.heads?.map(({ commit, deliveryId }) => [commit, deliveryId])).to.deep.equal([[TWO, 'two']])
  })

  describe('finds the newest of pushes that arrive out of order', () => {
    const commits = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40))
    const move = (from: number, to: number) => ({ before: commits[from], after: commits[to] })
    const inOrder = [move(0, 1), move(1, 2), move(2, 3)]
    const standsAt = (moves: readonly object[], first: readonly object[]) => {
      let journal: DeliveryJournal = {}
      for (const [index, moved] of [...first, ...moves].entries()) {
        const event = parseSourceEvent('GitHub', 'push', { ...gitHubPush, ...moved })
        if (event === undefined) throw new Error('not read')
        const at = '2026-01-01T00:00:00Z'
        journal = { ...journal, ...withDelivery(journal, { id: String(index), keys: [String(index)], event, at }) }
      }
      return journal.heads?.[0]
    }
    const created = { before: '0'.repeat(40), after: commits[0] }
    const orders = inOrder.flatMap((one) =>
      inOrder
        .filter((other) => other !== one)
        .map((other) => [one, other, inOrder.find((last) => last !== one && last !== other) ?? one]),
    )
    for (const order of orders)
      it(order.map((moved) => inOrder.indexOf(moved) + 1).join(', '), () => {
        const head = standsAt(order, [created])
        expect([head?.commit, head?.missing]).to.deep.equal([commits[3], undefined])
      })

    it('without an earlier head', () => {
      for (const order of [inOrder.slice(0, 2), inOrder.slice(0, 2).reverse()])
        expect(standsAt(order, [])?.commit).to.equal(commits[2])
    })

    it('after a branch moved back or a push was missed', () => {
      expect(standsAt([move(0, 1), move(1, 0)], [created])?.commit).to.equal(commits[0])
      expect(standsAt([move(0, 1), move(1, 0), move(0, 1)], [created])?.commit).to.equal(commits[1])
      expect(standsAt([move(1, 2), move(2, 0), move(0, 1)], [created])?.commit).to.equal(commits[1])
      expect(standsAt([move(1, 2), move(3, 0)], [created])?.commit).to.equal(commits[0])
    })
  })

  it("reads the previous commit from each provider's event", () => {
    const changes = [
      {
        new: { type: 'branch', name: 'main', target: { hash: TWO } },
        old: { type: 'branch', name: 'main', target: { hash: ONE } },
      },
    ]
    const gitLab = {
      project: { id: 7, path_with_namespace: 'acme/site' },
      ref: 'refs/heads/main',
      before: ONE,
      after: TWO,
    }
    const bodies: [Provider, string, unknown][] = [
      ['GitHub', 'push', { ...gitHubPush, before: ONE, after: TWO }],
      ['GitLab', 'Push Hook', gitLab],
      ['Bitbucket', 'repo:push', { push: { changes }, repository: { uuid: '7', full_name: 'acme/site' } }],
    ]
    for (const [provider, event, body] of bodies) {
      const read = parseSourceEvent(provider, event, body)
      expect(read?.kind === 'Heads' && read.heads[0], provider).to.include({ before: ONE, commit: TWO })
    }
  })

  it('removes the head of a deleted branch', () => {
    const first = withDelivery({}, delivery('one', ['a'], ONE, 'refs/heads/next'))
    const second = withDelivery(first ?? {}, delivery('two', ['b']))
    const third = withDelivery({ ...first, ...second }, delivery('three', ['c'], '0'.repeat(40), 'refs/heads/next'))
    expect(third?.heads?.map(({ ref }) => ref)).to.deep.equal(['refs/heads/main'])
  })

  it('limits the number of heads and deliveries', () => {
    let journal: DeliveryJournal = {}
    for (let index = 0; index < 1_000; index += 1) {
      const next = delivery(String(index), [`d${index}`, `c${index}`], ONE, `refs/heads/b${index}`)
      journal = { ...journal, ...withDelivery(journal, next) }
    }
    expect(journal.heads).to.have.length(HEADS_KEPT)
    expect(journal.deliveries).to.have.length(DELIVERY_KEYS_KEPT)
    expect(journal.heads?.at(-1)?.ref).to.equal('refs/heads/b999')
  })

  it('records the removal of its own installation', () => {
    const removal = { id: 'x', keys: ['x'], event: { kind: 'Removed', installationId: '5' }, at: 'now' } as const
    expect(withDelivery({}, removal, '5')?.removedAt).to.equal('now')
    expect(withDelivery({}, removal, '6')?.removedAt).to.equal(undefined)
    const changed = { id: 'y', keys: ['y'], event: { kind: 'Changed', installationId: '5' }, at: 'now' } as const
    const other = { id: 'z', keys: ['z'], event: push(ONE), at: 'now' } as const
    expect(withDelivery({}, other, undefined)?.removedAt).to.equal(undefined)
    expect(withDelivery({ removedAt: 'then' }, changed, '5')).to.include({ removedAt: null, lastCheckedAt: null })
    expect(withDelivery({}, changed, '6')).to.not.have.any.keys('removedAt', 'lastCheckedAt')
  })
})
