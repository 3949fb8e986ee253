import { expect } from 'chai'
import { BOUNDARY_ID, OUTER, GROUP as SHOP, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { executionSecretName, valueSecretName } from '../../contracts/blueprints/executions.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { groupNamespace } from '../../core/names.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'

const ID = 'aaaaaaaa-0000-4000-8000-000000000001'

describe('BlueprintExecution controller', () => {
  let world: World
  afterEach(() => world.stop())

  it('fails when a component that it waits for is deleted and does not recreate it', async () => {
    // Without the controller of vaults the vault is never ready.
    world = new World((all) => all.filter(({ name }) => name === 'blueprintexecution'))
    seedGroup(world.server)
    await world.lead()
    const step = { component: 'safe', collection: 'secretvaults', resourceName: 'safe', objectName: 'safe', body: '{}' }
    const head = { slug: 'one', blueprintName: 'One', version: '1.0.0', name: 'one', resourceGroup: SHOP }
    const steps = [{ ...step, manifest: JSON.stringify(SecretVault.spec.parse({})) }]
    const spec = { ...head, clusterId: ID, startedBy: ID, parameters: {}, steps }
    await world.make(BlueprintExecution, ID, spec, OUTER)
    const vaults = () => [...world.server.stored(SecretVault.resource)]
    const status = async () =>
      (await world.find(BlueprintExecution.resource, ID, OUTER))?.status as BlueprintExecution['status']
    await world.pass(10_000)
    expect([vaults().length, (await status())?.state]).to.deep.equal([1, 'Running'])
    const ref = { namespace: groupNamespace(BOUNDARY_ID, SHOP), name: 'safe' }
    await world.server.remove(SecretVault.resource, ref)
    await world.pass(10_000)
    expect(vaults()).to.deep.equal([])
    expect(await status()).to.include({
      state: 'Failed',
      message: 'Component "safe": "safe" of secretvaults was deleted while the deployment was under way.',
    })
  })

  async function whereOneFails(space: string): Promise<void> {
    await world.server.remove(SecretVault.resource, { namespace: space, name: 'safe' })
    await world.pass(10_000)
    const found = (await world.find(BlueprintExecution.resource, ID, OUTER))?.status
    expect(found).to.include({ state: 'Failed' })
  }

  async function whereItIsDeleted(): Promise<void> {
    await world.remove(BlueprintExecution, ID, OUTER)
    await world.rest()
    expect(await world.isGone(BlueprintExecution, ID, OUTER)).to.equal(true)
  }

  for (const [sentence, end] of [
    ['after a component failed', whereOneFails],
    ['after the execution was deleted', whereItIsDeleted],
  ] as const)
    it(`removes the Secret of a value on its way into a vault ${sentence}`, async () => {
      // Without the controllers of vaults the value is never taken.
      world = new World((all) => all.filter(({ name }) => name === 'blueprintexecution'))
      seedGroup(world.server)
      await world.lead()
      const entry = entryName('safe', 'Token')
      const step = (component: string, collection: string, objectName: string, more: object) => ({
        ...{ component, collection, resourceName: component, objectName, body: '{}', ...more },
      })
      const fed = {
        vaultName: 'safe',
        secretName: 'Token',
        valueFrom: { secretName: valueSecretName(entry), key: 'value' },
      }
      const manifest = (spec: object) => ({ manifest: JSON.stringify(spec) })
      const steps = [
        step('token', 'secrets', entry, { ...manifest(VaultEntry.spec.parse(fed)), value: '%{k3.parameters.token}' }),
        step('safe', 'secretvaults', 'safe', manifest(SecretVault.spec.parse({}))),
      ]
      const head = {
        slug: 'one',
        blueprintName: 'One',
        version: '1.0.0',
        name: 'one',
        resourceGroup: SHOP,
        lateMark: 'k3',
      }
      const parameters = { parameters: { token: '***' }, secretParameters: ['token'] }
      await world.make(BlueprintExecution, ID, { ...head, ...parameters, clusterId: ID, startedBy: ID, steps }, OUTER)
      await world.makeSecret(executionSecretName(ID), { token: 'hunter2' }, OUTER)
      await world.pass(10_000)
      const space = groupNamespace(BOUNDARY_ID, SHOP)
      expect(await world.secret(valueSecretName(entry), space)).to.have.keys('value')
      await end(space)
      expect(await world.secret(valueSecretName(entry), space)).to.equal(undefined)
    })

  const begin = async () => {
    world = new World((all) => all.filter(({ name }) => name === 'blueprintexecution'))
    seedGroup(world.server)
    await world.lead()
  }
  const makeFunction = async (manifest: object) => {
    const step = { component: 'pay', collection: 'functions', resourceName: 'pay', objectName: 'shop.pay' }
    const made = { body: '{"namespaceName":"shop"}', manifest: JSON.stringify(manifest) }
    const head = { slug: 'one', blueprintName: 'One', version: '1.0.0', name: 'one', resourceGroup: SHOP }
    const spec = { ...head, clusterId: ID, startedBy: ID, parameters: {}, steps: [{ ...step, ...made }] }
    await world.make(BlueprintExecution, ID, spec, OUTER)
    await world.pass(10_000)
  }

  it('fails at a function that exceeds a quota of the boundary', async () => {
    const names = ['blueprintexecution', 'functionnamespace', 'serverlessfunction']
    world = new World((all) => all.filter(({ name }) => names.includes(name)))
    seedGroup(world.server)
    await world.change(Boundary, BOUNDARY_ID, { quota: { pods: 5 } })
    await world.lead()
    await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs' })
    const spec = { namespaceName: 'shop', functionName: 'pay', handler: 'index', image: 'pay:1', maxReplicas: 6 }
    await makeFunction(ServerlessFunction.spec.parse(spec))
    expect((await world.find(BlueprintExecution.resource, ID, OUTER))?.status).to.include({
      state: 'Failed',
      message: `Component "pay": The boundary's quota of pods is 5; 0 is used and 6 more was requested.`,
    })
  })

  it('adds the identity of the namespace to namespaceSecrets after checking the access of its starter', async () => {
    await begin()
    const asked: string[] = []
    world.server.isAccessAllowed = ({ resourceAttributes: { verb, resource } }) => asked.push(`${verb} ${resource}`) > 0
    await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs', managedIdentity: true })
    const code = { namespaceName: 'shop', functionName: 'pay', handler: 'index', namespaceSecrets: ['secretvaults'] }
    await makeFunction(ServerlessFunction.spec.parse(code))
    const [found] = [...world.server.stored(ServerlessFunction.resource)] as unknown as ServerlessFunction[]
    expect(found?.spec.namespaceSecrets).to.deep.equal(['secretvaults', 'managedidentities'])
    expect(asked).to.include.members(['readsecrets secretvaults', 'readsecrets managedidentities'])
  })

  for (const namespaceSecrets of ['secretvaults', { secretvaults: true }]) {
    it(`leaves the invalid namespaceSecrets ${JSON.stringify(namespaceSecrets)} for the API server to reject`, async () => {
      await begin()
      await world.make(FunctionNamespace, 'shop', { runtime: 'nodejs' })
      const code = { namespaceName: 'shop', functionName: 'pay', handler: 'index' }
      await makeFunction({ ...code, namespaceSecrets })
      const [found] = [...world.server.stored(ServerlessFunction.resource)] as unknown as ServerlessFunction[]
      expect(found?.spec.namespaceSecrets).to.deep.equal(namespaceSecrets)
    })
  }
})
