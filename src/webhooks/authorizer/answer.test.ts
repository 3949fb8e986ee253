import { expect } from 'chai'
import { Evaluator } from '../../iam/evaluate.ts'
import { answerReview, type ReviewStatus } from './answer.ts'
import { createReviewer, type ReviewerOptions } from './index.ts'
import { questionOf, type ReviewQuestion } from './question.ts'

const [ANNA, B] = ['11111111-1111-4111-8111-111111111111', '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b']
const GROUP = `/boundaries/${B}/resourcegroups/orders`
const MINE = `${GROUP}/resources/vectorclusters/mine`

const everyRole = () => undefined

/** An evaluator in which Anna reads the group, perhaps with a deny. */
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

describe('the answer to the API server', () => {
  it('allows what a role gives, and says which', () => {
    expect(answerReview(question('vectorcluster/read', MINE), access(), everyRole)).to.deep.equal({
      allowed: true,
      reason: `Reader at ${GROUP}`,
    })
  })

  it('has no opinion on what no role gives, and says what is missing', () => {
    const verdict = answerReview(question('vectorcluster/write', MINE), access(), everyRole)
    expect(verdict).to.deep.equal({
      allowed: false,
      reason: `The permission vectorcluster/write is missing at ${MINE}.`,
    })
  })

  it('denies what a deny covers, so that no role of Kubernetes gives it back', () => {
    const verdict = answerReview(question('vectorcluster/read', MINE), access(GROUP), everyRole)
    expect(verdict).to.deep.equal({ allowed: false, denied: true, reason: `vectorcluster/read is denied at ${GROUP}.` })
  })

  it('denies a list in which one object is denied, and allows the list beside it', () => {
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

describe('the answer about the pods of a group', () => {
  const pods = questionOf(
    { user: `p:${ANNA}`, resourceAttributes: { resource: 'pods', verb: 'list', namespace: 'orders-0123456789' } },
    () => ({ boundaryId: B, resourceGroup: 'orders' }),
    () => undefined,
  )

  it('allows them to who reads the group', () =>
    expect(answerReview(pods, access(), everyRole)).to.include({ allowed: true }))

  for (const denied of ['*', 'vectorcluster/*', 'vectorcluster/read'])
    it(`denies them where ${denied} is denied at one of its resources, whose pods are among them`, () => {
      expect(answerReview(pods, access(MINE, denied), everyRole)).to.include({ allowed: false, denied: true })
    })

  it('minds no deny of another group, nor of what shows nothing', () => {
    const neighbour = MINE.replace('orders', 'orders-2')
    expect(answerReview(pods, access(neighbour, 'vectorcluster/read'), everyRole)).to.include({ allowed: true })
    expect(answerReview(pods, access(MINE, 'vectorcluster/write'), everyRole)).to.include({ allowed: true })
  })
})

describe('the answer about several actions at once', () => {
  const both = (also: 'vectorcluster/read' | 'vectorcluster/write') =>
    answerReview(
      { ...question('vectorcluster/read', MINE), also: [{ action: also, scope: MINE }] } as ReviewQuestion,
      access(),
      everyRole,
    )

  it('allows what roles give altogether', () => expect(both('vectorcluster/read')).to.include({ allowed: true }))

  it('has no opinion if one is missing, and says which', () =>
    expect(both('vectorcluster/write')).to.deep.equal({
      allowed: false,
      reason: `The permission vectorcluster/write is missing at ${MINE}.`,
    }))
})

describe('the answer about giving a role', () => {
  const asked: ReviewQuestion = { asks: 'grant', principalId: ANNA, roleName: 'Owner', scope: GROUP }

  it('is that of the rules of granting, in their words', () => {
    expect(answerReview(asked, access(), () => 'Too much.')).to.deep.equal({ allowed: false, reason: 'Too much.' })
    expect(answerReview(asked, access(), everyRole)).to.include({ allowed: true })
  })
})

describe('reviews', () => {
  const resourceAttributes = {
    group: 'data.freehold.dev',
    resource: 'vectorclusters',
    verb: 'get',
    name: 'mine',
    namespace: 'orders-0123456789',
  }
  const spec = { user: `p:${ANNA}`, groups: ['system:authenticated'], resourceAttributes }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const placeOf = () => ({ boundaryId: B, resourceGroup: 'orders' })
  const ownerOf = () => undefined
  const givenTo = async () => []

  it('are answered in their own form', async () => {
    const answer = await createReviewer({
      access: access(),
      placeOf,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      whyNotGiven: everyRole,
      isReady: () => true,
    })(review)
    expect(answer).to.deep.equal({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      status: { allowed: true, reason: `Reader at ${GROUP}` },
    })
  })

  it('get no opinion until every assignment is known', async () => {
    const answer = await createReviewer({
      access: access(),
      placeOf,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      whyNotGiven: everyRole,
      isReady: () => false,
    })(review)
    expect(answer?.status.allowed).to.equal(false)
    expect(answer?.status).not.to.have.property('denied')
  })

  const reviewer = (change: Partial<ReviewerOptions>) =>
    createReviewer({
      access: access(),
      placeOf,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      whyNotGiven: everyRole,
      isReady: () => true,
      ...change,
    })

  const STRANGER = '22222222-2222-4222-8222-222222222222'
  const OTHER_OWNER = () => ({ kind: 'ContainerInstance', name: 'mine' })
  const asked: Record<string, object> = {
    'an object': resourceAttributes,
    'a list': { ...resourceAttributes, verb: 'list', name: '' },
    'what does not belong there': { ...resourceAttributes, group: 'freehold.dev', resource: 'resourcegroups' },
    'a kind of Kubernetes': { ...resourceAttributes, group: '', resource: 'pods' },
    'the log of a pod': { ...resourceAttributes, group: '', resource: 'pods', subresource: 'log' },
  }
  for (const [what, attributes] of Object.entries(asked))
    it(`tell whoever has no role there the same of a namespace that is no boundary's: ${what}`, async () => {
      const strange = { ...review, spec: { user: `p:${STRANGER}`, resourceAttributes: attributes } }
      const there = await reviewer({ ownerOf: OTHER_OWNER })(strange)
      const nowhere = await reviewer({ placeOf: () => undefined })(strange)
      expect(there?.status).to.deep.equal(nowhere?.status)
      expect(there?.status.reason).to.equal('The caller has no role in namespace "orders-0123456789".')
      const denied = await reviewer({ access: access(GROUP) })(strange)
      expect(denied?.status.reason).to.equal(there?.status.reason)
    })

  const ages: [string, number, Partial<ReviewStatus>][] = [
    ['the watches are open', 0, { allowed: true }],
    ['a watch has been lost for as long as reads are answered', 60_000, { allowed: true }],
    ['a watch has been lost for longer', 60_001, { allowed: false, denied: true }],
  ]
  for (const [sentence, age, verdict] of ages) {
    it(`are answered from memory as REST does it while ${sentence}`, async () => {
      const answer = await reviewer({ staleness: { age: () => age, bound: 60_000 } })(review)
      expect(answer?.status).to.include(verdict)
      expect(answer?.status.reason).to.match(age > 60_000 ? /too old to answer from/ : /Reader at/)
    })
  }

  it('of components of Kubernetes get no opinion also then', async () => {
    const other = { ...review, spec: { ...spec, user: 'system:kube-scheduler' } }
    const answer = await reviewer({ staleness: { age: () => 60_001, bound: 60_000 } })(other)
    expect(answer?.status).not.to.have.property('denied')
  })

  it('are asked of the API server before there is no opinion, and never before a deny', async () => {
    const asked: unknown[] = []
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
          asked.push(question)
          now = given
        },
      }
    }
    expect((await reviewer({ access: caughtUp(access()) })(review))?.status.allowed).to.equal(true)
    expect(asked).to.deep.equal([[ANNA, MINE]])
    expect(
      (await reviewer({ access: { ...access(GROUP), catchUp: () => expect.fail() } })(review))?.status.denied,
    ).to.equal(true)
  })

  it('about the namespace of a boundary that is not known are asked of the API server', async () => {
    const asked: unknown[] = []
    const catchUp = async (...question: unknown[]) => void asked.push(question)
    const attributes = { ...resourceAttributes, resource: 'roleassignments', group: 'iam.freehold.dev' }
    const there = { ...spec, resourceAttributes: { ...attributes, namespace: `boundary-${B}` } }
    await reviewer({ access: { ...access(), catchUp }, placeOf: () => undefined })({ ...review, spec: there })
    expect(asked).to.deep.equal([[ANNA, `/boundaries/${B}`]])
  })

  it('about what is not ours in a boundary that is known ask nobody', async () => {
    const there = { ...spec, resourceAttributes: { ...resourceAttributes, resource: 'configmaps', group: '' } }
    const own = { ...there, resourceAttributes: { ...there.resourceAttributes, namespace: `boundary-${B}` } }
    const known = { access: { ...access(), catchUp: () => expect.fail() }, placeOf: () => ({ boundaryId: B }) }
    expect((await reviewer(known)({ ...review, spec: own }))?.status.allowed).to.equal(false)
  })

  it('are denied for a deleted or disabled principal, whatever roles are left', async () => {
    for (const ended of ['deleted', 'disabled'] as const) {
      const standing = { endOf: async () => ended }
      const answer = await createReviewer({
        access: access(),
        placeOf,
        ownerOf,
        givenTo,
        ownerOfPart: ownerOf,
        whyNotGiven: everyRole,
        isReady: () => true,
        standing,
      })(review)
      expect(answer?.status).to.deep.equal({ allowed: false, denied: true, reason: `The principal was ${ended}.` })
    }
  })

  it('ask about the very principal that the token was issued to', async () => {
    const asked: unknown[] = []
    const standing = {
      endOf: async (...given: unknown[]) => {
        asked.push(given)
        return 'deleted' as const
      },
    }
    const answer = await createReviewer({
      access: access(),
      placeOf,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      whyNotGiven: everyRole,
      isReady: () => true,
      standing,
    })({ ...review, spec: { ...spec, extra: { 'freehold.dev/principal-uid': ['the-uid'] } } })
    expect(answer?.status.denied).to.equal(true)
    expect(asked).to.deep.equal([[ANNA, undefined, 'the-uid']])
  })

  it('of components of Kubernetes are not asked about as principals', async () => {
    const standing = { endOf: async () => 'deleted' as const }
    const other = { ...review, spec: { ...spec, user: 'system:serviceaccount:default:builder' } }
    const answer = await createReviewer({
      access: access(),
      placeOf,
      ownerOf,
      givenTo,
      ownerOfPart: ownerOf,
      whyNotGiven: everyRole,
      isReady: () => true,
      standing,
    })(other)
    expect(answer?.status).not.to.have.property('denied')
  })

  it('are not taken in another form', async () => {
    const reviewer = createReviewer({
      access: access(),
      placeOf,
      ownerOf,
      givenTo,
      ownerOfPart: () => undefined,
      whyNotGiven: everyRole,
      isReady: () => true,
    })
    for (const body of [null, {}, { ...review, kind: 'TokenReview' }, { ...review, spec: { user: 1 } }])
      expect(await reviewer(body)).to.equal(undefined)
  })
})
