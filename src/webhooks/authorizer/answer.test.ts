import { expect } from 'chai'
import { Evaluator } from '../../iam/evaluate.ts'
import { answerReview, type ReviewStatus } from './answer.ts'
import { createReviewer, type ReviewerOptions } from './index.ts'
import { questionOf, type ReviewQuestion } from './question.ts'

const [ANNA, B] = ['11111111-1111-4111-8111-111111111111', '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b']
const GROUP = `/boundaries/${B}/resourcegroups/orders`
const MINE = `${GROUP}/resources/vectorclusters/mine`

const everyRole = () => undefined

/** An evaluator in which Anna reads the group; a deny is optional. */
function access(denyAt?: string, denied = '*') {
  const evaluator = new Evaluator()
  const { policy } = evaluator
  policy.upsertRole({
    name: 'reader',
    displayName: 'Reader',
    description: '',
    actions: ['*/read'],
    notActions: [],
    dataActions: [],
    notDataActions: [],
    assignableScopes: ['/'],
  })
  policy.upsertAssignment({ id: 'a', principalId: ANNA, principalType: 'User', roleName: 'Reader', scope: GROUP })
  if (denyAt !== undefined)
    policy.upsertDeny({
      id: 'd',
      principal: 'everyone',
      excludedPrincipalIds: [],
      actions: [denied],
      dataActions: [],
      scope: denyAt,
    })
  return {
    explain: (principalId: string, action: string, scope: string) => evaluator.explain(principalId, action, scope, 0),
    scopesWith: (principalId: string, action: string) => evaluator.scopesWith(principalId, action, 0),
    catchUp: async () => undefined,
    boundariesOf: (principalId: string) => evaluator.boundariesOf(principalId, 0),
    permissionsAt: (principalId: string, scope: string) => evaluator.permissionsAt(principalId, scope, 0),
  }
}

function question(
  action: 'vectorcluster/read' | 'vectorcluster/write',
  scope: string,
  isOfAll = false,
): ReviewQuestion {
  return { asks: 'evaluator', principalId: ANNA, action, scope, isOfAll }
}

describe('answerReview', () => {
  it('allows what a role grants, and names the role and its scope', () => {
    expect(answerReview(question('vectorcluster/read', MINE), access(), everyRole)).to.deep.equal({
      allowed: true,
      reason: `Reader at ${GROUP}`,
    })
  })

  it('has no opinion on what no role grants, and names the missing permission', () => {
    const verdict = answerReview(question('vectorcluster/write', MINE), access(), everyRole)
    expect(verdict).to.deep.equal({
      allowed: false,
      reason: `The permission vectorcluster/write is missing at ${MINE}.`,
    })
  })

  it('denies what a deny assignment covers, so that RBAC cannot allow it', () => {
    const verdict = answerReview(question('vectorcluster/read', MINE), access(GROUP), everyRole)
    expect(verdict).to.deep.equal({ allowed: false, denied: true, reason: `vectorcluster/read is denied at ${GROUP}.` })
  })

  it('denies a list that includes a denied object, and allows the parent alone', () => {
    expect(answerReview(question('vectorcluster/read', GROUP, true), access(MINE), everyRole)).to.include({
      denied: true,
    })
    expect(answerReview(question('vectorcluster/read', GROUP), access(MINE), everyRole)).to.include({ allowed: true })
    const neighbour = `/boundaries/${B}/resourcegroups/orders-2`
    expect(answerReview(question('vectorcluster/read', GROUP, true), access(neighbour), everyRole)).to.include({
      allowed: true,
    })
  })
})

describe('answerReview, pods of a group', () => {
  const pods = questionOf(
    { user: `p:${ANNA}`, resourceAttributes: { resource: 'pods', verb: 'list', namespace: 'orders-0123456789' } },
    () => ({ boundaryId: B, resourceGroup: 'orders' }),
    () => undefined,
  )

  it('allows a reader of the group to list pods', () =>
    expect(answerReview(pods, access(), everyRole)).to.include({ allowed: true }))

  for (const denied of ['*', 'vectorcluster/*', 'vectorcluster/read'])
    it(`denies pods if ${denied} is denied at one of the group's resources`, () => {
      expect(answerReview(pods, access(MINE, denied), everyRole)).to.include({ allowed: false, denied: true })
    })

  it('ignores a deny in another group and a deny of a write', () => {
    const neighbour = MINE.replace('orders', 'orders-2')
    expect(answerReview(pods, access(neighbour, 'vectorcluster/read'), everyRole)).to.include({ allowed: true })
    expect(answerReview(pods, access(MINE, 'vectorcluster/write'), everyRole)).to.include({ allowed: true })
  })
})

