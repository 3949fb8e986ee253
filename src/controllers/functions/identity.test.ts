import { expect } from 'chai'
import { seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { identityCopyName } from '../../contracts/managedIdentities.ts'
import type { KubeObject } from '../../core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { deployment } from '../../kube/builtin.ts'

const HOME = 'shop'
const NAME = functionObjectName(HOME, 'orders')
const AREA = ['functionnamespace', 'serverlessfunction']

describe('identity of a FunctionNamespace', () => {
  let world: World
  afterEach(() => world.stop())

  /** A namespace with an identity, and one running function. */
  async function start(controllers: readonly string[]): Promise<void> {
    world = new World((all) => all.filter(({ name }) => controllers.includes(name)))
    seedGroup(world.server)
    await world.lead()
    await world.make(FunctionNamespace, HOME, { runtime: 'nodejs', managedIdentity: true })
    await world.make(ServerlessFunction, NAME, {
      ...{ namespaceName: HOME, functionName: 'orders', handler: 'index', image: 'orders:1', minReplicas: 1 },
      namespaceSecrets: ['managedidentities'],
    })
    await world.rest()
  }
  const identities = async () => (await world.server.list<ManagedIdentity & KubeObject>(ManagedIdentity.resource)).items
  const statusOf = async (kind: typeof FunctionNamespace | typeof ServerlessFunction, name: string) =>
    ((await world.find(kind.resource, name))?.status ?? {}) as Record<string, string | undefined>
  const namedSecret = async () => (await statusOf(FunctionNamespace, HOME)).identitySecret
  /** The Secrets that copies of the function mount; undefined while it has no Deployment. */
  async function mounted(): Promise<unknown[] | undefined> {
    type Live = KubeObject & { spec: { template: { spec: { volumes: { secret?: { secretName: string } }[] } } } }
    const [found] = (await world.server.list<Live>(deployment)).items
    return found?.spec.template.spec.volumes.map(({ secret }) => secret?.secretName)
  }

  it('is created and mounted into its functions', async () => {
    await start([...AREA, 'managedidentity'])
    const [identity] = await identities()
    expect(identity?.spec).to.deep.include({ resourceName: HOME, resourceType: 'functionnamespaces', mounted: true })
    const copy = identityCopyName(identity?.metadata.name ?? '')
    expect(await namedSecret()).to.equal(copy)
    expect(await mounted()).to.deep.equal([copy])
    expect(await world.secret(copy)).to.have.property('client-secret')
    expect(await world.isReady(ServerlessFunction, NAME)).to.equal(true)
  })

  it('is awaited before a function starts', async () => {
    await start(AREA)
    expect(await identities()).to.have.length(1)
    expect(await mounted()).to.equal(undefined)
    expect((await statusOf(ServerlessFunction, NAME)).statusMessage).to.match(
      /^The credentials of the managed identity/,
    )
    expect((await statusOf(FunctionNamespace, HOME)).phase).to.equal('WaitingForDependency')
  })

  it('keeps its Secret name when the credentials change', async () => {
    await start([...AREA, 'managedidentity'])
    const [identity] = await identities()
    const before = [await mounted(), await namedSecret()]
    const copy = identityCopyName(identity?.metadata.name ?? '')
    const old = await world.secret(copy)
    await world.change(ManagedIdentity, identity?.metadata.name ?? '', { secretVersion: 2 })
    await world.rest()
    expect((await world.secret(copy))?.['client-secret']).not.to.equal(old?.['client-secret'])
    expect([await mounted(), await namedSecret()]).to.deep.equal(before)
  })

  it('remains when it is turned off, but its credentials are removed', async () => {
    await start([...AREA, 'managedidentity'])
    const [identity] = await identities()
    await world.change(FunctionNamespace, HOME, { managedIdentity: false })
    await world.rest()
    expect((await identities()).map(({ metadata }) => metadata.uid)).to.deep.equal([identity?.metadata.uid])
    expect(await world.secret(identityCopyName(identity?.metadata.name ?? ''))).to.equal(undefined)
    expect([await mounted(), await namedSecret()]).to.deep.equal([[], undefined])
  })

  it('is deleted with the namespace', async () => {
    await start([...AREA, 'managedidentity'])
    await world.remove(FunctionNamespace, HOME)
    await world.until('the namespace is gone', () => world.isGone(FunctionNamespace, HOME))
    await world.rest()
    expect(await identities()).to.deep.equal([])
  })
})
