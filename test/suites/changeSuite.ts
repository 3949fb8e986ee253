import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { request } from '../make/request.ts'
import { bearer } from '../worlds/facadeServer.ts'
import { askAtOnce, outcomes } from './contest.ts'
import { BOUNDARY, NAME, OWNER, type ResourceCase, type World } from './resourceCase.ts'

export function changeTests({ body, shows }: { body: object; shows: object }, world: World): void {
  const { base, call, create, has } = world
  const one = `${base}/${NAME}`

  it('applies a merge patch, and returns 409 for a stale If-Match', async () => {
    const { headers } = await create()
    const stale = await call('patch', one).set('if-match', '"7-1"').send(body)
    expect([stale.status, stale.body.code, stale.body.currentVersion]).to.deep.equal([409, 'CONFLICT', headers.etag])
    // One of several tags is enough (RFC 9110, section 13.1.1).
    const answer = await call('patch', one).set('if-match', `"7-1", ${headers.etag}`).send(body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(answer.body).to.deep.include(shows)
    const again = await call('patch', one)
      .set('if-match', answer.headers.etag ?? '')
      .send(body)
    expect(again.status, JSON.stringify(again.body)).to.equal(200)
    const wrong = await call('patch', one).send({ nonsense: 1 })
    expect([wrong.status, wrong.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
  })

  it('applies one of several concurrent patches with the same If-Match', async () => {
    const { headers } = await create()
    const answers = await askAtOnce(world.server, (app, index) =>
      request(app)
        .patch(one)
        .set('authorization', bearer(OWNER))
        .set('if-match', headers.etag ?? '')
        .send({ tags: { asker: `${index}` } }),
    )
    expect(outcomes(answers)).to.deep.equal(['200', ...Array(answers.length - 1).fill('409 CONFLICT')])
  })

  if (!has('put', '/x')) return
  it('writes nothing for PUT of its own record', async () => {
    await create()
    const read = (await call('get', one)).body
    world.server.client.calls.length = 0
    const answer = await call('put', one).send(read)
    expect([answer.status, answer.body]).to.deep.equal([200, read])
    expect(world.server.client.calls.map(({ verb }) => verb)).to.deep.equal(['get'])
  })
}

const OF_A_PLAN = { cpuRequest: '1', cpuLimit: '1', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }

/** For kinds whose spec can override sizes of its plan. */
export function planTests({ kind, body }: ResourceCase, world: World): void {
  const { base, call, create, has: hasRoute } = world
  const one = `${base}/${NAME}`
  const has = (name: string) => Object.hasOwn(kind.spec.shape as object, name)
  const plans = (larger: object) => {
    const { sized: family } = kind
    for (const [name, spec] of Object.entries({ one: OF_A_PLAN, another: { ...OF_A_PLAN, ...larger } }))
      world.server.put(ComputePlan, name, { family, displayName: name, replicas: 2, ...spec })
  }

  if (has('cpuLimit')) {
    it('drops overrides that equal the plan in other units, and follows the next plan', async () => {
      const larger = { cpuRequest: '2', cpuLimit: '4', memoryRequest: '4Gi', memoryLimit: '8Gi', storageSize: '40Gi' }
      plans(larger)
      const inOtherWords = { cpuRequest: '1000m', cpuLimit: '1.0', memoryRequest: '2048Mi', memoryLimit: '2147483648' }
      const given = { ...inOtherWords, ...(has('storageSize') && { storageSize: '20480Mi' }) }
      const made = await create(NAME, { ...body, computePlan: 'one', ...given })
      expect(made.status, JSON.stringify(made.body)).to.equal(201)
      const { body: shown } = await call('patch', one).send({ computePlan: 'another' })
      expect(shown).to.include(Object.fromEntries(Object.keys(given).map((name) => [name, larger[name as 'cpuLimit']])))
    })
  }

  const planField = kind.sized === 'ContainerInstance' && has('branch') ? 'resourcePlanId' : 'computePlan'
  if (kind.sized !== undefined) {
    it('accepts PATCH, and PUT of its own record, after its plan was deleted', async () => {
      plans({})
      const made = await create(NAME, { ...body, [planField]: 'one' })
      expect(made.status, JSON.stringify(made.body)).to.equal(201)
      await world.server.client.remove(ComputePlan.resource, { name: 'one' })
      const tagged = await call('patch', one).send({ tags: { team: 'books' } })
      expect([tagged.status, tagged.body.tags], JSON.stringify(tagged.body)).to.deep.equal([200, { team: 'books' }])
      const { body: read, headers } = await call('get', one)
      expect(read[planField]).to.equal('one')
      if (hasRoute('put', '/x')) {
        const written = await call('put', one).send(read)
        expect([written.status, written.headers.etag], JSON.stringify(written.body)).to.deep.equal([200, headers.etag])
      }
      const other = await call('patch', one).send({ [planField]: 'nowhere' })
      expect([other.status, other.body.code]).to.deep.equal([422, 'PLAN_NOT_FOUND'])
    })
  }

  const isUnnamed = (kind.spec.parse(body) as { computePlan?: string }).computePlan === undefined
  if (kind.sized !== undefined && isUnnamed) {
    it('keeps following the default plan until a request names one', async () => {
      const namespace = groupNamespace(BOUNDARY, 'shop')
      world.server.put(kind, NAME, body, namespace)
      const planOf = async () => {
        const { spec } = await world.server.client.get(kind.resource, { namespace, name: NAME })
        return (spec as { computePlan?: string }).computePlan
      }
      const { body: read } = await call('get', one)
      if (hasRoute('put', '/x')) expect((await call('put', one).send(read)).status).to.equal(200)
      expect((await call('patch', one).send({ tags: { team: 'books' } })).status).to.equal(200)
      expect(await planOf()).to.equal(undefined)
      const named = await call('patch', one).send({ computePlan: read.computePlan })
      expect([named.status, await planOf()], JSON.stringify(named.body)).to.deep.equal([200, read.computePlan])
    })
  }

  if (has('cpuLimit') && has('replicas')) {
    it('resets replicas to those of the plan for null, and keeps them if the field is absent', async () => {
      plans({ replicas: 3 })
      expect((await create(NAME, { ...body, computePlan: 'another', replicas: 1 })).body.replicas).to.equal(1)
      expect((await call('patch', one).send({ computePlan: 'one' })).body.replicas).to.equal(1)
      expect((await call('patch', one).send({ replicas: null })).body.replicas).to.equal(2)
      expect((await call('patch', one).send({ computePlan: 'another', replicas: null })).body.replicas).to.equal(3)
      if (!hasRoute('put', '/x')) return
      expect((await call('put', one).send({ ...body, computePlan: 'one' })).body.replicas).to.equal(3)
    })
  }
}

export function powerTests({ kind, body }: ResourceCase, world: World): void {
  it('stops, starts and restarts', async () => {
    const { base, call, create } = world
    await create()
    const act = (word: string) => call('put', `${base}/${NAME}/actions/${word}`)
    expect((await act('start')).status).to.equal(200)
    expect((await act('stop')).status).to.equal(202)
    expect((await act('stop')).body).to.include({ action: 'stop', changed: false })
    expect((await act('restart')).body.code).to.equal('INVALID_STATE')
    expect((await act('start')).status).to.equal(202)
    expect((await act('restart')).status).to.equal(202)
    const unknown = await act('explode')
    expect([unknown.status, unknown.body.code]).to.deep.equal([400, 'INVALID_ACTION'])
    expect(unknown.body.allowed).to.deep.equal(['start', 'stop', 'restart'])
  })

  const none = scaledToZero({ kind, body })
  if (none === undefined) return
  it('counts as stopped without copies, and starts with at least one of each', async () => {
    const { base, call, server } = world
    server.put(kind, NAME, none, groupNamespace(BOUNDARY, 'shop'))
    const act = (word: string) => call('put', `${base}/${NAME}/actions/${word}`)
    const restart = await act('restart')
    expect([restart.status, restart.body.code], JSON.stringify(restart.body)).to.deep.equal([409, 'INVALID_STATE'])
    expect((await act('start')).status).to.equal(202)
    expect((await act('start')).status).to.equal(200)
    const { replicas, components = [{ replicas }] } = (await call('get', `${base}/${NAME}`)).body
    for (const one of components) expect(one.replicas, JSON.stringify(one)).to.be.at.least(1)
    expect((await act('restart')).status).to.equal(202)
  })
}

/** The minimal body without any copies; undefined for kinds that always have one. */
function scaledToZero({ kind, body }: Pick<ResourceCase, 'kind' | 'body'>): object | undefined {
  const { components } = kind.spec.parse(body) as { components?: object[] }
  const ofComponents = components && { components: components.map((one) => ({ ...one, replicas: 0 })) }
  const none = { ...body, ...(ofComponents ?? { replicas: 0 }) }
  return kind.spec.safeParse(none).success ? none : undefined
}

export function scaleTests({ kind, body, scale: bounds }: ResourceCase, world: World): void {
  it('scales within its bounds', async () => {
    const { base, call, create } = world
    await create()
    const scale = (targetScale: unknown) => call('post', `${base}/${NAME}/scale`).send({ targetScale })
    const { minScale, maxScale } = (await call('get', `${base}/${NAME}/scale`)).body
    expect({ minScale, maxScale }).to.deep.equal(bounds)
    const target = Math.min(3, maxScale)
    const answer = await scale(target)
    expect([answer.status, answer.body.targetScale, answer.body.isScaling]).to.deep.equal([202, target, true])
    expect((await scale(target)).status).to.equal(200)
    for (const bad of [minScale - 1, maxScale + 1, 1.5, '3', null])
      expect((await scale(bad)).status, String(bad)).to.equal(400)
    expect((await call('get', `${base}/${NAME}/scale`)).body).to.include({ targetScale: target, minScale, maxScale })
  })

  it('takes replicas of the plan if a manifest of kubectl has none, also on start', async () => {
    const { base, call, server } = world
    for (const { metadata, spec } of server.caches.get(ComputePlan.resource).list())
      server.put(ComputePlan, metadata.name, { ...(spec as object), replicas: 4 })
    const put = (spec: object) => server.put(kind, NAME, { ...body, ...spec }, groupNamespace(BOUNDARY, 'shop'))
    put({})
    const { replicas } = (await call('get', `${base}/${NAME}`)).body
    expect((await call('get', `${base}/${NAME}/scale`)).body.targetScale).to.equal(replicas)
    if (bounds?.minScale !== 0) return
    put({ replicas: 0, running: false })
    expect((await call('put', `${base}/${NAME}/actions/start`)).status).to.equal(202)
    expect((await call('get', `${base}/${NAME}`)).body.replicas).to.equal(4)
  })

  it('is scaling while it stops, and no longer once it is stopped', async () => {
    const { base, call, create, server } = world
    await create()
    await call('put', `${base}/${NAME}/actions/stop`)
    const scaleUnder = async (reason: string, status: 'True' | 'False', readyReplicas: number) => {
      const kinds = { Ready: status, ...(status === 'False' && { Reconciling: 'True' }) }
      const conditions = Object.entries(kinds).map(([type, is]) => ({ type, status: is, reason, message: '' }))
      const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: NAME }
      const edited = server.client.edit(kind.resource, ref, (object) => {
        Object.assign(object, {
          status: { replicas: 2, readyReplicas, firstReadyAt: '2026-01-01T00:00:00Z', conditions },
        })
      })
      server.caches.get(kind.resource).observeWrite(edited)
      const { currentScale, isScaling } = (await call('get', `${base}/${NAME}/scale`)).body
      return { currentScale, isScaling }
    }
    expect(await scaleUnder('Stopping', 'False', 1)).to.deep.equal({ currentScale: 2, isScaling: true })
    expect(await scaleUnder('Stopped', 'True', 0)).to.deep.equal({ currentScale: 0, isScaling: false })
  })
}
