import { expect } from 'chai'
import { HOME as SPACE, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { deployment } from '../../kube/builtin.ts'

const HOME = 'shop'
const NAME = functionObjectName(HOME, 'orders')
const FORMER = 'aaaaaaaa-0000-4000-8000-000000000001'

describe('ServerlessFunction controller', () => {
  let world: World
  afterEach(() => world.stop())

  async function start(spec: object): Promise<void> {
    world = new World((all) => all.filter(({ name }) => ['functionnamespace', 'serverlessfunction'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(FunctionNamespace, HOME, { runtime: 'nodejs' })
    await world.make(ServerlessFunction, NAME, {
      ...{ namespaceName: HOME, functionName: 'orders', handler: 'index', minReplicas: 1, ...spec },
    })
    await world.rest()
  }
  const images = async () => {
    type Live = KubeObject & { spec: { template: { spec: { containers: { image: string }[] } } } }
    const { items } = await world.server.list<Live>(deployment)
    return items.flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image))
  }
  const status = async () =>
    (await world.find(ServerlessFunction.resource, NAME))?.status as ServerlessFunction['status']
  const seedDeployment = (life: string) =>
    world.server.seed(DeploymentRecord.resource, {
      apiVersion: DeploymentRecord.apiVersion,
      kind: DeploymentRecord.kind,
      metadata: { name: FORMER, namespace: SPACE, annotations: { [OWNER_INCARNATION_ANNOTATION]: life } },
      spec: { ownerCollection: 'functions', ownerName: NAME, strategy: 'Build', provider: 'Upload', source: 'orders' },
      status: { number: 1, stage: 'Succeeded', image: 'orders:former' },
    } as KubeObject)

  it('ignores a succeeded deployment of a deleted function with the same name', async () => {
    await start({})
    seedDeployment('a-former-life')
    await world.rest()
    expect(await images()).to.deep.equal([])
    expect(await status()).to.include({ buildStatus: 'NoSource' })
  })

  it('removes the copies when its image is removed', async () => {
    await start({ image: 'orders:1' })
    expect(await images()).to.deep.equal(['orders:1'])
    await world.change(ServerlessFunction, NAME, { image: null })
    await world.rest()
    expect(await images()).to.deep.equal([])
    expect(await status()).to.include({ phase: 'Stopped', readyReplicas: 0 })
  })
})
