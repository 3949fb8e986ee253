import { expect } from 'chai'
import { functionObjectName } from '../../src/contracts/functions.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { expectCall, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { clientWithToken } from '../worlds/tenant.ts'
import { makeVault, type VaultPlace } from '../worlds/vaultWorld.ts'

/**
 * The reference of a variable, trigger or volume is secret: its writer must be allowed to read it, with kubectl too.
 */
describe('references to secrets, with kubectl', () => {
  let at: VaultPlace
  let namespace: string
  /** May write everything in the group, but read no secret. */
  let contributor: KubeClient
  let owner: KubeClient
  /** May in addition read the secrets of one vault. */
  let holder: KubeClient
  const home = 'shop'
  const name = functionObjectName(home, 'guarded')

  before(async () => {
    at = await makeVault()
    namespace = groupNamespace(at.boundaryId, at.group)
    const scope = `/boundaries/${at.boundaryId}/resourcegroups/${at.group}`
    contributor = await clientWithToken((await makeCaller({ Contributor: scope })).token)
    owner = await clientWithToken((await makeCaller({ Owner: scope })).token)
    const vault = `${scope}/resources/secretvaults/${at.vault}`
    holder = await clientWithToken((await makeCaller({ Contributor: scope, Owner: vault })).token)
    const functions = `${scope}/resources/functionnamespaces/${home}`
    await expectCall(201, 'POST', functions, { runtime: 'nodejs' })
    await expectCall(201, 'POST', `${functions}/functions/guarded`, { handler: 'index' })
    for (const client of [contributor, owner, holder])
      await until('the API server knows the caller', () => client.get(ServerlessFunction.resource, { namespace, name }))
  })
  after(async () => {
    await contributor.close()
    await owner.close()
    await holder.close()
  })

  const object = (kind: AnyKind, spec: object): KubeObject => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name: uniqueName('ref'), namespace },
    spec,
  })
  const change = (client: KubeClient, spec: object) =>
    client.mergePatch(ServerlessFunction.resource, { namespace, name }, { spec }, { dryRun: true })
  async function refusal(write: Promise<unknown>): Promise<string> {
    const error = await write.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!isKubeError(error)) throw new Error(`It was not refused: ${String(error)}`)
    return error.denial?.message ?? `${error.message} ${error.causes.map(({ message }) => message).join(' ')}`
  }

  it('are refused in a trigger to writers who may not read the vault', async () => {
    const keySecret = { vaultName: at.vault, secretName: 'Key' }
    const triggers = [{ name: 'web', kind: 'Http', path: '/guarded', authLevel: 'Secret', keySecret }]
    expect(await refusal(change(contributor, { triggers }))).to.equal(
      'a trigger refers to a vault whose secrets you may not read',
    )
    await change(owner, { triggers })
  })

  it('are required in namespaceSecrets of a function whose namespace has secrets', async () => {
    const another = () => {
      const made = object(ServerlessFunction, { namespaceName: home, functionName: 'more', handler: 'index' })
      const more = { ...made, metadata: { ...made.metadata, name: functionObjectName(home, 'more') } }
      return contributor.create(ServerlessFunction.resource, more, { dryRun: true })
    }
    // The author of the function may read everything, and the function says so; others remove that.
    expect(await refusal(change(contributor, { handler: 'other' }))).to.match(
      /^namespaceSecrets has what you may not read/,
    )
    await change(contributor, { handler: 'other', namespaceSecrets: [] })
    await another()
    const env = [{ name: 'KEY', secret: { vaultName: at.vault, secretName: 'Key' } }]
    await owner.mergePatch(FunctionNamespace.resource, { namespace, name: home }, { spec: { env } })
    await change(contributor, { tags: { team: 'shop' } })
    await change(owner, { handler: 'other' })
    await change(holder, { handler: 'other', namespaceSecrets: [`secretvaults/${at.vault}`] })
    const more = 'namespaceSecrets of a function that is there already gets no longer'
    const planted = functionObjectName(home, uniqueName('planted'))
    const spec = { namespaceName: home, functionName: planted.slice(home.length + 1), handler: 'index' }
    const made = object(ServerlessFunction, spec)
    await owner.create(ServerlessFunction.resource, { ...made, metadata: { ...made.metadata, name: planted } })
    const grown = { spec: { namespaceSecrets: ['secretvaults'] } }
    const grow = owner.mergePatch(ServerlessFunction.resource, { namespace, name: planted }, grown, { dryRun: true })
    expect(await refusal(grow)).to.contain(more)
  })

  it('accept in namespaceSecrets only collections that the writer may read', async () => {
    const write = (client: KubeClient, namespaceSecrets: string[]) => {
      const functionName = uniqueName('may')
      const made = object(ServerlessFunction, {
        namespaceName: 'nowhere',
        functionName,
        handler: 'index',
        namespaceSecrets,
      })
      const named = { ...made, metadata: { ...made.metadata, name: functionObjectName('nowhere', functionName) } }
      return client.create(ServerlessFunction.resource, named, { dryRun: true })
    }
    const all = [
      'managedidentities',
      'secretvaults',
      'vectorclusters',
      'relationalclusters',
      'sqlclusters',
      'objectstorageaccounts',
    ]
    await write(owner, all)
    await write(
      owner,
      all.slice(1).map((collection) => `${collection}/some`),
    )
    await write(holder, [`secretvaults/${at.vault}`])
    const closed = [['managedidentities'], ['secretvaults'], ['secretvaults/some']]
    for (const list of closed) {
      expect(await refusal(write(contributor, list)), `${list}`).to.match(/^namespaceSecrets has what you may not read/)
      expect(await refusal(write(holder, list)), `${list}`).to.match(/^namespaceSecrets has what you may not read/)
    }
    await write(contributor, all.slice(2))
    expect(await refusal(write(holder, [`secretvaults/${at.vault}`, 'sqlclusters/a', 'sqlclusters/b']))).to.contain(
      'more than two',
    )
  })

  it('require functionSecrets of a namespace when its env changes', async () => {
    const ref = { namespace, name: uniqueName('led') }
    const env = [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,' }]
    const made = object(FunctionNamespace, { runtime: 'nodejs' })
    await owner.create(FunctionNamespace.resource, { ...made, metadata: ref })
    const change = (client: KubeClient, spec: object, dryRun = true) =>
      client.mergePatch(FunctionNamespace.resource, ref, { spec }, { dryRun })
    const unread = /^functionSecrets has what you may not read/
    await change(contributor, { env })
    for (const list of [['secretvaults'], [`secretvaults/${at.vault}`]])
      expect(await refusal(change(contributor, { env, functionSecrets: list }))).to.match(unread)
    await change(holder, { env, functionSecrets: [`secretvaults/${at.vault}`] })
    await change(owner, { env, functionSecrets: [`secretvaults/${at.vault}`] }, false)
    const more = [...env, { name: 'STAGE', value: 'test' }]
    expect(await refusal(change(contributor, { env: more }))).to.match(unread)
    await change(contributor, { env: more, functionSecrets: [] })
    await change(contributor, { maxConcurrency: 7 })
    await change(owner, { env: more })
    const grown = change(owner, { env: more, functionSecrets: ['secretvaults'] })
    expect(await refusal(grown)).to.contain('functionSecrets of a namespace that has env already gets no longer')
  })

  const referring = (count: number) => {
    const env = Array.from({ length: count }, (_, index) => ({
      name: `SECRET_${index}`,
      secret: { vaultName: at.vault, secretName: `Name${index}` },
    }))
    return object(ContainerInstance, { components: [{ name: 'web', image: 'docker.io/library/hello:1', env }] })
  }
  const write = (client: KubeClient, count: number) =>
    client.create(ContainerInstance.resource, referring(count), { dryRun: true })

  it('accept up to 20 secrets from readers of all vaults of the group', async () => {
    for (const count of [1, 2, 3, 20]) await write(owner, count)
    expect(await refusal(write(owner, 64))).to.contain('at most 20 secrets and outputs')
    expect(await refusal(write(contributor, 1))).to.equal('env refers to a vault whose secrets you may not read')
  })

  it('accept up to two secrets from readers of one vault, and name REST for more', async () => {
    await write(holder, 1)
    await write(holder, 2)
    for (const count of [3, 20]) expect(await refusal(write(holder, count))).to.match(/more than two .* use REST/)
  })
})
