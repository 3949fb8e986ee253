import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { ACTIONS_OF_SECRETS } from '../../contracts/namespaceSecrets.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { SecretVault } from '../../crds/vaults.ts'

const GROUP = `/boundaries/${B}/resourcegroups/shop`
const HOME = `${GROUP}/resources/functionnamespaces/home`
const NAMESPACE = groupNamespace(B, 'shop')
const CONTRIBUTOR = '33333333-3333-4333-8333-333333333333'
/** Writes functions, and reads the secrets of every vault. */
const READER = '44444444-4444-4444-8444-444444444444'
/** Writes functions, and reads the secrets of one vault. */
const HOLDER = '55555555-5555-4555-8555-555555555555'
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }
const FILES = { files: [{ path: 'index.mjs', content: "export default () => new Response('Hello')" }] }
const ALL = [...ACTIONS_OF_SECRETS.keys()]
/** A Contributor may read the secrets of databases. */
const CONTRIBUTED = ALL.filter((each) => each !== 'managedidentities' && each !== 'secretvaults')

/** A facade with a vault. All callers may write functions; they differ in which secrets they may read. */
async function startWithVault() {
  const server = await startShop(
    {},
    { functions: { blobs: fakeBlobs(), calls: localActivatorClient(() => undefined) } },
  )
  server.put(ComputePlan, 'function-small', { family: 'Function', displayName: 'F', ...SIZES, isDefault: true })
  for (const one of [CONTRIBUTOR, READER, HOLDER]) server.grant(one, 'Contributor', GROUP)
  server.grant(READER, 'Secrets Reader', GROUP)
  server.put(SecretVault, 'keys', {}, NAMESPACE)
  server.grant(HOLDER, 'Secrets Reader', `${GROUP}/resources/secretvaults/keys`)
  return server
}

