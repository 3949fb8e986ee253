import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ComputePlan } from '../../crds/plans.ts'

const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }

describe('computePlan of a function', () => {
  it('is null unless the function sets one', async () => {
    const server = await startShop()
    for (const name of ['function-small', 'function-large'])
      server.put(ComputePlan, name, { family: 'Function', displayName: name, ...SIZES, isDefault: /small/.test(name) })
    const base = `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/home`
    const send = (method: 'post' | 'put', path: string, body: object) => server.ask(method, `${base}${path}`).send(body)
    await send('post', '', { runtime: 'nodejs', computePlan: 'function-large' })
    const plans = [
      await send('post', '/functions/hello', { handler: 'index' }),
      await send('put', '/functions/hello', { handler: 'index', computePlan: 'function-small' }),
      await send('put', '/functions/hello', { handler: 'index', computePlan: null }),
    ].map(({ body }) => body.computePlan)
    await server.stop()
    expect(plans).to.deep.equal([null, 'function-small', null])
  })
})

describe('a function created with kubectl', () => {
  it('returns 200 for a POST of its own record and 409 for a different one', async () => {
    const server = await startShop()
    const namespace = groupNamespace(B, 'shop')
    server.put(ComputePlan, 'function-small', { family: 'Function', displayName: 'F', ...SIZES, isDefault: true })
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs' }, namespace)
    const spec = { namespaceName: 'home', functionName: 'hello', handler: 'index' }
    server.put(ServerlessFunction, functionObjectName('home', 'hello'), spec, namespace)
    const path = `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/home/functions/hello`
    const { body } = await server.ask('get', path)
    const answers = [body, { handler: 'index' }, { ...body, handler: 'other' }].map((sent) =>
      server.ask('post', path).send(sent),
    )
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    await server.stop()
    expect(statuses, JSON.stringify(body)).to.deep.equal([200, 200, 409])
  })
})

describe('function namespaces over REST', () => {
  it('returns HOST_TAKEN with the field for a host of another namespace', async () => {
    const server = await startShop()
    server.put(ComputePlan, 'function-small', {
      family: 'Function',
      displayName: 'Function',
      ...SIZES,
      isDefault: true,
    })
    const make = (name: string) =>
      server
        .ask('post', `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/${name}`)
        .send({ runtime: 'nodejs', customDomains: ['calls.example.com'] })
    const first = await make('first')
    const { status, body } = await make('second')
    await server.stop()
    expect(first.status, JSON.stringify(first.body)).to.equal(201)
    expect([status, body.code, body.field]).to.deep.equal([409, 'HOST_TAKEN', 'customDomains'])
  })

  it('returns 200 for a POST of the same record, and keeps the runtime in a PUT without it', async () => {
    const server = await startShop()
    server.put(ComputePlan, 'function-small', { family: 'Function', displayName: 'F', ...SIZES, isDefault: true })
    const path = `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/first`
    const made = await server.ask('post', path).send({ runtime: 'nodejs' })
    const again = await server.ask('post', path).send(made.body)
    const put = await server.ask('put', path).send({ maxConcurrency: 5 })
    const wrong = await server.ask('put', path).send({ managedIdentity: 'yes' })
    await server.stop()
    expect([made.status, again.status, put.status, put.body.runtime]).to.deep.equal([201, 200, 200, 'nodejs'])
    expect([wrong.status, wrong.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
  })
})
