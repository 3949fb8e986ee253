import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { SEEDED } from '../../scripts/generate/iamPolicies.ts'
import { FIELD_MANAGERS_MAX, METADATA_REFUSALS } from '../../scripts/generate/metadataPolicy.ts'
import { parseTemplateDocument } from '../../src/contracts/blueprints/document.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../src/crds/defaultBlueprints.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { EXPIRING_KINDS, EXPIRY_PAST_MESSAGE } from '../../src/crds/expiry.ts'
import { KINDS } from '../../src/crds/index.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import { RegistryPin } from '../../src/crds/registry.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { sampleName, sampleSpec } from '../make/samples.ts'
import { call, type ErrorBody, makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken, giveEveryVerb } from '../worlds/tenant.ts'

const OVER = '2020-01-01T00:00:00Z'
const LATER = '2100-01-01T00:00:00Z'
/** Expected instead of other messages for kinds that only REST and administrators write. */
const CLOSED = 'written through the REST API'

describe('limits of REST, enforced on kubectl', () => {
  let admin: KubeClient
  /** Has every Kubernetes verb on every kind, but no role of the platform: its refusals come from policies. */
  let clerk: KubeClient
  let owner: KubeClient
  let release: () => Promise<unknown>
  let boundaryId: string
  let groupHome: string
  let groupPath: string
  let ownerId: string
  let memberId: string

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    const group = await makeGroup(boundaryId)
    groupHome = group.namespace
    groupPath = `/boundaries/${boundaryId}/resourcegroups/${group.name}`
    const caller = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    ownerId = caller.principalId
    memberId = (await makeCaller()).principalId
    owner = await clientWithToken(caller.token)
    const account = await makeCaller()
    clerk = await clientWithToken(account.token)
    release = await giveEveryVerb(admin, account.principalId)
    for (const client of [owner, clerk]) {
      await until('it may write', async () => {
        const path = `/apis/data.freehold.dev/v1alpha1/namespaces/${groupHome}/vectorclusters`
        return (await client.request({ path, query: { limit: '1' } })).status === 200
      })
    }
  })
  after(async () => {
    await release()
    await Promise.all([owner.close(), clerk.close(), admin.close()])
  })

  /** The message of the refusal; undefined if the API server would accept the object. */
  async function refusalOf(write: Promise<unknown>): Promise<string | undefined> {
    try {
      await write
      return undefined
    } catch (error) {
      if (!isKubeError(error)) throw error
      return [error.message, error.denial?.message ?? '', ...error.causes.map(({ message }) => message)].join('\n')
    }
  }

  function ending(kind: AnyKind, expiresAt: string): KubeObject {
    const spec = sampleSpec(kind, { boundaryId, ownerId, memberId })
    const namespaces: Record<string, string> = {
      platform: 'freehold-system',
      boundary: boundaryNamespace(boundaryId),
      boundaryOrPlatform: boundaryNamespace(boundaryId),
      group: groupHome,
    }
    const metadata = { name: sampleName(kind, spec), namespace: namespaces[kind.placement] ?? '' }
    return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: { ...spec, expiresAt } } as KubeObject
  }
  const create = (client: KubeClient, kind: AnyKind, end: string) =>
    refusalOf(client.create(kind.resource, ending(kind, end), { dryRun: true }))

  it('include kinds that expire', () => {
    expect(EXPIRING_KINDS.map(({ kind }) => kind)).to.include.members(['ObjectAccessKey', 'RegistryPin'])
    expect(EXPIRING_KINDS).to.have.length.above(5)
  })

  for (const kind of EXPIRING_KINDS) {
    it(`reject a new ${kind.kind} with a past expiresAt`, async () => {
      const refusal = await create(clerk, kind, OVER)
      if (refusal?.includes(CLOSED) !== true) expect(refusal).to.include(EXPIRY_PAST_MESSAGE)
      // For access control the webhook checks the caller's own rights after the policies.
      if (kind.group !== 'iam') expect(await create(clerk, kind, LATER)).to.equal(undefined)
      // Objects restored from a backup are accepted unchanged.
      expect(await create(admin, kind, OVER)).to.equal(undefined)
    })
  }

  it('reject a change of expiresAt into the past, but not other changes of an expired object', async () => {
    const pin = ending(RegistryPin, LATER)
    const { resource } = RegistryPin
    const { name, namespace } = pin.metadata
    const at = { name, ...(namespace !== undefined && { namespace }) }
    await clerk.create(resource, pin)
    const change = (client: KubeClient, spec: object) => refusalOf(client.mergePatch(resource, at, { spec }))
    expect(await change(clerk, { expiresAt: OVER })).to.include(EXPIRY_PAST_MESSAGE)
    expect(await change(clerk, { expiresAt: '2099-01-01T00:00:00Z' })).to.equal(undefined)
    expect(await change(admin, { expiresAt: OVER })).to.equal(undefined)
    expect(await change(clerk, { keepLast: 3 })).to.equal(undefined)
    expect(await change(clerk, { expiresAt: LATER })).to.equal(undefined)
  })

  const named = KINDS.filter(({ nameMin }) => nameMin !== undefined)
  for (const kind of named)
    it(`reject a ${kind.kind} with a shorter name than REST accepts`, async () => {
      const least = kind.nameMin ?? 1
      const create = (client: KubeClient, length: number) => {
        const metadata = { name: randomUUID().slice(0, length), namespace: groupHome }
        const spec = sampleSpec(kind, { boundaryId, ownerId, memberId })
        const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec } as KubeObject
        return refusalOf(client.create(kind.resource, object, { dryRun: true }))
      }
      for (const client of [owner, admin]) {
        expect(await create(client, least - 1)).to.include(`at least ${least} characters`)
        expect(await create(client, least)).to.equal(undefined)
      }
    })

  const slugs = DEFAULT_BLUEPRINTS.map((content) => (parseTemplateDocument(content).value as { slug: string }).slug)
  const seeded: [kind: AnyKind, ref: { namespace?: string; name: string }, spec: object][] = [
    ...BUILT_IN_ROLES.map(({ name }): [AnyKind, object, object] => [
      RoleDefinition,
      { name },
      { actions: ['jobs/read'] },
    ]),
    ...slugs.map((name): [AnyKind, object, object] => [
      BlueprintTemplate,
      { namespace: SYSTEM_NAMESPACE, name },
      { content: 'name: Mine' },
    ]),
  ] as never
  for (const [kind, ref, spec] of seeded)
    it(`reject changes of objects of the release, also from administrators: the ${kind.kind} ${ref.name}`, async () => {
      const change = (client: KubeClient, patch: object) =>
        refusalOf(client.mergePatch(kind.resource, ref, patch, { dryRun: true }))
      await until('the leader has created it', () =>
        refusalOf(admin.get(kind.resource, ref)).then((no) => no === undefined),
      )
      expect(await change(admin, { spec })).to.include(SEEDED)
      expect(await change(clerk, { spec })).to.be.a('string')
      expect(await change(admin, { metadata: { labels: { 'example.com/team': 'shop' } } })).to.equal(undefined)
    })

  it('do not apply to roles and plans of administrators', async () => {
    const name = uniqueName('role')
    const { apiVersion, kind, resource } = RoleDefinition
    const spec = { displayName: name, actions: ['jobs/read'], assignableScopes: ['/'] }
    await admin.create(resource, { apiVersion, kind, metadata: { name }, spec })
    await admin.mergePatch(resource, { name }, { spec: { actions: ['jobs/write'] } })
    await admin.remove(resource, { name })
    const { items } = await admin.list(ComputePlan.resource)
    const [plan] = items
    if (plan === undefined) throw new Error('There is no plan.')
    const patch = { spec: { displayName: 'Ours' } }
    expect(await refusalOf(admin.mergePatch(ComputePlan.resource, plan.metadata, patch, { dryRun: true }))).to.equal(
      undefined,
    )
  })

  it('bound field managers of apply, but let others write and reset managedFields', async () => {
    const at = { namespace: groupHome, name: uniqueName('db') }
    const { apiVersion, kind, resource } = VectorCluster
    await owner.create(resource, { apiVersion, kind, metadata: at, spec: {} })
    const write = (metadata: object, fieldManager: string) =>
      refusalOf(owner.mergePatch(resource, at, { metadata }, { fieldManager }))
    const apply = (fieldManager: string) => {
      const labels = { [`example.com/${fieldManager}`]: 'x' }
      const object = { apiVersion, kind, metadata: { ...at, labels } } as KubeObject
      return refusalOf(owner.apply(resource, object, { fieldManager }))
    }
    const managers = async () => {
      const { metadata } = await admin.get(resource, at)
      return (metadata.managedFields ?? []) as { manager: string; operation: string }[]
    }
    const appliers = async () => (await managers()).filter(({ operation }) => operation === 'Apply').length

    for (let index = 0; (await appliers()) < FIELD_MANAGERS_MAX; index += 1) {
      expect(await apply(`m${index}`)).to.equal(undefined)
    }
    expect(await apply('one-more')).to.include(METADATA_REFUSALS.managers)
    expect(await apply('m0')).to.equal(undefined)
    for (const fieldManager of ['kubectl-edit', 'kubectl-patch']) {
      expect(await write({ labels: { 'example.com/team': fieldManager } }, fieldManager)).to.equal(undefined)
    }
    const forged = Array.from({ length: 2 * FIELD_MANAGERS_MAX }, (_, index) => ({
      ...{ manager: `u${index}`, operation: 'Update', apiVersion, time: '2026-01-01T00:00:00Z' },
      ...{ fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': { 'f:labels': { [`f:example.com/u${index}`]: {} } } } },
    }))
    // Kubernetes itself bounds those of updates.
    expect(await write({ managedFields: forged }, 'kubectl-patch')).to.equal(undefined)
    expect(await managers()).to.have.length.below(FIELD_MANAGERS_MAX)
    expect(await write({ managedFields: [{}] }, 'kubectl-patch')).to.equal(undefined)
    expect(await apply('one-more')).to.equal(undefined)
  })

  describe('the size of an object', () => {
    const parameters = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`work.m${index}`, 'x'.repeat(1_024)]))
    const database = (name: string, count: number, annotations: Record<string, string> = {}) =>
      ({
        apiVersion: RelationalCluster.apiVersion,
        kind: RelationalCluster.kind,
        metadata: { namespace: groupHome, name, annotations },
        spec: { parameters: parameters(count), running: false },
      }) as KubeObject

    it('is bounded for kubectl as for REST, over spec and metadata', async () => {
      const { resource } = RelationalCluster
      const large = database(uniqueName('db'), 100, { 'example.com/large': 'x'.repeat(40_000) })
      const refusal = await refusalOf(owner.create(resource, large, { dryRun: true }))
      expect(refusal).to.match(/it has 1[4-9]\d{4} bytes of at most 131072; /)
      const tags = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`t${index}`, '物'.repeat(200)]))
      const name = uniqueName('db')
      const answer = await call<ErrorBody & { limitBytes: number }>(
        'POST',
        `${groupPath}/resources/relationalclusters/${name}`,
        { parameters: parameters(100), tags },
      )
      expect([answer.status, answer.body.code, answer.body.limitBytes]).to.deep.equal([400, 'BODY_TOO_LARGE', 131_072])
      expect(await refusalOf(owner.get(resource, { namespace: groupHome, name }))).to.be.a('string')
    })

    it('may exceed the limit in an older object as long as the spec does not grow', async () => {
      const { resource } = RelationalCluster
      const at = { namespace: groupHome, name: uniqueName('db') }
      await admin.create(resource, database(at.name, 99, { 'example.com/large': 'x'.repeat(40_000) }))
      const write = (patch: object) => refusalOf(owner.mergePatch(resource, at, patch))
      expect(await write({ spec: { parameters: { 'work.m0': 'y'.repeat(1_024) } } })).to.equal(undefined)
      expect(await write({ metadata: { labels: { 'example.com/team': 'shop' } } })).to.equal(undefined)
      expect(await write({ spec: { parameters: { 'work.more': 'y' } } })).to.include('bytes of at most 131072')
      expect(await write({ metadata: { annotations: { 'example.com/large': null } } })).to.equal(undefined)
      expect(await write({ spec: { parameters: { 'work.m1': 'y' } } })).to.equal(undefined)
      await owner.remove(resource, at)
    })
  })
})
