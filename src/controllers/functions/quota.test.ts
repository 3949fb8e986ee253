import { expect } from 'chai'
import { BOUNDARY_ID, GROUP, HOME, OUTER, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionNames, functionObjectName } from '../../contracts/functions.ts'
import type { KubeObject } from '../../core/object.ts'
import { grantKey } from '../../core/sizing/ledger.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import { deployment, pod } from '../../kube/builtin.ts'

const SHOP = 'shop'
const nameOf = (name: string) => functionObjectName(SHOP, name)
const plan = (cpu: string, isDefault: boolean) => ({
  family: 'Function',
  displayName: `${cpu} cpu`,
  ...{ cpuRequest: cpu, cpuLimit: cpu, memoryRequest: '128Mi', memoryLimit: '128Mi', isDefault },
})

describe('quotas of functions created with kubectl', () => {
  let world: World

  const begin = async (quota: object) => {
    const names = ['functionnamespace', 'serverlessfunction']
    world = new World((all) => all.filter(({ name }) => names.includes(name)))
    seedGroup(world.server)
    limit(quota)
    for (const found of [...world.server.stored(ComputePlan.resource)])
      if ((found.spec as ComputePlan['spec']).family === 'Function')
        world.server.edit(ComputePlan.resource, found.metadata, (object) => {
          Object.assign(object.spec as object, { isDefault: false })
        })
    await world.make(ComputePlan, 'small', plan('100m', true))
    await world.make(ComputePlan, 'large', plan('1', false))
    await world.lead()
    await world.make(FunctionNamespace, SHOP, { runtime: 'nodejs' })
  }
  afterEach(() => world.stop())

  const limit = (quota: object) =>
    world.server.edit(Boundary.resource, { name: BOUNDARY_ID }, (boundary) => {
      boundary.spec = { ...(boundary.spec as object), quota }
    })
  const make = (name: string, more: object = {}) =>
    world.make(ServerlessFunction, nameOf(name), {
      ...{ namespaceName: SHOP, functionName: name, handler: 'index', image: `${name}:1`, ...more },
    })
  const change = (name: string, spec: object) => world.change(ServerlessFunction, nameOf(name), spec)
  const calls = (name: string, desiredReplicas: number) => {
    const ref = { namespace: HOME, name: nameOf(name) }
    const status = { status: { desiredReplicas } }
    return world.server.mergePatch(ServerlessFunction.resource, ref, status, { subresource: 'status' })
  }
  const statusOf = async (name: string) =>
    ((await world.find(ServerlessFunction.resource, nameOf(name)))?.status ?? {}) as Record<string, unknown>
  const says = (name: string, phase: string) =>
    world.until(`${name} is ${phase}`, async () => (await statusOf(name)).phase === phase)
  const copies = async (name: string) => {
    const found = await world.find(deployment, functionNames(nameOf(name)).workload)
    return (found?.spec as { replicas?: number } | undefined)?.replicas
  }
  const grantOf = (plural: string, name: string) => {
    const [ledger] = [...world.server.stored(QuotaLedger.resource)] as unknown as QuotaLedger[]
    return ledger?.spec.grants[grantKey(plural, GROUP, name)]
  }
  const grant = (name: string) => grantOf(ServerlessFunction.plural, nameOf(name))

  it('admit functions whose maxReplicas fit and the others when there is room', async () => {
    await begin({ pods: 5, resources: 1 })
    await make('one')
    await says('one', 'Available')
    await make('two', { minReplicas: 3 })
    await says('two', 'QuotaExceeded')
    expect((await statusOf('two')).statusMessage).to.equal(
      "The boundary's quota of pods is 5; 5 is used and 5 more was requested.",
    )
    expect(await copies('two')).to.equal(undefined)
    expect(grantOf(FunctionNamespace.plural, SHOP)).to.include({ pods: 0, cpu: '0' })
    await world.pass(60_000)
    await change('one', { enabled: false })
    await says('two', 'Available')
    expect(await copies('two')).to.equal(3)
    await change('one', { enabled: true })
    await says('one', 'QuotaExceeded')
    await world.remove(ServerlessFunction, nameOf('two'))
    await says('one', 'Available')
    expect(grant('two')).to.equal(undefined)
  })

  it('keep the granted copies of a function whose increase was rejected', async () => {
    await begin({ pods: 5, cpu: '1' })
    await make('one', { maxReplicas: 4 })
    await says('one', 'Available')
    await change('one', { maxReplicas: 20, minReplicas: 1 })
    await says('one', 'QuotaExceeded')
    for (const [asked, expected] of [
      [3, 3],
      [20, 4],
      [0, 1],
    ] as const) {
      await calls('one', asked)
      await world.pass(10_000)
      expect(await copies('one')).to.equal(expected)
    }
    expect(grant('one')).to.include({ pods: 4 })
    expect(await statusOf('one')).to.include({ replicas: 1, status: 'Degraded' })
  })

  it('limit the copies of a new plan to its grant after an increase was rejected', async () => {
    await begin({ pods: 5, cpu: '2' })
    await make('one', { maxReplicas: 5 })
    await says('one', 'Available')
    await change('one', { computePlan: 'large', maxReplicas: 2 })
    await world.until('the new plan is there', () => grant('one')?.cpu === '2')
    await world.rest()
    await change('one', { maxReplicas: 40 })
    await says('one', 'QuotaExceeded')
    await calls('one', 40)
    await world.pass(60_000)
    expect(await copies('one')).to.equal(2)
  })

  it('check each function when its namespace gets a larger plan and keep other functions running', async () => {
    await begin({ cpu: '4' })
    await make('one', { maxReplicas: 3, minReplicas: 1 })
    await make('two', { maxReplicas: 3, minReplicas: 1 })
    await make('own', { maxReplicas: 2, minReplicas: 1, computePlan: 'small' })
    for (const name of ['one', 'two', 'own']) await says(name, 'Available')
    await world.pass(60_000)
    await world.change(FunctionNamespace, SHOP, { computePlan: 'large' })
    const phases = async () => Promise.all(['one', 'two'].map(async (name) => (await statusOf(name)).phase))
    await world.until('one of them fits', async () => (await phases()).sort().join() === 'Available,QuotaExceeded')
    await says('own', 'Available')
    const refused = (await phases())[0] === 'QuotaExceeded' ? 'one' : 'two'
    expect(await copies(refused)).to.equal(1)
    expect(grant(refused)).to.include({ cpu: '300m', pods: 3 })
    await world.change(FunctionNamespace, SHOP, { computePlan: 'small' })
    for (const name of ['one', 'two']) await says(name, 'Available')
    await world.pass(60_000)
    expect([grant('one')?.cpu, grant('two')?.cpu]).to.deep.equal(['300m', '300m'])
  })

  it('count nothing for a stopped namespace without copies and check its start', async () => {
    await begin({ pods: 3 })
    await make('one', { maxReplicas: 3, minReplicas: 2 })
    await says('one', 'Available')
    await world.pass(60_000)
    await world.change(FunctionNamespace, SHOP, { running: false })
    await says('one', 'Stopped')
    await world.until('nothing is held', () => grant('one')?.pods === 0)
    await world.make(FunctionNamespace, 'other', { runtime: 'nodejs' })
    const spec = { namespaceName: 'other', functionName: 'two', handler: 'index', image: 'two:1', maxReplicas: 2 }
    await world.make(ServerlessFunction, functionObjectName('other', 'two'), spec)
    await world.until('the other runs', () => world.isReady(ServerlessFunction, functionObjectName('other', 'two')))
    await world.change(FunctionNamespace, SHOP, { running: true })
    await says('one', 'QuotaExceeded')
    expect(await copies('one')).to.equal(0)
    await world.remove(ServerlessFunction, functionObjectName('other', 'two'))
    await says('one', 'Available')
    expect(await copies('one')).to.equal(2)
  })

  it('check functions that were created in a stopped namespace when it starts', async () => {
    await begin({ pods: 4 })
    await world.change(FunctionNamespace, SHOP, { running: false })
    for (const name of ['one', 'two']) {
      await make(name, { minReplicas: 2, maxReplicas: 3 })
      await says(name, 'Stopped')
    }
    expect([grant('one')?.pods, grant('two')?.pods]).to.deep.equal([0, 0])
    await world.change(FunctionNamespace, SHOP, { running: true })
    await world.until('one of them fits, and the other waits', async () => {
      const phases = await Promise.all(['one', 'two'].map(async (name) => (await statusOf(name)).phase))
      return phases.sort().join() === 'Available,QuotaExceeded'
    })
  })

  it('admit functions from before the limit and reject any increase', async () => {
    await begin({})
    await make('one', { maxReplicas: 10 })
    await make('asleep', { maxReplicas: 10 })
    await says('one', 'Available')
    await says('asleep', 'Available')
    limit({ pods: 3 })
    // As an earlier version stored it: a namespace counted as one pod, functions not at all.
    world.server.seed(QuotaLedger.resource, {
      apiVersion: QuotaLedger.apiVersion,
      kind: QuotaLedger.kind,
      metadata: { name: 'quota', namespace: OUTER },
      spec: {
        grants: {
          [grantKey(FunctionNamespace.plural, GROUP, SHOP)]: {
            ...{ cpu: '100m', memory: '128Mi', storage: '0', pods: 1, at: '2025-01-01T00:00:00Z' },
          },
        },
      },
    } as KubeObject)
    await world.pass(60_000)
    expect([grant('one')?.pods, grant('asleep')?.pods]).to.deep.equal([10, 10])
    expect(grantOf(FunctionNamespace.plural, SHOP)).to.include({ cpu: '0', pods: 0 })
    await calls('one', 7)
    await world.pass(60_000)
    expect(await copies('one')).to.equal(7)
    await make('new', { maxReplicas: 1 })
    await says('new', 'QuotaExceeded')
    await change('one', { maxReplicas: 11 })
    await says('one', 'QuotaExceeded')
    await change('one', { maxReplicas: 2 })
    await says('one', 'Available')
    await change('asleep', { enabled: false })
    await says('new', 'Available')
  })

  it('keep a grant until the last copy has finished its calls', async () => {
    await begin({ pods: 2 })
    await make('one', { maxReplicas: 2, minReplicas: 1 })
    await says('one', 'Available')
    await world.pass(60_000)
    const [copy] = [...world.server.stored(pod)]
    // A pod that still serves a call.
    world.server.edit(pod, copy?.metadata as never, ({ metadata }) => {
      metadata.finalizers = ['test/call']
    })
    await make('two', { maxReplicas: 1 })
    await says('two', 'QuotaExceeded')
    await world.change(ServerlessFunction, nameOf('one'), { enabled: false })
    await world.pass(60_000)
    await says('two', 'QuotaExceeded')
    await world.remove(ServerlessFunction, nameOf('one'))
    await world.pass(60_000)
    await says('two', 'QuotaExceeded')
    await world.server.mergePatch(pod, copy?.metadata as never, { metadata: { finalizers: null } })
    await says('two', 'Available')
  })

  it('count nothing for a function disabled before the limit and reject its start', async () => {
    await begin({})
    await make('huge', { maxReplicas: 20 })
    await says('huge', 'Available')
    await change('huge', { enabled: false })
    await says('huge', 'Stopped')
    limit({ pods: 5 })
    await world.pass(60_000)
    await change('huge', { enabled: true })
    await says('huge', 'QuotaExceeded')
    await make('new', { maxReplicas: 3 })
    await says('new', 'Available')
  })

  it('keep and count the copies of a function that was changed together with the limit', async () => {
    await begin({})
    await make('one', { maxReplicas: 4, minReplicas: 2 })
    await says('one', 'Available')
    limit({ pods: 6 })
    await change('one', { maxReplicas: 20 })
    await says('one', 'QuotaExceeded')
    expect(await copies('one')).to.equal(2)
    await make('fits', { maxReplicas: 3 })
    await says('fits', 'Available')
    await make('more', { maxReplicas: 2 })
    await says('more', 'QuotaExceeded')
    await calls('one', 20)
    await world.pass(60_000)
    expect(await copies('one')).to.equal(2)
    await change('one', { enabled: false })
    await says('more', 'Available')
  })

  it('count nothing for a function without code', async () => {
    await begin({})
    await make('empty', { maxReplicas: 20, image: undefined })
    await says('empty', 'Stopped')
    limit({ pods: 5 })
    await says('empty', 'QuotaExceeded')
    await make('new', { maxReplicas: 3 })
    await says('new', 'Available')
    await change('empty', { maxReplicas: 2 })
    await says('empty', 'Stopped')
    await make('more', { maxReplicas: 1 })
    await says('more', 'QuotaExceeded')
  })

  it('check a function again long after its grant', async () => {
    await begin({ pods: 3 })
    await make('one', { maxReplicas: 1 })
    await says('one', 'Available')
    const late = { cpu: '300m', memory: '384Mi', storage: '0', pods: 3, at: '2025-01-01T00:00:00Z' }
    const grants = { [grantKey(ServerlessFunction.plural, GROUP, nameOf('late'))]: late }
    await world.server.mergePatch(QuotaLedger.resource, { name: 'quota', namespace: OUTER }, { spec: { grants } })
    await make('two', { maxReplicas: 2 })
    await says('two', 'Available')
    await make('late', { maxReplicas: 3 })
    await says('late', 'QuotaExceeded')
  })

  it('count nothing for a function without a namespace', async () => {
    await begin({ pods: 3 })
    const spec = { namespaceName: 'late', functionName: 'two', handler: 'index', image: 'two:1', maxReplicas: 3 }
    await world.make(ServerlessFunction, functionObjectName('late', 'two'), spec)
    await make('one', { maxReplicas: 3 })
    await says('one', 'Available')
    await world.make(FunctionNamespace, 'late', { runtime: 'nodejs' })
    await world.until('it waits', async () => {
      const found = await world.find(ServerlessFunction.resource, functionObjectName('late', 'two'))
      return (found?.status as { phase?: string } | undefined)?.phase === 'QuotaExceeded'
    })
  })
})
