import { expect } from 'chai'
import type { ActivityReport } from '../../api/records/activity/recorder.ts'
import { silentLog } from '../../core/log.ts'
import { createAuditor } from './index.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'
const PERSON = '22222222-2222-4222-8222-222222222222'
const ENTRY = '33333333-3333-4333-8333-333333333333'
const NAMESPACE = 'shop-0123456789'
const PLACES: Record<string, { boundaryId: string; resourceGroup?: string }> = {
  [NAMESPACE]: { boundaryId: BOUNDARY, resourceGroup: 'shop' },
  [`boundary-${BOUNDARY}`]: { boundaryId: BOUNDARY },
}
const FACADE = 'system:serviceaccount:freehold-system:freehold-facade'
const CONTROLLERS = 'system:serviceaccount:freehold-system:freehold-controllers'

const ACCOUNT = {
  resource: 'objectstorageaccounts',
  namespace: NAMESPACE,
  name: 'photos',
  apiGroup: 'data.freehold.dev',
}
const account = (more: object = {}) => ({
  metadata: { name: 'photos', uid: 'u', generation: 2, resourceVersion: '77', ...more },
  spec: { maxBuckets: 5 },
})

function event(more: Record<string, unknown> = {}) {
  return {
    auditID: 'a-1',
    stage: 'ResponseComplete',
    verb: 'patch',
    requestURI: `/apis/data.freehold.dev/v1alpha1/namespaces/${NAMESPACE}/objectstorageaccounts/photos?fieldManager=flux&force=true`,
    user: { username: `p:${PERSON}` },
    sourceIPs: ['6.6.6.6', '10.1.2.3'],
    userAgent: 'kubectl/v1.36.3',
    objectRef: ACCOUNT,
    responseStatus: { code: 200 },
    requestReceivedTimestamp: '2026-11-22T10:00:00.123456Z',
    responseObject: account(),
    ...more,
  }
}

async function reportsOf(events: object[], more: { isThere?: boolean; owner?: string } = {}) {
  const reports: ActivityReport[] = []
  const audit = createAuditor({
    scopeOfNamespace: (namespace) => PLACES[namespace],
    ownerOfPart: () => more.owner,
    exists: () => more.isThere ?? true,
    isReady: () => true,
    log: silentLog,
    recorder: {
      write: async (all) => {
        reports.push(...all)
      },
    },
  })
  await audit({ kind: 'EventList', items: events })
  return reports
}

const DRY_RUN = { 'freehold-dry-run/dry-run': 'true' }
const refused = (code: number) => event({ responseStatus: { code, reason: 'Forbidden' }, responseObject: {} })
const ref = (more: object) => ({ ...ACCOUNT, ...more })