describe('namespaceSecrets of a function', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startWithVault()
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs' }, NAMESPACE)
  })
  afterEach(() => server.stop())

  const stored = async () => {
    const ref = { namespace: NAMESPACE, name: functionObjectName('home', 'hello') }
    const { spec } = await server.client.get<ServerlessFunction & { metadata: object }>(
      ServerlessFunction.resource,
      ref as never,
    )
    return spec.namespaceSecrets
  }
  async function send(method: 'post' | 'put', path: string, body: object, as?: string) {
    const { status, body: answer } = await server.ask(method, `${HOME}/${path}`, as).send(body)
    expect(status, JSON.stringify(answer)).to.be.lessThan(300)
    return answer
  }
  const make = (as?: string) => send('post', 'functions/hello', { handler: 'index' }, as)
  const env = [{ name: 'KEY', secret: { vaultName: 'keys', secretName: 'Key' } }]

  const makers: [who: string, as: string | undefined, expected: string[]][] = [
    ['an Owner', undefined, ALL],
    ['a Contributor', CONTRIBUTOR, CONTRIBUTED],
    ['a reader of all vaults', READER, ['secretvaults', ...CONTRIBUTED]],
    ['a reader of one vault', HOLDER, CONTRIBUTED],
  ]
  for (const [who, as, expected] of makers)
    it(`lists what the creator may read, and is not returned: ${who}`, async () => {
      expect(await make(as)).to.not.have.property('namespaceSecrets')
      expect(await stored()).to.deep.equal(expected)
    })

  it('lists the one vault that the creator may read if the namespace refers to it', async () => {
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs', env }, NAMESPACE)
    await make(HOLDER)
    expect(await stored()).to.deep.equal([...CONTRIBUTED, 'secretvaults/keys'])
  })

  it('lists 200 single vaults of the namespace if a deny assignment covers another vault', async () => {
    const vaults = Array.from({ length: 200 }, (_, at) => `safe-${at}`)
    for (const vault of vaults) server.put(SecretVault, vault, {}, NAMESPACE)
    const variables = vaults.map((vaultName, at) => ({ name: `KEY_${at}`, secret: { vaultName, secretName: 'Key' } }))
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs', env: variables }, NAMESPACE)
    const deny = {
      actions: [],
      dataActions: ['secretvault/readSecrets'],
      scope: `${GROUP}/resources/secretvaults/keys`,
    }
    const principal = { principalId: READER, principalType: 'User', scopeIncarnation: 'life' }
    server.put(DenyAssignment, crypto.randomUUID(), { ...deny, ...principal }, boundaryNamespace(B))
    await make(READER)
    expect(await stored()).to.deep.equal([...CONTRIBUTED, ...vaults.map((vault) => `secretvaults/${vault}`)])
  })

  const changes: [
    sentence: string,
    as: string | undefined,
    method: 'post' | 'put',
    path: string,
    body: object,
    expected: string[],
  ][] = [
    ['a timeout by a Contributor', CONTRIBUTOR, 'put', 'functions/hello', { handler: 'index', timeoutSeconds: 9 }, ALL],
    ['another handler by an Owner', undefined, 'put', 'functions/hello', { handler: 'other' }, ALL],
    ['source by an Owner', undefined, 'post', 'functions/hello/source', FILES, ALL],
    ['another handler by a Contributor', CONTRIBUTOR, 'put', 'functions/hello', { handler: 'other' }, CONTRIBUTED],
    ['source by a Contributor', CONTRIBUTOR, 'post', 'functions/hello/source', FILES, CONTRIBUTED],
    [
      'source by a reader of all vaults',
      READER,
      'post',
      'functions/hello/source',
      FILES,
      ['secretvaults', ...CONTRIBUTED],
    ],
  ]
  for (const [sentence, as, method, path, body, expected] of changes)
    it(`shrinks only with new code by a caller who may read less: ${sentence}`, async () => {
      await make()
      await send(method, path, body, as)
      expect(await stored()).to.deep.equal(expected)
    })

  it('does not grow by a change of a caller who may read more', async () => {
    await make(CONTRIBUTOR)
    await send('put', 'functions/hello', { handler: 'other' })
    await send('post', 'functions/hello/source', FILES)
    expect(await stored()).to.deep.equal(CONTRIBUTED)
  })

  it('limits a deployment to what the reporter of its image may read', async () => {
    await make()
    const records = async () => {
      const { items } = await server.client.list<DeploymentRecord & { metadata: { name: string } }>(
        DeploymentRecord.resource as never,
      )
      return items.map(({ spec }) => spec.namespaceSecrets)
    }
    const { id } = await send('post', 'deployments', { source: 'functions/hello', phase: 'Building' })
    expect(await records()).to.deep.equal([undefined])
    const image = { phase: 'Deploying', containerImage: 'docker.io/library/hello:1' }
    await send('put', `deployments/${id}`, image, CONTRIBUTOR)
    expect(await records()).to.deep.equal([CONTRIBUTED])
    await send('put', `deployments/${id}`, { ...image, phase: 'Succeeded' })
    expect(await records()).to.deep.equal([CONTRIBUTED])
  })
})

