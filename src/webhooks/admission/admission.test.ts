import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { GRANTING_CASES, type GrantingCase, type GrantingWorld } from '../../../test/cases/grantingCases.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { type MemoryRecords, makeFacade } from '../../../test/worlds/facade.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { ENFORCEMENT_POINTS } from '../../core/refusals.ts'
import { parseScope } from '../../core/scope.ts'
import { PlatformClient } from '../../crds/identity.ts'
import { KINDS } from '../../crds/index.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { createAdmission } from './index.ts'
import { VISIBILITY_TIMEOUT_MS } from './judgeWithLock.ts'

/** Caches over records in memory. */
function cachesOver(records: MemoryRecords) {
  const kindOf = (resource: Resource) => {
    const kind = KINDS.find((one) => one.resource === resource)
    if (kind === undefined) throw new Error(`${resource.plural} is not a kind of ours.`)
    return kind
  }
  return {
    has: (resource: Resource) => KINDS.some((one) => one.resource === resource),
    get: (resource: Resource) => ({
      get: (namespace: string | undefined, name: string) => records.peek(kindOf(resource), { namespace, name }),
      list: (filter: object) => records.peekAll(kindOf(resource), filter),
      subscribe: () => () => undefined,
    }),
  } as never
}

function prepare(isReady = true, visibilityTimeout = 0) {
  const clock = new ManualClock()
  const { records, services, boundary } = makeFacade({}, { clock })
  const world: GrantingWorld = {
    boundaryId: randomUUID(),
    foreignId: randomUUID(),
    me: randomUUID(),
    other: randomUUID(),
    group: randomUUID(),
    roleName: 'auditor',
  }
  boundary(world.boundaryId)
  boundary(world.foreignId)
  for (const role of BUILT_IN_ROLES) {
    const { name, ...spec } = role
    records.put(RoleDefinition, { name }, { ...spec, isBuiltIn: true })
  }
  const first = randomUUID()
  for (const id of [world.me, world.other, first]) {
    records.put(PlatformClient, { namespace: SYSTEM_NAMESPACE, name: id }, { displayName: 'Account', secretName: 's' })
  }
  const assign = (principalId: string, roleDefinitionName: string, scope: string) => {
    const place = parseScope(scope)
    const namespace =
      place !== undefined && 'boundaryId' in place ? boundaryNamespace(place.boundaryId) : SYSTEM_NAMESPACE
    const spec = { principalId, principalType: 'ServicePrincipal', roleDefinitionName, scope }
    records.put(RoleAssignment, { namespace, name: randomUUID() }, spec)
  }
  const admit = createAdmission({ services, caches: cachesOver(records), isReady: () => isReady, visibilityTimeout })
  return { world, first, records, assign, admit, clock }
}

type Prepared = ReturnType<typeof prepare>

function reviewOf({ world, records }: Prepared, { write }: Pick<GrantingCase, 'write'>, user = `p:${world.me}`) {
  const { kind, namespace, name, spec, operation } = write(world)
  const stored = records.peek(kind, { namespace, name }) as KubeObject | undefined
  const object = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    // Sets defaults like the API server; what only REST's schema rejects must reach admission.
    spec: { ...kind.spec.partial().parse({}), ...spec },
  }
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'review-1',
      operation: operation.toUpperCase(),
      resource: { group: kind.resource.group, version: 'v1alpha1', resource: kind.resource.plural },
      ...(namespace === undefined ? {} : { namespace }),
      userInfo: { username: user, groups: ['system:authenticated'] },
      object: operation === 'delete' ? null : object,
      oldObject: operation === 'create' ? null : stored,
    },
  }
}