describe('createAuditor', () => {
  it('accepts an audit id of 100,000 characters, which the client chooses', async () => {
    expect(await reportsOf([event({ auditID: 'x'.repeat(100_000) })])).to.have.length(1)
  })

  for (const [what, broken] of Object.entries({
    'an invalid timestamp': { requestReceivedTimestamp: 'yesterday' },
    'an invalid collection': { verb: 'deletecollection', responseObject: { items: {} } },
    'an invalid object': { verb: 'deletecollection', responseObject: { items: [null] } },
    'no fields': { auditID: undefined },
  }))
    it(`skips only the event with ${what}`, async () => {
      const reports = await reportsOf([event({ auditID: 'a-0' }), event(broken), event({ auditID: 'a-2' })])
      expect(reports).to.have.length(2)
    })

  it('records who wrote what, with which client, from which address, and the result', async () => {
    const [report, ...more] = await reportsOf([event()])
    expect(more).to.deep.equal([])
    expect(report?.resource).to.deep.equal({
      boundaryId: BOUNDARY,
      resourceGroup: 'shop',
      resourceType: 'objectstorageaccounts',
      resourceName: 'photos',
    })
    expect(report?.observed).to.deep.include({
      occurredAt: '2026-11-22T10:00:00.123Z',
      action: 'objectstorageaccounts/write',
      operation: 'patch',
      actor: { principalId: PERSON },
      channel: 'Kubernetes',
      outcome: 'Succeeded',
      statusCode: 200,
      remoteAddress: '10.1.2.3',
      metadata: { userAgent: 'kubectl/v1.36.3', fieldManager: 'flux' },
      after: { uid: 'u', generation: 2, spec: { maxBuckets: 5 }, labelling: '', isNew: false },
    })
  })

  it('removes invisible characters from the user agent and the field manager', async () => {
    const requestURI = '/x?fieldManager=a%0a%1b%5b31mb%e2%80%aec'
    const [report] = await reportsOf([
      event({ requestURI, userAgent: 'kube\u202ectl\u0085', responseStatus: { code: 422 } }),
    ])
    expect(report?.observed.metadata).to.deep.equal({ userAgent: 'kube ctl', fieldManager: 'a [31mb c' })
    const [unseen] = await reportsOf([event({ requestURI: '/x?fieldManager=%0a', userAgent: '\u200b' })])
    expect(unseen?.observed.metadata).to.deep.equal({})
  })

  const actors: [string, Record<string, unknown>, object][] = [
    ['a user of the cluster', { user: { username: 'alice' } }, { kubernetes: 'alice' }],
    ['an impersonated user', { impersonatedUser: { username: 'bob' } }, { kubernetes: 'bob' }],
    [
      "the caller of a REST request, from the facade's audit id",
      { user: { username: FACADE }, auditID: `${ENTRY}.${PERSON}` },
      { principalId: PERSON },
    ],
    ['the platform, for its controllers', { user: { username: CONTROLLERS } }, { platform: true }],
    [
      "the user, although the audit id imitates the facade's",
      { auditID: `${ENTRY}.${ENTRY}` },
      { principalId: PERSON },
    ],
  ]
  for (const [title, more, actor] of actors) {
    it(`records ${title} as actor`, async () => {
      const [report] = await reportsOf([event(more)])
      expect(report?.observed.actor).to.deep.equal(actor)
    })
  }

  it('assigns the same id to a repeated event, and never a chosen one', async () => {
    const [one, again, other, chosen] = await reportsOf([
      event(),
      event(),
      event({ requestReceivedTimestamp: '2026-11-22T10:00:00.123457Z' }),
      event({ auditID: `${ENTRY}.${PERSON}` }),
    ])
    expect(one?.observed.id).to.equal(again?.observed.id)
    expect(one?.observed.id).to.not.equal(other?.observed.id)
    expect(chosen?.observed.id).to.not.equal(ENTRY)
  })

  const silent: [string, object][] = [
    ['a dry run', event({ annotations: DRY_RUN })],
    [
      'a dry run of a deletion without content',
      event({ annotations: DRY_RUN, verb: 'delete', objectRef: ref({ resource: 'vaultentries' }), responseObject: {} }),
    ],
    ['a write of a status', event({ objectRef: ref({ subresource: 'status' }) })],
    ['a request that is not complete', event({ stage: 'RequestReceived' })],
    ['a request with an unreadable body', event({ responseStatus: { code: 400 } })],
    ['another namespace', event({ objectRef: ref({ namespace: 'default' }) })],
    ['a kind of another API group', event({ objectRef: ref({ apiGroup: 'apps', resource: 'deployments' }) })],
    ['a rejected request of the facade', event({ user: { username: FACADE }, responseStatus: { code: 409 } })],
    [
      'a part that a controller deletes',
      event({ user: { username: CONTROLLERS }, verb: 'delete', objectRef: { ...ACCOUNT, resource: 'accountbuckets' } }),
    ],
    ['an invalid event', { stage: 1 }],
  ]
  for (const [title, one] of silent)
    it(`ignores ${title}`, async () => expect(await reportsOf([one])).to.deep.equal([]))

  for (const query of ['dryRun=All', 'fieldManager=a?dryRun=All', 'pretty=?dryRun=x'])
    it(`records a write with ?${query}: only the API server's annotation marks a dry run`, async () => {
      expect(await reportsOf([event({ requestURI: `/x?${query}` })])).to.have.length(1)
      expect(await reportsOf([event({ requestURI: `/x?${query}`, verb: 'delete' })])).to.have.length(1)
    })

  for (const code of [403, 409, 422]) {
    it(`records a rejection with ${code} only for an existing resource`, async () => {
      const [report] = await reportsOf([refused(code)])
      expect(report?.observed).to.include({ outcome: 'Refused', statusCode: code, after: undefined })
      expect(await reportsOf([refused(code)], { isThere: false })).to.deep.equal([])
    })
  }

  const GROUP = {
    resource: 'resourcegroups',
    apiGroup: 'freehold.dev',
    namespace: `boundary-${BOUNDARY}`,
    name: 'shop',
  }
  const WHOLE = { resource: 'boundaries', apiGroup: 'freehold.dev', name: BOUNDARY }
  const wholes: [string, object, object][] = [
    ['a group', GROUP, { resourceGroup: 'shop', resourceType: 'resourcegroups', resourceName: 'shop' }],
    ['a boundary', WHOLE, { resourceGroup: '', resourceType: 'boundaries', resourceName: BOUNDARY }],
  ]
  for (const [what, objectRef, resource] of wholes) {
    const changed = { metadata: { name: 'x', uid: 'u', generation: 2 }, spec: { quota: { cpu: '4' } } }

    it(`records changes and deletions of ${what} with their actor`, async () => {
      const reports = await reportsOf([
        event({ objectRef, responseObject: changed }),
        event({ objectRef, verb: 'delete', responseObject: { kind: 'Status' } }),
      ])
      expect(reports.map((one) => one.resource)).to.deep.equal(
        reports.map(() => ({ boundaryId: BOUNDARY, ...resource })),
      )
      expect(reports.map(({ observed }) => [observed.operation, observed.actor])).to.deep.equal([
        ['patch', { principalId: PERSON }],
        ['delete', { principalId: PERSON }],
      ])
      expect(reports[0]?.observed.after).to.deep.include({ spec: changed.spec })
    })

    it(`records a REST write in ${what} as second-hand and only if it changed`, async () => {
      const own = { user: { username: FACADE }, auditID: `${ENTRY}.${PERSON}` }
      const [report] = await reportsOf([event({ ...own, objectRef, responseObject: changed })])
      expect(report?.observed).to.include({ id: ENTRY, isSecondHand: true, onlyIfChanged: true })
    })
  }

  it('ignores a group in a namespace without a boundary', async () =>
    expect(await reportsOf([event({ objectRef: { ...GROUP, namespace: 'default' } })])).to.deep.equal([]))

  it('records each object of a deleted collection', async () => {
    const responseObject = { items: [account(), account({ name: 'films' })] }
    const reports = await reportsOf([
      event({ verb: 'deletecollection', objectRef: ref({ name: undefined }), responseObject }),
    ])
    expect(reports.map(({ resource }) => resource.resourceName)).to.deep.equal(['photos', 'films'])
    expect(new Set(reports.map(({ observed }) => observed.id)).size).to.equal(2)
  })

  it('records a part at its owner, without its content', async () => {
    const responseObject = { metadata: { name: 'raw' }, spec: { accountName: 'photos' } }
    const objectRef = ref({ resource: 'accountbuckets', name: 'raw' })
    const [report] = await reportsOf([event({ objectRef, responseObject })])
    expect(report?.resource.resourceName).to.equal('photos')
    expect(report?.observed.metadata.part).to.equal('accountbuckets/raw')
    expect(report?.observed.after).to.equal(undefined)
    const as = async (metadata: object) =>
      (await reportsOf([event({ objectRef, responseObject: { ...responseObject, metadata } })]))[0]?.observed
    const metadata = { name: 'raw', uid: 'u', generation: 1, resourceVersion: '5' }
    const once = await as(metadata)
    expect(once).to.include({ onlyIfChanged: true })
    expect((await as({ ...metadata, resourceVersion: '9' }))?.part, 'only the status changed').to.deep.equal(once?.part)
    for (const changed of [{ generation: 2 }, { labels: { team: 'a' } }, { uid: 'v' }])
      expect((await as({ ...metadata, ...changed }))?.part).to.not.deep.equal(once?.part)
    const [deletion] = await reportsOf([event({ verb: 'delete', objectRef, responseObject: {} })], { owner: 'photos' })
    expect(deletion?.resource.resourceName).to.equal('photos')
  })

  it('ignores a write without content that the API server marks as unchanged', async () => {
    const objectRef = ref({ resource: 'vaultentries', name: `safe-${'0'.repeat(20)}` })
    const patched = { objectRef, responseObject: undefined }
    const annotations = { 'freehold-unchanged/unchanged': 'true' }
    expect(await reportsOf([event(patched)])).to.have.length(1)
    expect(await reportsOf([event({ ...patched, annotations })])).to.have.length(0)
    expect(await reportsOf([event({ ...patched, annotations, responseStatus: { code: 409 } })])).to.have.length(1)
    const byFacade = { user: { username: FACADE }, auditID: `${ENTRY}.${PERSON}` }
    expect(await reportsOf([event({ ...patched, annotations, ...byFacade })])).to.have.length(1)
  })

  it('records an expired resource that a controller deletes', async () => {
    const [report] = await reportsOf([event({ user: { username: CONTROLLERS }, verb: 'delete', responseObject: {} })])
    expect(report?.observed).to.deep.include({ channel: 'Platform', action: 'objectstorageaccounts/delete' })
  })

  it('records the replicas of a scale request', async () => {
    const objectRef = ref({ resource: 'vectorclusters', name: 'search', subresource: 'scale' })
    const [report] = await reportsOf([event({ objectRef, responseObject: { spec: { replicas: 3 } } })])
    expect(report?.observed).to.deep.include({
      action: 'vectorcluster/scale',
      after: { replicas: 3, pointer: '/replicas' },
    })
  })

  it("records a REST request as second-hand, without the client's address", async () => {
    const own = event({ user: { username: FACADE }, auditID: `${ENTRY}.${PERSON}` })
    const [report] = await reportsOf([own])
    expect(report?.observed).to.include({ id: ENTRY, channel: 'Rest', isSecondHand: true, remoteAddress: undefined })
  })

  it('fails, so that the API server retries, if it cannot store events or is not ready', async () => {
    const options = {
      log: silentLog,
      scopeOfNamespace: () => undefined,
      ownerOfPart: () => undefined,
      exists: () => true,
    }
    const write = () => Promise.reject(new Error('away'))
    const failing = createAuditor({ ...options, isReady: () => true, recorder: { write } })
    const early = createAuditor({ ...options, isReady: () => false, recorder: { write } })
    for (const audit of [failing, early]) {
      const failure = await audit({ kind: 'EventList', items: [] }).catch((error) => error)
      expect(failure).to.be.instanceOf(Error)
    }
    expect(await failing({ kind: 'Pod' })).to.equal(undefined)
  })
})