describe('answerReview, several actions', () => {
  const both = (also: 'vectorcluster/read' | 'vectorcluster/write') =>
    answerReview(
      { ...question('vectorcluster/read', MINE), alsoRequired: [{ action: also, scope: MINE }] } as ReviewQuestion,
      access(),
      everyRole,
    )

  it('allows a request if all actions are granted', () =>
    expect(both('vectorcluster/read')).to.include({ allowed: true }))

  it('has no opinion if one action is missing, and names it', () =>
    expect(both('vectorcluster/write')).to.deep.equal({
      allowed: false,
      reason: `The permission vectorcluster/write is missing at ${MINE}.`,
    }))
})

describe('answerReview, grants of roles', () => {
  const grant: ReviewQuestion = { asks: 'grant', principalId: ANNA, roleName: 'Owner', scope: GROUP }

  it('follows the rules of granting and quotes their reason', () => {
    expect(answerReview(grant, access(), () => 'Too much.')).to.deep.equal({ allowed: false, reason: 'Too much.' })
    expect(answerReview(grant, access(), everyRole)).to.include({ allowed: true })
  })
})

describe('createReviewer', () => {
  const resourceAttributes = {
    group: 'data.freehold.dev',
    resource: 'vectorclusters',
    verb: 'get',
    name: 'mine',
    namespace: 'orders-0123456789',
  }
  const spec = { user: `p:${ANNA}`, groups: ['system:authenticated'], resourceAttributes }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const scopeOfNamespace = () => ({ boundaryId: B, resourceGroup: 'orders' })
  const ownerOf = () => undefined
  const givenTo = async () => []

  it('answers in the form of a SubjectAccessReview', async () => {
    const answer = await createReviewer({
      access: access(),
      scopeOfNamespace,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      getGrantRefusal: everyRole,
      isReady: () => true,
    })(review)
    expect(answer).to.deep.equal({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      status: { allowed: true, reason: `Reader at ${GROUP}` },
    })
  })

  it('has no opinion until all assignments are loaded', async () => {
    const answer = await createReviewer({
      access: access(),
      scopeOfNamespace,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      getGrantRefusal: everyRole,
      isReady: () => false,
    })(review)
    expect(answer?.status.allowed).to.equal(false)
    expect(answer?.status).not.to.have.property('denied')
  })

  const reviewer = (change: Partial<ReviewerOptions>) =>
    createReviewer({
      access: access(),
      scopeOfNamespace,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      getGrantRefusal: everyRole,
      isReady: () => true,
      ...change,
    })

  const STRANGER = '22222222-2222-4222-8222-222222222222'
  const OTHER_OWNER = () => ({ kind: 'ContainerInstance', name: 'mine' })
  const targets: Record<string, object> = {
    'an object': resourceAttributes,
    'a list': { ...resourceAttributes, verb: 'list', name: '' },
    'a kind of another namespace': { ...resourceAttributes, group: 'freehold.dev', resource: 'resourcegroups' },
    'a Kubernetes kind': { ...resourceAttributes, group: '', resource: 'pods' },
    'the log of a pod': { ...resourceAttributes, group: '', resource: 'pods', subresource: 'log' },
  }
  for (const [what, attributes] of Object.entries(targets))
    it(`reveals nothing about a namespace to a caller without a role there: ${what}`, async () => {
      const strange = { ...review, spec: { user: `p:${STRANGER}`, resourceAttributes: attributes } }
      const answer = await reviewer({ ownerOf: OTHER_OWNER })(strange)
      const nowhere = await reviewer({ scopeOfNamespace: () => undefined })(strange)
      expect(answer?.status).to.deep.equal(nowhere?.status)
      expect(answer?.status.reason).to.equal('The caller has no role in namespace "orders-0123456789".')
      const denied = await reviewer({ access: access(GROUP) })(strange)
      expect(denied?.status.reason).to.equal(answer?.status.reason)
    })

  const ages: [string, number, Partial<ReviewStatus>][] = [
    ['the watches are open', 0, { allowed: true }],
    ['a watch is lost for 60 seconds', 60_000, { allowed: true }],
    ['a watch is lost for more than 60 seconds', 60_001, { allowed: false, denied: true }],
  ]
  for (const [sentence, age, verdict] of ages) {
    it(`answers from memory or denies like REST if ${sentence}`, async () => {
      const answer = await reviewer({ staleness: { age: () => age, bound: 60_000 } })(review)
      expect(answer?.status).to.include(verdict)
      expect(answer?.status.reason).to.match(age > 60_000 ? /too old to answer from/ : /Reader at/)
    })
  }

  it('has no opinion on Kubernetes components even if a watch is lost', async () => {
    const other = { ...review, spec: { ...spec, user: 'system:kube-scheduler' } }
    const answer = await reviewer({ staleness: { age: () => 60_001, bound: 60_000 } })(other)
    expect(answer?.status).not.to.have.property('denied')
  })

  it('reads from the API server before it has no opinion, but not before a denial', async () => {
    const caughtUpArgs: unknown[] = []
    const empty = new Evaluator()
    const caughtUp = (given: ReturnType<typeof access>) => {
      let now = {
        ...given,
        explain: (id: string, action: string, scope: string) => empty.explain(id, action, scope, 0),
      }
      return {
        ...given,
        explain: (...question: [string, string, string]) => now.explain(...question),
        async catchUp(...question: unknown[]) {
          caughtUpArgs.push(question)
          now = given
        },
      }
    }
    expect((await reviewer({ access: caughtUp(access()) })(review))?.status.allowed).to.equal(true)
    expect(caughtUpArgs).to.deep.equal([[ANNA, MINE]])
    expect(
      (await reviewer({ access: { ...access(GROUP), catchUp: () => expect.fail() } })(review))?.status.denied,
    ).to.equal(true)
  })

  it('reads from the API server for an unknown boundary namespace', async () => {
    const caughtUpArgs: unknown[] = []
    const catchUp = async (...question: unknown[]) => void caughtUpArgs.push(question)
    const attributes = { ...resourceAttributes, resource: 'roleassignments', group: 'iam.freehold.dev' }
    const unknownBoundary = { ...spec, resourceAttributes: { ...attributes, namespace: `boundary-${B}` } }
    await reviewer({ access: { ...access(), catchUp }, scopeOfNamespace: () => undefined })({
      ...review,
      spec: unknownBoundary,
    })
    expect(caughtUpArgs).to.deep.equal([[ANNA, `/boundaries/${B}`]])
  })

  it('does not read from the API server for a foreign kind in a known boundary', async () => {
    const foreignKind = { ...spec, resourceAttributes: { ...resourceAttributes, resource: 'configmaps', group: '' } }
    const own = {
      ...foreignKind,
      resourceAttributes: { ...foreignKind.resourceAttributes, namespace: `boundary-${B}` },
    }
    const known = { access: { ...access(), catchUp: () => expect.fail() }, scopeOfNamespace: () => ({ boundaryId: B }) }
    expect((await reviewer(known)({ ...review, spec: own }))?.status.allowed).to.equal(false)
  })

  it('denies a deleted or disabled principal, whatever its roles', async () => {
    for (const ended of ['deleted', 'disabled'] as const) {
      const standing = { endOf: async () => ended }
      const answer = await createReviewer({
        access: access(),
        scopeOfNamespace,
        ownerOf,
        givenTo,
        ownerOfPart: ownerOf,
        getGrantRefusal: everyRole,
        isReady: () => true,
        standing,
      })(review)
      expect(answer?.status).to.deep.equal({ allowed: false, denied: true, reason: `The principal was ${ended}.` })
    }
  })

  it('checks the principal by the uid in the token', async () => {
    const lookups: unknown[] = []
    const standing = {
      endOf: async (...given: unknown[]) => {
        lookups.push(given)
        return 'deleted' as const
      },
    }
    const answer = await createReviewer({
      access: access(),
      scopeOfNamespace,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      getGrantRefusal: everyRole,
      isReady: () => true,
      standing,
    })({ ...review, spec: { ...spec, extra: { 'freehold.dev/principal-uid': ['the-uid'] } } })
    expect(answer?.status.denied).to.equal(true)
    expect(lookups).to.deep.equal([[ANNA, undefined, 'the-uid']])
  })

  it('does not check Kubernetes components as principals', async () => {
    const standing = { endOf: async () => 'deleted' as const }
    const other = { ...review, spec: { ...spec, user: 'system:serviceaccount:default:builder' } }
    const answer = await createReviewer({
      access: access(),
      scopeOfNamespace,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      getGrantRefusal: everyRole,
      isReady: () => true,
      standing,
    })(other)
    expect(answer?.status).not.to.have.property('denied')
  })

  it('ignores bodies that are not SubjectAccessReviews', async () => {
    const reviewer = createReviewer({
      access: access(),
      scopeOfNamespace,
      ownerOf,
      givenTo,
      ownerOfPart: () => undefined,
      getGrantRefusal: everyRole,
      isReady: () => true,
    })
    for (const body of [null, {}, { ...review, kind: 'TokenReview' }, { ...review, spec: { user: 1 } }])
      expect(await reviewer(body)).to.equal(undefined)
  })
})
