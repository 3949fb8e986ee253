import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { startBlueprintShop } from '../../../test/worlds/blueprintShop.ts'
import { BOUNDARY, OWNER } from '../../../test/worlds/shop.ts'
import { BLUEPRINT_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { SecretVault } from '../../crds/vaults.ts'

const FAR = '55555555-5555-4555-8555-555555555555'
const HOME = groupNamespace(BOUNDARY, 'shop')
const OUTER = boundaryNamespace(BOUNDARY)

const made = (...components: string[]) =>
  ['format: 1', 'slug: search', 'name: Search', 'version: 1.0.0', 'components:', ...components].join('\n')
const note = '  - { name: note, collection: secrets, resourceName: note, spec: { vaultName: safe, value: x } }'
const vault = '  - { name: vault, collection: secretvaults, resourceName: safe }'
const key =
  '  - { name: key, collection: accesskeys, resourceName: key, spec: { accountName: store, buckets: [files] } }'
const account = '  - { name: store, collection: objectstorageaccounts, resourceName: store }'
const job =
  '  - { name: job, collection: jobs, resourceName: job, spec: { image: node, env: { A: "@vault(safe/note)" } } }'
const app =
  '  - { name: app, collection: apps, resourceName: app, spec: { sourceKind: Image, image: node, computePlan: app-small, env: [{ name: A, secret: { vaultName: safe, secretName: note } }] } }'

describe('dry run of a blueprint', () => {
  let world: Awaited<ReturnType<typeof startBlueprintShop>>
  beforeEach(async () => {
    world = await startBlueprintShop()
  })
  afterEach(() => world.stop())
  type World = typeof world
  const post: World['post'] = (...given) => world.post(...given)
  const deploy: World['deploy'] = (...given) => world.deploy(...given)

  const lacking: [sentence: string, components: string[], problems: string[], code: string][] = [
    [
      'a missing vault of a secret',
      [note],
      ['There is no "safe" of secretvaults in this group.'],
      'REFERENCE_NOT_FOUND',
    ],
    [
      'a missing account of a key',
      [key],
      ['There is no "store" of objectstorageaccounts in this group.'],
      'REFERENCE_NOT_FOUND',
    ],
    ['a missing bucket of a key', [account, key], ['Account "store" has no bucket "files".'], 'REFERENCE_NOT_FOUND'],
    ['a missing vault of a variable', [app], ['There is no vault "safe" in this group.'], 'REFERENCE_NOT_FOUND'],
    ['a missing secret of a variable', [vault, app], ['Vault "safe" has no secret "note".'], 'REFERENCE_NOT_FOUND'],
    [
      'two components that would be the same resource',
      [vault, vault.replace('name: vault', 'name: other')],
      ['Components "vault" and "other" would both be "safe" of secretvaults.'],
      'RESOURCE_CONFLICT',
    ],
    ['a missing secret of a job, which would wait for it', [vault, job], ['Vault "safe" has no secret "note".'], '202'],
    ['nothing if the blueprint creates what it refers to', [vault, note, app, job], [], '202'],
  ]
  for (const [sentence, components, problems, code] of lacking)
    it(`reports ${sentence}`, async () => {
      world.put(ComputePlan, 'job-small', DEFAULT_PLANS['job-small'] ?? {})
      await post(made(...components))
      const { body } = await deploy({}, '?dryRun=true')
      expect(body.steps.flatMap((step: { problems: string[] }) => step.problems)).to.deep.equal(problems)
      expect(body.isValid).to.equal(code === '202')
      const answer = await deploy()
      expect(answer.body.code ?? String(answer.status)).to.equal(code)
    })

  it('does not reveal which secrets a vault has to a caller who may not read them', async () => {
    world.put(ComputePlan, 'job-small', DEFAULT_PLANS['job-small'] ?? {})
    world.put(SecretVault, 'safe', {}, HOME)
    await post(made(job, app))
    const deny = { principalId: OWNER, principalType: 'User', reason: 'test', scopeIncarnation: 'life' }
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop`
    const problems = async () => {
      const { body } = await deploy({}, '?dryRun=true')
      return body.steps.flatMap((step: { problems: string[] }) => step.problems)
    }
    const actions = { actions: [], dataActions: ['secretvault/readSecrets'], scope }
    world.put(DenyAssignment, randomUUID(), { ...deny, ...actions }, OUTER)
    const existing = await problems()
    await post(made(job, app).replaceAll('safe', 'none').replace('1.0.0', '1.0.1'))
    const elsewhere = await problems()
    expect(elsewhere).to.deep.equal(existing.map((problem: string) => problem.replaceAll('safe', 'none')))
    expect(existing.join()).to.include('secretvault/readSecrets').and.not.include('note')
  })

  it('masks the current values of a resource that the caller may not read', async () => {
    const web = (value: string) =>
      made(
        `  - { name: web, collection: apps, resourceName: web, spec: { sourceKind: Image, image: node, computePlan: app-small, env: [{ name: KEY, value: ${value} }] } }`,
      )
    await post(web('right'))
    const before = {
      sourceKind: 'Image',
      image: 'node',
      computePlan: 'app-small',
      env: [{ name: 'KEY', value: 'right' }],
    }
    world.put(PlatformApp, 'web', before, HOME)
    const metadata = { annotations: { [BLUEPRINT_ANNOTATION]: 'find/web' } }
    await world.client.mergePatch(PlatformApp.resource, { namespace: HOME, name: 'web' }, { metadata })
    const [seen] = (await deploy({}, '?dryRun=true')).body.steps
    // The stored object lacks defaults that REST would have stored, so there are changes, but not of equal fields.
    expect(seen.changes.map(({ path }: { path: string }) => path)).not.to.include.members(['/env'])
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/apps/web`
    const deny = { principalId: OWNER, principalType: 'User', reason: 'test', scopeIncarnation: 'life' }
    const reading = { ...deny, actions: ['apps/read'], dataActions: [], scope }
    world.put(DenyAssignment, randomUUID(), reading, OUTER)
    const right = (await deploy({}, '?dryRun=true')).body
    await post(web('wrong').replace('1.0.0', '1.0.1'))
    const wrong = (await deploy({}, '?dryRun=true')).body
    expect(wrong).to.deep.equal(right)
    expect(right.steps[0]).to.deep.include({ action: 'Update' })
    expect(right.steps[0].changes).to.deep.include({ path: '/env', from: '***', to: '***' })
    expect(right.steps[0].changes).to.deep.include({ path: '/image', from: '***', to: 'node' })
  })

  it('stores the same patch fields whether or not the current values are equal', async () => {
    const web = (value: string) =>
      made(
        `  - { name: web, collection: apps, resourceName: web, spec: { sourceKind: Image, image: node, computePlan: app-small, env: [{ name: KEY, value: ${value} }] } }`,
      )
    const spec = {
      sourceKind: 'Image',
      image: 'node',
      computePlan: 'app-small',
      env: [{ name: 'KEY', value: 'right' }],
    }
    world.put(PlatformApp, 'web', spec, HOME)
    const metadata = { annotations: { [BLUEPRINT_ANNOTATION]: 'find/web' } }
    await world.client.mergePatch(PlatformApp.resource, { namespace: HOME, name: 'web' }, { metadata })
    const keptOf = async (content: string) => {
      await post(content)
      const { status, body } = await deploy()
      expect(status, JSON.stringify(body)).to.equal(202)
      const ref = { namespace: OUTER, name: body.id }
      const { spec: kept } = await world.client.get<BlueprintExecution & { [key: string]: unknown }>(
        BlueprintExecution.resource,
        ref,
      )
      await world.client.remove(BlueprintExecution.resource, ref)
      return Object.keys(JSON.parse(kept.steps[0]?.patch ?? '{}')).sort()
    }
    const same = await keptOf(web('right'))
    expect(same).to.include.members(['computePlan', 'env', 'image', 'sourceKind'])
    expect(await keptOf(web('wrong').replace('1.0.0', '1.0.1'))).to.deep.equal(same)
  })

  it('reports a resource that is being deleted, and rejects the deployment', async () => {
    await post(made(vault))
    world.put(SecretVault, 'safe', {}, HOME)
    world.client.edit(SecretVault.resource, { namespace: HOME, name: 'safe' }, ({ metadata }) => {
      metadata.annotations = { [BLUEPRINT_ANNOTATION]: 'find/vault' }
      metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
      metadata.finalizers = ['freehold.dev/test']
    })
    const { body } = await deploy({}, '?dryRun=true')
    expect(body.steps[0].problems).to.deep.equal(['"safe" of secretvaults is being deleted.'])
    expect((await deploy()).body.code).to.equal('INVALID_STATE')
  })

  it('counts the maximum replicas of functions, with the plan that their namespace is created with', async () => {
    await world.stop()
    const nodes = [{ cpu: 9_000n, memory: 1024n ** 4n * 1000n }]
    world = await startBlueprintShop({}, { capacity: { freeNodeCapacities: () => nodes, requested: () => undefined } })
    const sizes = { cpuLimit: '2', memoryRequest: '1Gi', memoryLimit: '1Gi' }
    for (const [name, cpuRequest] of [
      ['function-small', '100m'],
      ['function-large', '2'],
    ] as const)
      world.put(ComputePlan, name, {
        ...{ family: 'Function', displayName: name, cpuRequest, ...sizes, isDefault: name === 'function-small' },
      })
    const verdictWith = async (maxReplicas: number, version: string) => {
      const [home, code] = [
        '  - { name: home, collection: functionnamespaces, resourceName: home, spec: { runtime: nodejs, computePlan: function-large } }',
        `  - { name: code, collection: functions, resourceName: code, spec: { namespaceName: home, handler: index, maxReplicas: ${maxReplicas} } }`,
      ]
      await post(made([home, code].join('\n')).replace('1.0.0', version))
      return (await deploy({}, '?dryRun=true')).body
    }
    expect((await verdictWith(4, '1.0.1')).verdict).to.equal('Tight')
    expect((await verdictWith(5, '1.0.2')).verdictReason).to.match(/no room for the requested 10 cpu and 5Gi memory/)
  })

  it('returns the verdict Unknown for a cluster whose nodes are not watched', async () => {
    await world.stop()
    const nodes = [{ cpu: 64_000n, memory: 1024n ** 4n * 1000n }]
    world = await startBlueprintShop({}, { capacity: { freeNodeCapacities: () => nodes, requested: () => undefined } })
    world.put(PlatformCluster, FAR, { displayName: 'Edge', region: '', domain: 'edge.test' })
    world.put(BoundaryProjection, FAR, { clusterId: FAR }, OUTER)
    await post(made(vault))
    const verdictOn = async (cluster: object) => (await deploy(cluster, '?dryRun=true')).body.verdict
    expect([await verdictOn({}), await verdictOn({ clusterId: FAR })]).to.deep.equal(['Fits', 'Unknown'])
  })
})
