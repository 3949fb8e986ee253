import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ComputePlan } from '../../crds/plans.ts'

const GROUP = `/boundaries/${B}/resourcegroups/shop`
const BASE = `${GROUP}/resources/functionnamespaces`
const NAMESPACE = groupNamespace(B, 'shop')
/** May write everything in the group but read no credentials of it. */
const CONTRIBUTOR = '33333333-3333-4333-8333-333333333333'
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }
const NODE = { runtime: 'nodejs' }
const FILES = [{ path: 'index.mjs', content: "export default () => new Response('Hello')" }]
const REPORT = { source: 'functions/hello', phase: 'Deploying', containerImage: 'docker.io/library/hello:1' }

describe('managed identity of a function namespace', () => {
  let server: Awaited<ReturnType<typeof startShop>>

  beforeEach(async () => {
    server = await startShop({}, { functions: { blobs: fakeBlobs(), calls: localActivatorClient(() => undefined) } })
    server.put(ComputePlan, 'function-small', { family: 'Function', displayName: 'F', ...SIZES, isDefault: true })
    server.grant(CONTRIBUTOR, 'Contributor', GROUP)
    for (const [name, managedIdentity] of [['known', true] as const, ['nobody', false] as const]) {
      server.put(FunctionNamespace, name, { ...NODE, managedIdentity }, NAMESPACE)
      const spec = { namespaceName: name, functionName: 'hello', handler: 'index' }
      server.put(ServerlessFunction, functionObjectName(name, 'hello'), spec, NAMESPACE)
    }
  })
  afterEach(() => server.stop())

  it('defaults to false, is set by PATCH and reset by PUT', async () => {
    const made = await server.ask('post', `${BASE}/first`).send(NODE)
    const patched = await server.ask('patch', `${BASE}/first`).send({ managedIdentity: true })
    const replaced = await server.ask('put', `${BASE}/first`).send(NODE)
    const shown = [made, patched, replaced].map(({ status, body }) => [status, body.managedIdentity])
    expect(shown).to.deep.equal([
      [201, false],
      [200, true],
      [200, false],
    ])
  })

  type Case = [sentence: string, expected: number, method: 'post' | 'put' | 'patch', path: string, body: object]
  const code: Case[] = [
    ['creates a namespace with an identity', 403, 'post', 'new', { ...NODE, managedIdentity: true }],
    ['creates a namespace without an identity', 201, 'post', 'new', NODE],
    ['adds an identity with PATCH', 403, 'patch', 'nobody', { managedIdentity: true }],
    ['adds an identity with PUT', 403, 'put', 'nobody', { ...NODE, managedIdentity: true }],
    [
      'changes the variables of a namespace with an identity',
      403,
      'patch',
      'known',
      { env: [{ name: 'NODE_OPTIONS', value: '-v' }] },
    ],
    ['changes maxConcurrency', 200, 'patch', 'known', { maxConcurrency: 7 }],
    ['removes the identity', 200, 'patch', 'known', { managedIdentity: false }],
    ['creates a function in a namespace with an identity', 403, 'post', 'known/functions/more', { handler: 'index' }],
    [
      'creates a function in a namespace without an identity',
      201,
      'post',
      'nobody/functions/more',
      { handler: 'index' },
    ],
    ['changes the handler of a function', 403, 'put', 'known/functions/hello', { handler: 'other' }],
    ['changes the timeout of a function', 200, 'put', 'known/functions/hello', { handler: 'index', timeoutSeconds: 9 }],
    ['uploads source', 403, 'post', 'known/functions/hello/source', { files: FILES }],
    [
      'uploads source to a namespace without an identity',
      200,
      'post',
      'nobody/functions/hello/source',
      { files: FILES },
    ],
    ['reports an image', 403, 'post', 'known/deployments', REPORT],
    ['reports an image to a namespace without an identity', 201, 'post', 'nobody/deployments', REPORT],
  ]
  for (const [sentence, expected, method, path, body] of code)
    it(`returns ${expected} to a caller without readSecrets of identities who ${sentence}`, async () => {
      const answer = await server.ask(method, `${BASE}/${path}`, CONTRIBUTOR).send(body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(expected)
      if (expected === 403) expect(JSON.stringify(answer.body)).to.contain('managedidentities/readSecrets')
    })
})
