import { expect } from 'chai'
import { BOUNDARY_ID, OUTER, GROUP as SHOP, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { groupNamespace } from '../../core/names.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { SecretVault } from '../../crds/vaults.ts'

const ID = 'aaaaaaaa-0000-4000-8000-000000000001'

describe('a deployment of a blueprint', () => {
  let world: World
  afterEach(() => world.stop())

  it('ends where somebody deletes what it waits for, and does not make it again', async () => {
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
})
