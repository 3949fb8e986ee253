import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { grantKey, type QuotaGrants } from '../../core/sizing/ledger.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { QuotaLedger } from '../../crds/quotas.ts'

const RG = `/boundaries/${B}/resourcegroups/shop`
const HOME = `${RG}/resources/functionnamespaces/home`
const NAMESPACE = groupNamespace(B, 'shop')

const planOf = (cpu: string, isDefault: boolean) => ({
  family: 'Function',
  displayName: `${cpu} cpu`,
  ...{ cpuRequest: cpu, cpuLimit: cpu, memoryRequest: '128Mi', memoryLimit: '128Mi', isDefault },
})

describe('quota of functions', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.put(ComputePlan, 'function-small', planOf('100m', true))
    server.put(ComputePlan, 'function-large', planOf('1', false))
  })
  afterEach(() => server.stop())

  const limit = (quota: object) =>
    server.client.edit(Boundary.resource, { name: B }, (boundary) => {
      boundary.spec = { ...(boundary.spec as object), quota }
    })
  const send = async (method: 'post' | 'put' | 'patch' | 'delete', path: string, body: object = {}) => {
    const { status, body: answer } = await server.ask(method, `${HOME}${path}`).send(body)
    return { ...answer, status } as Record<string, unknown> & { status: number }
  }
  const makeHome = (more: object = {}) => send('post', '', { runtime: 'nodejs', ...more })
  const make = (name: string, more: object = {}) => send('post', `/functions/${name}`, { handler: 'index', ...more })
  const change = (name: string, more: object = {}) => send('put', `/functions/${name}`, { handler: 'index', ...more })
  const power = (action: 'start' | 'stop') => send('put', `/actions/${action}`)
  const usage = async (path = RG) => (await server.ask('get', path)).body.usage as Record<string, unknown>
  const grants = async (): Promise<QuotaGrants> => {
    const ref = { namespace: boundaryNamespace(B), name: 'quota' }
    return (await server.client.get<KubeObject & QuotaLedger>(QuotaLedger.resource, ref)).spec.grants
  }
  const grantOf = async (name: string) =>
    (await grants())[grantKey(ServerlessFunction.plural, 'shop', functionObjectName('home', name))]
  const stored = async (name: string) => {
    const ref = { namespace: NAMESPACE, name: functionObjectName('home', name) }
    return (await server.client.get<KubeObject & ServerlessFunction>(ServerlessFunction.resource, ref)).spec
  }
  const home = async () => {
    const ref = { namespace: NAMESPACE, name: 'home' }
    return (await server.client.get<KubeObject & FunctionNamespace>(FunctionNamespace.resource, ref)).spec
  }

  it('counts the maximum replicas of functions as pods, and the namespace as one resource', async () => {
    await limit({ pods: 5, resources: 1 })
    expect((await makeHome()).status).to.equal(201)
    expect(await usage()).to.include({ pods: 0, resources: 1, cpu: '0' })
    expect((await make('one')).status).to.equal(201)
    expect(await make('two')).to.deep.include({
      ...{ status: 422, code: 'QUOTA_EXCEEDED', quota: 'pods', limit: 5, used: 5, requested: 5 },
    })
    for (const path of [RG, `/boundaries/${B}`])
      expect(await usage(path)).to.include({ pods: 5, resources: 1, cpu: '500m', memory: '640Mi' })
    const { items } = (await server.ask('get', `${RG}/resources`)).body
    expect(items.map(({ name }: { name: string }) => name)).to.deep.equal(['home'])
    const group = (await server.ask('get', RG)).body
    expect(group).to.deep.include({ resourceCount: 1, resourceCounts: { functionnamespaces: 1 } })
    expect((await server.client.list(ServerlessFunction.resource)).items).to.have.length(1)
  })

  it('rejects more replicas and enabling a function beyond the quota, and keeps the stored spec', async () => {
    await limit({ pods: 5 })
    await makeHome()
    expect((await make('one', { maxReplicas: 4 })).status).to.equal(201)
    expect((await make('off', { maxReplicas: 20, minReplicas: 20, enabled: false })).status).to.equal(201)
    const refused = { status: 422, quota: 'pods', limit: 5, used: 4 }
    expect(await change('one', { maxReplicas: 6 })).to.deep.include({ ...refused, requested: 2 })
    expect(await change('off', { maxReplicas: 20, minReplicas: 20 })).to.deep.include({ ...refused, requested: 20 })
    expect((await stored('one')).maxReplicas).to.equal(4)
    expect((await stored('off')).enabled).to.equal(false)
    expect((await change('one', { maxReplicas: 5 })).status).to.equal(200)
    expect((await change('one', { maxReplicas: 5, timeoutSeconds: 60 })).status).to.equal(200)
  })

  it('uses the plan of the function, that of its namespace, or the default one', async () => {
    await limit({ cpu: '10' })
    await makeHome()
    await make('default')
    await make('own', { computePlan: 'function-large', maxReplicas: 2 })
    expect(await usage()).to.include({ cpu: '2500m' })
    expect((await send('patch', '', { computePlan: 'function-large' })).status).to.equal(200)
    expect(await usage()).to.include({ cpu: '7' })
    expect(await grantOf('default')).to.include({ cpu: '5', pods: 5 })
  })

  it('rejects a new plan of a namespace if all its functions together exceed the quota', async () => {
    await limit({ cpu: '6' })
    await makeHome()
    await make('one', { maxReplicas: 3 })
    await make('two', { maxReplicas: 4 })
    await make('own', { maxReplicas: 10, computePlan: 'function-small' })
    const before = await grants()
    expect(await send('patch', '', { computePlan: 'function-large' })).to.deep.include({
      ...{ status: 422, code: 'QUOTA_EXCEEDED', quota: 'cpu', limit: '6', used: '1700m', requested: '6300m' },
    })
    expect((await home()).computePlan).to.not.equal('function-large')
    expect(await grants()).to.deep.equal(before)
    await change('own', { enabled: false })
    await limit({ cpu: '8' })
    expect((await send('patch', '', { computePlan: 'function-large' })).status).to.equal(200)
    expect(await Promise.all(['one', 'two'].map(async (name) => (await grantOf(name))?.cpu))).to.deep.equal(['3', '4'])
  })

  it('rejects the start of a namespace whose functions exceed the quota', async () => {
    await limit({ pods: 5 })
    await makeHome()
    expect((await power('stop')).status).to.equal(202)
    expect((await make('one', { maxReplicas: 2 })).status).to.equal(201)
    expect((await make('two', { maxReplicas: 4 })).status).to.equal(201)
    expect(await usage()).to.include({ pods: 0 })
    expect(await power('start')).to.deep.include({ status: 422, quota: 'pods', limit: 5, used: 0, requested: 6 })
    expect((await home()).running).to.equal(false)
    expect((await change('two', { maxReplicas: 3 })).status).to.equal(200)
    expect((await power('start')).status).to.equal(202)
    expect(await usage()).to.include({ pods: 5 })
  })

  it('does not give a function the grant that another one has not returned yet', async () => {
    server.put(ComputePlan, 'function-medium', planOf('200m', false))
    await limit({ cpu: '3' })
    await makeHome({ computePlan: 'function-large' })
    await make('one', { maxReplicas: 2 })
    expect((await send('patch', '', { computePlan: 'function-small' })).status).to.equal(200)
    expect((await make('two', { maxReplicas: 10 })).status).to.equal(201)
    expect([(await grantOf('one'))?.cpu, (await grantOf('two'))?.cpu]).to.deep.equal(['2', '1'])
    expect(await send('patch', '', { computePlan: 'function-medium' })).to.deep.include({
      ...{ status: 422, quota: 'cpu', limit: '3', used: '3', requested: '1' },
    })
    expect([(await grantOf('one'))?.cpu, (await grantOf('two'))?.cpu]).to.deep.equal(['2', '1'])
  })

  it('grants the last places to one of several concurrent requests, of functions or namespaces', async () => {
    await limit({ pods: 5 })
    await makeHome()
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => make(name, { maxReplicas: 3 })))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 422, 422])
    const [first = ''] = ['a', 'b', 'c'].filter((_, at) => answers[at]?.status === 201)
    await change(first, { maxReplicas: 3, enabled: false })
    await power('stop')
    await limit({ pods: 3 })
    await change(first, { maxReplicas: 3 })
    const { body: other } = await server
      .ask('post', `${RG}/resources/functionnamespaces/other`)
      .send({ runtime: 'nodejs' })
    expect(other.name).to.equal('other')
    const rivals = await Promise.all([
      power('start').then(({ status }) => status),
      server
        .ask('post', `${RG}/resources/functionnamespaces/other/functions/rival`)
        .send({ handler: 'index', maxReplicas: 3 })
        .then(({ status }) => status),
    ])
    expect(
      rivals.filter((status) => status === 422),
      rivals.join(),
    ).to.have.length(1)
  })

  it('does not count a function that kubectl created beyond the quota, even after a change of plan', async () => {
    await limit({ cpu: '2' })
    await makeHome()
    await make('one', { maxReplicas: 2 })
    const spec = { namespaceName: 'home', functionName: 'huge', handler: 'index', maxReplicas: 50 }
    server.put(ServerlessFunction, functionObjectName('home', 'huge'), spec, NAMESPACE)
    expect(await usage()).to.include({ pods: 2, cpu: '200m' })
    expect((await send('patch', '', { computePlan: 'function-large' })).status).to.equal(200)
    expect(await usage()).to.include({ pods: 2, cpu: '2' })
    expect(await grantOf('huge')).to.equal(undefined)
  })

  it('does not count functions that wait for quota in the usage of a group', async () => {
    await limit({ pods: 5 })
    await makeHome()
    await make('one')
    await server.ask('post', `/boundaries/${B}/resourcegroups/other`).send({})
    const other = groupNamespace(B, 'other')
    server.put(FunctionNamespace, 'late', { runtime: 'nodejs' }, other)
    const spec = { namespaceName: 'late', functionName: 'huge', handler: 'index', maxReplicas: 3 }
    server.put(ServerlessFunction, functionObjectName('late', 'huge'), spec, other)
    expect(await usage(`/boundaries/${B}`)).to.include({ pods: 5 })
    expect(await usage(`/boundaries/${B}/resourcegroups/other`)).to.include({ pods: 0 })
  })
})
