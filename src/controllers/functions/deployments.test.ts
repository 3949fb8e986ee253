import { expect } from 'chai'
import { HOME as SPACE, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { giveUpDeployment } from '../../../test/worlds/deploymentsPlay.ts'
import { BUILD_NAMESPACE, buildName } from '../../contracts/builds/progress.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { timestamp } from '../../core/clock.ts'
import type { KubeObject } from '../../core/object.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { job } from '../../kube/builtin.ts'

const HOME = 'shop'
const NAME = functionObjectName(HOME, 'orders')
const CONTROLLERS = ['functionnamespace', 'serverlessfunction', 'deploymentrecord', 'secretvault', 'vaultentry']
const ids = [1, 2, 3].map((number) => `0b0e3f4e-3f4e-4f4e-8f4e-0b0e3f4e0b0${number}`)
const [UPLOADED = '', SECOND = '', THIRD = ''] = ids
const source = {
  ...{ hash: 'a'.repeat(64), sizeBytes: 1, fileCount: 1, parts: 1, deploymentId: UPLOADED },
  ...{ uploadedAt: '2026-01-01T00:00:00Z', uploadedBy: 'somebody' },
}

describe('ServerlessFunction deployments', () => {
  let world: World
  afterEach(() => world.stop())

  async function start(spec: object, controllers = CONTROLLERS): Promise<void> {
    world = new World((all) => all.filter(({ name }) => controllers.includes(name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(FunctionNamespace, HOME, { runtime: 'nodejs' })
    await world.make(ServerlessFunction, NAME, {
      ...{ namespaceName: HOME, functionName: 'orders', handler: 'index', minReplicas: 1, ...spec },
    })
    await world.rest()
  }
  const tell = async (id: string, image: string) => {
    const told = { strategy: 'Reported', phase: 'Succeeded', image, source: 'functions/orders' }
    await world.make(DeploymentRecord, id, { ownerCollection: 'functions', ownerName: NAME, ...told })
    await world.rest()
  }
  const stageOf = async (id: string) =>
    ((await world.find(DeploymentRecord.resource, id))?.status as { stage?: string } | undefined)?.stage
  const status = async () =>
    (await world.find(ServerlessFunction.resource, NAME))?.status as ServerlessFunction['status']
  const in1Hour = () => timestamp(world.clock.now() + 3_600_000)
  const giveUp = () => giveUpDeployment(world)

  it('give a new image its full progress deadline after the previous one exceeded it', async () => {
    await start({})
    await tell(UPLOADED, 'orders:slow')
    await giveUp()
    expect(await stageOf(UPLOADED)).to.equal('Failed')
    await tell(SECOND, 'orders:crashing')
    expect(await stageOf(SECOND)).to.equal('Deploying')
    await tell(THIRD, 'orders:3')
    expect(await stageOf(THIRD)).to.equal('Succeeded')
  })

  for (const [sentence, namespaceSecrets] of [
    ['an image reported without namespaceSecrets', ['managedidentities']],
    ['a function without namespaceSecrets', []],
  ] as const)
    it(`fail when secrets of the namespace are withheld from ${sentence}`, async () => {
      await start({ namespaceSecrets })
      await tell(UPLOADED, 'orders:1')
      expect(await stageOf(UPLOADED)).to.equal('Succeeded')
      await world.change(FunctionNamespace, HOME, { managedIdentity: true })
      await world.rest()
      await tell(SECOND, 'orders:2')
      expect(await stageOf(SECOND)).to.equal('Failed')
      const told = (await world.find(DeploymentRecord.resource, SECOND))?.status as { lastMessage?: string }
      expect(told.lastMessage).to.match(/may not be given managedidentities/)
      expect((await status())?.servingImage, 'what ran before goes on').to.equal('orders:1')
    })

  it('delete their build Job with the function', async () => {
    await start({}, ['functionnamespace', 'serverlessfunction'])
    const spec = { ownerCollection: 'functions', ownerName: NAME, strategy: 'Build', provider: 'Upload' }
    world.server.seed(DeploymentRecord.resource, {
      ...{ apiVersion: DeploymentRecord.apiVersion, kind: DeploymentRecord.kind, spec },
      metadata: { name: SECOND, namespace: SPACE },
      status: { number: 1, stage: 'Building' },
    } as KubeObject)
    const name = buildName({ namespace: SPACE, name: SECOND })
    world.server.seed(job, {
      ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace: BUILD_NAMESPACE } },
      spec: {
        suspend: true,
        template: { metadata: { labels: {} }, spec: { containers: [{ name: 'push', image: 'freehold-builder' }] } },
      },
    } as KubeObject)
    await world.remove(ServerlessFunction, NAME)
    await world.until('it is gone', () => world.isGone(ServerlessFunction, NAME))
    expect((await world.server.list(job)).items).to.deep.equal([])
  })

  it('build uploaded code once, even after its record was deleted', async () => {
    await start({ source })
    expect(await stageOf(UPLOADED)).to.equal('Succeeded')
    await tell(SECOND, 'orders:2')
    await world.remove(DeploymentRecord, UPLOADED, SPACE)
    await world.rest()
    expect(await stageOf(UPLOADED)).to.equal(undefined)
    expect((await status())?.servingImage).to.equal('orders:2')
  })

  for (const [sentence, change] of [
    ['is disabled', (): Promise<void> => world.change(VaultEntry, entryName('safe', 'Key'), { enabled: false })],
    [
      'has expired',
      async (): Promise<void> => {
        await world.change(VaultEntry, entryName('safe', 'Key'), { expiresOn: in1Hour() })
        await world.pass(3_601_000)
      },
    ],
    ['is deleted', (): Promise<void> => world.remove(VaultEntry, entryName('safe', 'Key'))],
    [
      'is disabled while an earlier step stalls',
      async (): Promise<void> => {
        await world.change(ServerlessFunction, NAME, { computePlan: 'none' })
        await world.change(VaultEntry, entryName('safe', 'Key'), { enabled: false })
      },
    ],
  ] as const)
    it(`accept no more calls with a key whose secret ${sentence}`, async () => {
      const keySecret = { vaultName: 'safe', secretName: 'Key' }
      await start({
        image: 'orders:1',
        triggers: [{ name: 'web', kind: 'Http', path: '/', authLevel: 'Secret', keySecret }],
      })
      await world.make(SecretVault, 'safe', {})
      await world.makeSecret('incoming', { value: 'key' })
      const valueFrom = { secretName: 'incoming', key: 'value' }
      await world.make(VaultEntry, entryName('safe', 'Key'), { ...keySecret, valueFrom })
      await world.rest()
      expect((await status())?.keys).to.have.length(1)
      await change()
      await world.rest()
      expect((await status())?.keys ?? []).to.deep.equal([])
    })
})
