import { expect } from 'chai'
import { OUTER, GROUP as SHOP, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { BLUEPRINT_COLLECTIONS, type BlueprintCollection } from '../../crds/blueprintCollections.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { SecretVault } from '../../crds/vaults.ts'
import { accessReviewFor } from './rights.ts'

const GROUP = 'space-of-the-group'
const B = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const ID = 'aaaaaaaa-0000-4000-8000-000000000001'

/** The access review in the form of `kubectl auth can-i`. */
function asked(collection: string, name: string, { body = {}, manifest = {}, isNew = true } = {}): string {
  const entry = BLUEPRINT_COLLECTIONS.get(collection) as BlueprintCollection
  const step = { body: JSON.stringify(body) }
  const ref = { namespace: GROUP, name }
  const question = accessReviewFor({ step, spec: manifest ?? {}, entry, ref, group: GROUP, isNew })
  const { verb, resource, subresource, namespace, group } = question
  const whole = subresource === undefined ? resource : `${resource}/${subresource}`
  return `${verb} ${whole}.${group.split('.')[0]} ${question.name} -n ${namespace}`
}

describe('accessReviewFor', () => {
  const cases: [string, string, string][] = [
    ['a new object', asked('vectorclusters', 'find'), `create vectorclusters.data find -n ${GROUP}`],
    ['a changed object', asked('apps', 'web', { isNew: false }), `patch platformapps.compute web -n ${GROUP}`],
    [
      'a new secret, named after its vault',
      asked('secrets', entryName('safe', 'Token')),
      `create vaultentries.data ${entryName('safe', 'Token')} -n ${GROUP}`,
    ],
    [
      'a new bucket, at its account',
      asked('buckets', 'b-1', { body: { accountName: 'store' } }),
      `createbuckets objectstorageaccounts.data store -n ${GROUP}`,
    ],
    [
      'a new key, at its account',
      asked('accesskeys', 'key', { body: { accountName: 'store' } }),
      `createkeys objectstorageaccounts.data store -n ${GROUP}`,
    ],
    ['a changed bucket', asked('buckets', 'b-1', { isNew: false }), `patch accountbuckets.data b-1 -n ${GROUP}`],
    [
      'a role assignment in the group',
      asked('roleassignments', ID, {
        manifest: { roleDefinitionName: 'Reader', scope: `/boundaries/${B}/resourcegroups/shop` },
      }),
      `grant roledefinitions.iam Reader -n ${GROUP}`,
    ],
    [
      'a role assignment at a resource',
      asked('roleassignments', ID, {
        manifest: { roleDefinitionName: 'Reader', scope: `/boundaries/${B}/resourcegroups/shop/resources/apps/web` },
      }),
      `grant roledefinitions/apps/web.iam Reader -n ${GROUP}`,
    ],
    [
      'a role assignment with an unreadable spec',
      asked('roleassignments', ID, { manifest: undefined as never }),
      `grant roledefinitions.iam  -n ${GROUP}`,
    ],
  ]
  for (const [sentence, question, expected] of cases)
    it(`reviews ${sentence}: ${expected.split(' -n ')[0]}`, () => expect(question).to.equal(expected))
})

describe('BlueprintExecution without a permission of its starter', () => {
  let world: World
  afterEach(() => world.stop())

  async function deploys(metadata: object = {}, more: object[] = [], lateMark?: string): Promise<void> {
    world = new World((all) => all.filter(({ name }) => ['blueprintexecution', 'secretvault'].includes(name)))
    seedGroup(world.server)
    await world.lead()
    const vault = (name: string, dependsOn: string[]) => ({
      ...{ component: name, collection: 'secretvaults', resourceName: name, objectName: name, dependsOn, body: '{}' },
      manifest: JSON.stringify(SecretVault.spec.parse({})),
    })
    const head = { slug: 'two', blueprintName: 'Two', version: '1.0.0', name: 'two', resourceGroup: SHOP }
    const spec = {
      ...head,
      clusterId: ID,
      startedBy: ID,
      parameters: {},
      steps: [vault('one', []), vault('two', ['one']), ...more],
      ...(lateMark !== undefined && { lateMark }),
    }
    world.server.seed(BlueprintExecution.resource, {
      ...{ apiVersion: BlueprintExecution.apiVersion, kind: BlueprintExecution.kind, spec },
      metadata: { name: ID, namespace: OUTER, ...metadata },
    } as never)
  }
  const status = async () =>
    (await world.find(BlueprintExecution.resource, ID, OUTER))?.status as BlueprintExecution['status']
  const vaults = () => [...world.server.stored(SecretVault.resource)].map(({ metadata }) => metadata.name)

  it('fails before the next write, names the permission and keeps what was made', async () => {
    const asked: string[] = []
    await deploys()
    world.server.isAccessAllowed = ({ user, resourceAttributes: { name = '' } }) => {
      asked.push(`${user} ${name}`)
      return name === 'one'
    }
    await world.pass(60_000)
    expect(new Set(asked)).to.deep.equal(new Set([`p:${ID} one`, `p:${ID} two`]))
    expect(vaults()).to.deep.equal(['one'])
    expect(await status()).to.include({
      state: 'Failed',
      message: 'Component "two": Whoever deployed it no longer has the permission secretvault/write for it.',
    })
  })

  it('writes no reference to a vault, after substitution, that the starter may not read', async () => {
    const env = { A: '@vault(%{mark.components.one.name}/Key)' }
    const job = {
      ...{
        component: 'job',
        collection: 'jobs',
        resourceName: 'job',
        objectName: 'job',
        dependsOn: ['two'],
        body: '{}',
      },
      manifest: JSON.stringify({ ...PlatformJob.spec.parse({ image: 'busybox' }), env }),
    }
    await deploys({}, [job], 'mark')
    const asked: string[] = []
    world.server.isAccessAllowed = ({ resourceAttributes: { verb, resource, name = '' } }) => {
      if (verb === 'readsecrets') asked.push(`${resource} ${name}`)
      return verb !== 'readsecrets'
    }
    await world.pass(60_000)
    expect(new Set(asked)).to.deep.equal(new Set(['secretvaults one']))
    expect([...world.server.stored(PlatformJob.resource)]).to.deep.equal([])
    expect((await status())?.message).to.equal(
      'Component "job": Whoever deployed it may not read the secrets of secretvaults "one", to which it refers.',
    )
  })

  it('continues after three denials because the permission may not be visible yet', async () => {
    await deploys()
    let left = 3
    world.server.isAccessAllowed = () => left-- <= 0
    await world.pass(60_000)
    expect(vaults()).to.deep.equal(['one', 'two'])
    expect(await status()).to.include({ state: 'Succeeded' })
  })

  it('fails for another incarnation of the starter', async () => {
    const annotations = { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [ID]: 'a-former-life' }) }
    await deploys({ annotations })
    await world.pass(60_000)
    expect(vaults()).to.deep.equal([])
    expect(await status()).to.include({ state: 'Failed' })
  })
})