describe('functionSecrets of a function namespace', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startWithVault()
  })
  afterEach(() => server.stop())

  const env = [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,' }]
  const more = [...env, { name: 'STAGE', value: 'test' }]
  const put = (spec: object = {}) => server.put(FunctionNamespace, 'home', { runtime: 'nodejs', ...spec }, NAMESPACE)
  /** A function with a secret of a vault. */
  const secretive = (namespaceName = 'home') =>
    server.put(
      ServerlessFunction,
      functionObjectName(namespaceName, 'hello'),
      {
        ...{ namespaceName, functionName: 'hello', handler: 'index' },
        env: [{ name: 'KEY', secret: { vaultName: 'keys', secretName: 'Key' } }],
      },
      NAMESPACE,
    )
  const stored = async () => {
    const ref = { namespace: NAMESPACE, name: 'home' }
    const { spec } = (await server.client.get(FunctionNamespace.resource, ref)) as unknown as FunctionNamespace
    return spec.functionSecrets
  }
  const NAMED = ALL.filter((each) => each !== 'managedidentities')

  const makers: [who: string, as: string | undefined, expected: string[]][] = [
    ['an Owner', undefined, NAMED],
    ['a Contributor', CONTRIBUTOR, CONTRIBUTED],
    ['a reader of all vaults', READER, ['secretvaults', ...CONTRIBUTED]],
  ]
  for (const [who, as, expected] of makers)
    it(`lists what the writer of the variables may read, and is not returned: ${who}`, async () => {
      const { status, body } = await server.ask('post', HOME, as).send({ runtime: 'nodejs', env })
      expect(status, JSON.stringify(body)).to.equal(201)
      expect(body).to.not.have.property('functionSecrets')
      expect(await stored()).to.have.members(expected)
    })

  it('lists the one vault that the writer may read if a function refers to it', async () => {
    put()
    secretive()
    expect((await server.ask('patch', HOME, HOLDER).send({ env })).status).to.equal(200)
    expect(await stored()).to.have.members([...CONTRIBUTED, 'secretvaults/keys'])
  })

  const changes: [sentence: string, as: string | undefined, body: object, status: number][] = [
    ['may not read the secrets of a function and adds a variable', CONTRIBUTOR, { env: more }, 403],
    ['may not read the secrets of a function and removes a variable', CONTRIBUTOR, { env: env.slice(1) }, 200],
    ['may not read the secrets of a function and changes another field', CONTRIBUTOR, { maxConcurrency: 7 }, 200],
    ['may read the secrets of a function and adds a variable', READER, { env: more }, 200],
  ]
  for (const [sentence, as, body, status] of changes)
    it(`returns ${status} to a caller who ${sentence}`, async () => {
      put({ env, functionSecrets: NAMED })
      secretive()
      for (const method of ['patch', 'put'] as const)
        if (method === 'patch' || 'env' in body)
          expect((await server.ask(method, HOME, as).send(body)).status, method).to.equal(status)
    })

  it('returns 400 if the functions refer to more single vaults than the list may have', async () => {
    put()
    for (const name of ['one', 'two']) {
      const variables = Array.from({ length: 101 }, (_, at) => {
        const vaultName = `${name}-${at}`
        server.put(SecretVault, vaultName, {}, NAMESPACE)
        server.grant(HOLDER, 'Secrets Reader', `${GROUP}/resources/secretvaults/${vaultName}`)
        return { name: `KEY_${at}`, secret: { vaultName, secretName: 'Key' } }
      })
      const spec = { namespaceName: 'home', functionName: name, handler: 'index', env: variables }
      server.put(ServerlessFunction, functionObjectName('home', name), spec, NAMESPACE)
    }
    const { status, body } = await server.ask('patch', HOME, HOLDER).send({ env })
    expect([status, body.errors?.[0]?.field]).to.deep.equal([400, 'env'])
    expect((await server.ask('patch', HOME).send({ env })).status, 'an Owner').to.equal(200)
  })

  it('ignores functions of other namespaces', async () => {
    put()
    secretive('elsewhere')
    expect((await server.ask('patch', HOME, CONTRIBUTOR).send({ env })).status).to.equal(200)
  })

  it('grows only if all variables are of the caller', async () => {
    put({ env, functionSecrets: [] })
    await server.ask('patch', HOME).send({ env: more })
    expect(await stored()).to.deep.equal([])
    await server.ask('patch', HOME).send({ env: [] })
    await server.ask('patch', HOME).send({ env: more })
    expect(await stored()).to.have.members(NAMED)
    await server.ask('patch', HOME, CONTRIBUTOR).send({ env })
    expect(await stored()).to.have.members(CONTRIBUTED)
    await server.ask('patch', HOME).send({ env: more })
    expect(await stored()).to.have.members(CONTRIBUTED)
  })
})