async function answerTo(prepared: Prepared, one: GrantingCase) {
  const { world, first, records, assign, admit } = prepared
  if (one.isOnlyOwner !== true) assign(first, 'Owner', `/boundaries/${world.boundaryId}`)
  for (const [role, scope] of Object.entries(one.roles(world))) assign(world.me, role, scope)
  for (const { kind, namespace, name, spec } of one.given?.(world) ?? [])
    records.put(kind, { ...(namespace === undefined ? {} : { namespace }), name }, spec)
  const answer = await admit(reviewOf(prepared, one))
  expect(answer).to.deep.include({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' })
  expect(answer?.response.uid).to.equal('review-1')
  return answer?.response
}

/** The message of a rejection, or "admitted". */
async function verdictOn(prepared: Prepared, one: GrantingCase): Promise<string> {
  const response = await answerTo(prepared, one)
  return response?.allowed === true ? 'admitted' : (response?.status?.message ?? '')
}

describe('admission of writes to access control', () => {
  for (const one of GRANTING_CASES) {
    it(one.rule, async () => {
      const prepared = prepare()
      expect(await verdictOn(prepared, one)).to.include(one.refused?.(prepared.world) ?? 'admitted')
    })
  }

  it('rejects with exactly the codes that ENFORCEMENT_POINTS lists', async () => {
    const codes = new Set<string>()
    for (const one of GRANTING_CASES) {
      const code = (await answerTo(prepare(), one))?.status?.details?.causes[0]?.reason
      if (code !== undefined) codes.add(code)
    }
    const listed = Object.values(ENFORCEMENT_POINTS).flatMap((gates) =>
      gates.flatMap((gate) => ('as' in gate ? gate.as : [])),
    )
    // Codes for writes that nobody may make, and for malformed ones.
    for (const code of ['FORBIDDEN', 'BAD_REQUEST']) codes.delete(code)
    expect([...codes].sort()).to.deep.equal([...new Set<string>(listed)].sort())
  })

  it('names the invalid field in the cause of BAD_REQUEST', async () => {
    let count = 0
    for (const one of GRANTING_CASES) {
      const causes = (await answerTo(prepare(), one))?.status?.details?.causes ?? []
      for (const { reason, field } of causes.filter((cause) => cause.reason === 'BAD_REQUEST')) {
        expect(field, `${one.rule}: ${reason}`).to.match(/^spec\.[a-zA-Z]/)
        count += 1
      }
    }
    expect(count).to.be.greaterThan(3)
  })

  const anything = GRANTING_CASES[0] as GrantingCase

  it('rejects everything with 503 until its caches are synced', async () => {
    const prepared = prepare(false)
    const answer = await prepared.admit(reviewOf(prepared, anything))
    expect(answer?.response).to.nested.include({ allowed: false, 'status.code': 503 })
  })

  it('rejects users that are not principals with 403, whatever their Kubernetes roles', async () => {
    const prepared = prepare()
    for (const user of ['kubernetes-user', 'p:', 'system:serviceaccount:default:robot', 'p:system:masters']) {
      const answer = await prepared.admit(reviewOf(prepared, anything, user))
      expect(answer?.response, user).to.nested.include({ allowed: false, 'status.code': 403 })
    }
  })

  it('rejects kinds that tenants cannot write with 403', async () => {
    const prepared = prepare()
    const { world, admit } = prepared
    const review = reviewOf(prepared, anything)
    const resource = { ...review.request.resource, resource: MemberInvitation.plural }
    prepared.assign(world.me, 'Owner', '/')
    const answer = await admit({ ...review, request: { ...review.request, resource } })
    expect(answer?.response).to.nested.include({ allowed: false, 'status.code': 403 })
  })

  it('decides from the API server, not from a stale cache', async () => {
    const prepared = prepare()
    const { world, records, assign } = prepared
    const stale = new Map<string, unknown[]>()
    const caches = {
      has: () => true,
      get: (resource: Resource) => ({
        get: (_: unknown, name: string) =>
          records.peek(KINDS.find((kind) => kind.resource === resource) ?? RoleAssignment, { name }),
        list: () => stale.get(resource.plural) ?? [],
        subscribe: (handler: (event: object) => void) => {
          for (const object of stale.get(resource.plural) ?? []) handler({ type: 'added', object })
          return () => undefined
        },
      }),
    } as never
    assign(world.me, 'Owner', `/boundaries/${world.boundaryId}`)
    stale.set('roleassignments', [...records.peekAll(RoleAssignment)])
    for (const { metadata } of records.peekAll(RoleAssignment)) {
      await records.remove(RoleAssignment, metadata as never, {} as never)
    }
    const { services } = makeFacade({}, { records })
    const admit = createAdmission({ services, caches, isReady: () => true })
    const answer = await admit(reviewOf(prepared, anything))
    expect(answer?.response.status?.message).to.include('The permission boundaries/members/manage is missing')
  })

  const again = GRANTING_CASES.find(({ rule }) => rule === 'refuses a duplicate request for a role') as GrantingCase
  const TAKEN = 'You already have an open request for this role at this scope.'
  const minutes = (count: number) => new Date(Date.UTC(2026, 0, 1) + count * 60_000).toISOString()
  const approved = (at: number) => ({ decision: 'Approved', decidedAt: minutes(at), durationMinutes: 60 })
  const earlier: [title: string, spec: object, madeAt: number, refusal: string][] = [
    ['is pending', {}, 0, TAKEN],
    ['is in force', approved(-59), -70, TAKEN],
    ['is about an earlier object of the same name', { scopeIncarnation: randomUUID() }, 0, 'admitted'],
    ['nobody decided within a day', {}, -1441, 'admitted'],
    ['has expired', approved(-61), -70, 'admitted'],
    ['was denied', { decision: 'Denied', decidedAt: minutes(-1) }, -70, 'admitted'],
  ]
  for (const [title, more, madeAt, refusal] of earlier) {
    it(`treats an earlier request for the same role that ${title} like REST`, async () => {
      const prepared = prepare()
      const [{ kind, namespace, name, spec } = again.write(prepared.world)] = again.given?.(prepared.world) ?? []
      const whole = { ...kind.spec.partial().parse({}), ...spec, ...more }
      prepared.records.put(kind, { namespace: namespace ?? '', name, creationTimestamp: minutes(madeAt) }, whole)
      expect(await verdictOn(prepared, { ...again, given: () => [] })).to.equal(refusal)
    })
  }

  it('never answers 409, which kubectl treats as a version conflict', async () => {
    const prepared = prepare()
    const one = GRANTING_CASES.find(
      ({ rule }) => rule === 'refuses the deletion of the assignment of the last Owner',
    ) as GrantingCase
    const { world, records, admit } = prepared
    for (const { kind, name, spec } of one.given?.(world) ?? [])
      records.put(kind, { namespace: boundaryNamespace(world.boundaryId), name }, spec)
    const { response } = (await admit(reviewOf(prepared, one))) ?? {}
    expect(response?.status).to.include({ code: 422, reason: 'UnprocessableEntity' })
    expect(response?.status?.details?.causes[0]?.reason).to.equal('LAST_OWNER')
  })

  it("rejects a review with 429 if it waits for earlier ones until the API server's timeout", async () => {
    const prepared = prepare()
    const { world, records, assign, admit, clock } = prepared
    assign(world.me, 'Owner', `/boundaries/${world.boundaryId}`)
    const one = { ...anything, operation: 'create' }
    const list = records.list.bind(records)
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    Object.assign(records, { list: (...given: Parameters<typeof list>) => opened.then(() => list(...given)) })
    const [first, second] = [admit(reviewOf(prepared, one)), admit(reviewOf(prepared, one))]
    await clock.advance(3_001)
    open()
    expect((await first)?.response.allowed).to.equal(true)
    const { response } = (await second) ?? {}
    expect(response?.status).to.include({ code: 429, reason: 'TooManyRequests' })
    expect(response?.status?.details?.retryAfterSeconds).to.equal(1)
  })

  it('rejects another removal with 429 until the admitted one is visible', async () => {
    const prepared = prepare(true, 8_000)
    const { world, records, assign, admit, clock } = prepared
    const scope = `/boundaries/${world.boundaryId}`
    for (const principalId of [world.other, world.me]) assign(principalId, 'Owner', scope)
    const namespace = boundaryNamespace(world.boundaryId)
    const [first, second] = records.peekAll(RoleAssignment, { namespace })
    const removal = (stored: RoleAssignment | undefined, more: object = {}) => {
      const write = {
        kind: RoleAssignment,
        namespace,
        name: stored?.metadata.name ?? '',
        spec: {},
        operation: 'delete',
      }
      const review = reviewOf(prepared, { write: () => write } as unknown as GrantingCase)
      return admit({ ...review, request: { ...review.request, ...more } }).then((answer) => answer?.response)
    }
    expect(await removal(first, { dryRun: true })).to.include({ allowed: true })
    expect(await removal(first)).to.include({ allowed: true })
    const [late, other] = [removal(second), removal(second)]
    await clock.advance(3_001)
    expect((await late)?.status).to.include({ code: 429 })
    expect((await other)?.status).to.include({ code: 429 })
    const again = removal(second)
    await records.remove(RoleAssignment, first?.metadata ?? { name: '' }, {} as never)
    expect((await again)?.status?.details?.causes[0]?.reason).to.equal('LAST_OWNER')
  })

  it('locks a removal for 10 seconds plus the visibility timeout, by default more than 30', async () => {
    const prepared = prepare()
    const { world, records, assign, admit } = prepared
    for (const principalId of [world.other, world.me]) assign(principalId, 'Owner', `/boundaries/${world.boundaryId}`)
    const namespace = boundaryNamespace(world.boundaryId)
    const [stored] = records.peekAll(RoleAssignment, { namespace })
    const { name = '' } = stored?.metadata ?? {}
    const durations: (number | undefined)[] = []
    Object.assign(records, {
      exclusively: (_key: string, work: () => Promise<void>, options?: { duration?: number }) => {
        durations.push(options?.duration)
        return work()
      },
    })
    const write = { kind: RoleAssignment, namespace, name, spec: {}, operation: 'delete' }
    await admit(reviewOf(prepared, { write: () => write } as unknown as GrantingCase))
    expect(VISIBILITY_TIMEOUT_MS).to.be.greaterThan(30_000)
    expect(durations).to.deep.equal([10_000])
  })

  it('does not wait for the visibility of a write without a change', async () => {
    const prepared = prepare(true, 8_000)
    const { world, records, assign, admit } = prepared
    for (const principalId of [world.other, world.me]) assign(principalId, 'Owner', `/boundaries/${world.boundaryId}`)
    const namespace = boundaryNamespace(world.boundaryId)
    const [stored] = records.peekAll(RoleAssignment, { namespace })
    const { name = '' } = stored?.metadata ?? {}
    const allowed = async (operation: 'update' | 'delete', metadata: object = {}) => {
      const write = { kind: RoleAssignment, namespace, name, spec: { ...stored?.spec }, operation }
      const review = reviewOf(prepared, { write: () => write } as unknown as GrantingCase)
      const oldObject = { ...stored, metadata: { ...stored?.metadata, ...metadata } }
      return (await admit({ ...review, request: { ...review.request, oldObject } }))?.response.allowed
    }
    const going = { deletionTimestamp: '2026-11-02T08:00:00Z' }
    expect(await allowed('update')).to.equal(true)
    expect(await allowed('delete', going)).to.equal(true)
    // The clock stands still: a held lock would never be released.
    expect(await allowed('update')).to.equal(true)
  })

  it('ignores bodies that are not reviews', async () => {
    const { admit } = prepare()
    for (const body of [null, {}, { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }, 'text'])
      expect(await admit(body)).to.equal(undefined)
  })
})
