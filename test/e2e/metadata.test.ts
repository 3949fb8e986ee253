import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { FIELD_MANAGERS_MAX, METADATA_ENTRIES_MAX, METADATA_REFUSALS } from '../../scripts/generate/metadataPolicy.ts'
import { OWNER_KIND_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, ObjectMeta } from '../../src/core/object.ts'
import { withArticle } from '../../src/core/withArticle.ts'
import { type AnyKind, MAX_OBJECT_BYTES } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { sampleName, sampleSpec } from '../make/samples.ts'
import { expectCall, makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken, giveEveryVerb } from '../worlds/tenant.ts'

/** A missing owner, for which the garbage collector deletes the dependent. */
const nobody = () => [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'nothere', uid: randomUUID() }]
const entries = (count: number, value = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/n${index}`, value]))
const managers = (names: readonly string[], apiVersion: string) =>
  names.map((manager) => ({
    manager,
    operation: 'Apply',
    apiVersion,
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${manager}`]: {} } } },
  }))

/** Kubernetes' own limit for annotations, and its message. */
const KUBERNETES = { most: 262_144, words: 'may not be more than 262144 bytes' }
/**
 * The message for the size of an object: the platform's own writers have no limit, and documents a higher one than
 * annotations.
 */
function sizeOf({ bytesMax = MAX_OBJECT_BYTES, writtenByPlatform }: AnyKind) {
  const isBound = writtenByPlatform === undefined && bytesMax <= KUBERNETES.most
  // The other metadata and the spec may be larger than these.
  return isBound ? { most: bytesMax - 300, words: `bytes of at most ${bytesMax}` } : KUBERNETES
}

const OUT_OF_BACKUPS = { 'velero.io/exclude-from-backup': 'true' }
const HOOK_OF_BACKUPS = { 'pre.hook.backup.velero.io/command': '["id"]' }

type Try = readonly [
  name: string,
  metadata: (kind: AnyKind) => Partial<ObjectMeta>,
  refusal: string | ((kind: AnyKind) => string),
]
/** What a tenant may attempt with the metadata of any object, and the message of the refusal. */
const TRIES: readonly Try[] = [
  ['a foreign owner reference', () => ({ ownerReferences: nobody() }), METADATA_REFUSALS.ownerReferences],
  ['a foreign finalizer', () => ({ finalizers: ['evil.example.com/x'] }), METADATA_REFUSALS.finalizers],
  ['too many labels', () => ({ labels: entries(METADATA_ENTRIES_MAX + 1) }), METADATA_REFUSALS.labels],
  ['too many annotations', () => ({ annotations: entries(METADATA_ENTRIES_MAX + 1) }), METADATA_REFUSALS.annotations],
  [
    'huge annotations',
    (kind) => ({ annotations: entries(2, 'x'.repeat(sizeOf(kind).most / 2)) }),
    (kind) => sizeOf(kind).words,
  ],
  ['a label that excludes it from backups', () => ({ labels: OUT_OF_BACKUPS }), METADATA_REFUSALS.backups],
  ['an annotation for backups', () => ({ annotations: HOOK_OF_BACKUPS }), METADATA_REFUSALS.backups],
  ['a label of the platform', () => ({ labels: { [OWNER_KIND_LABEL]: 'Boundary' } }), 'written by the platform only'],
  [
    'a field manager of the platform',
    ({ apiVersion }) => ({ managedFields: managers(['freehold-controllers'], apiVersion) }) as Partial<ObjectMeta>,
    METADATA_REFUSALS.ownManagers,
  ],
  [
    'too many field managers',
    ({ apiVersion }) => {
      const names = Array.from({ length: FIELD_MANAGERS_MAX + 1 }, (_, index) => `m${index}`)
      return { managedFields: managers(names, apiVersion) } as Partial<ObjectMeta>
    },
    METADATA_REFUSALS.managers,
  ],
]

/** Expected instead of a message about metadata for kinds that only REST and administrators write. */
const CLOSED = 'written through the REST API'
const wordsOf = (refusal: Try[2], kind: AnyKind) => (typeof refusal === 'string' ? refusal : refusal(kind))
const TAKEN_OFF = 'are taken off by the platform only'

/** Prefixes that generate no valid name: too long, not a UUID, or not a name at all. */
const GENERATE_NAMES = { resource: 'x'.repeat(57), uuid: 'made-', free: '-bad' } as const

describe('metadata of every kind', () => {
  let admin: KubeClient
  let owner: KubeClient
  /** Writes objects of the platform without being administrator of the cluster. */
  let contributor: KubeClient
  /** Has every Kubernetes verb on every kind, but no role of the platform: its refusals come from policies. */
  let clerk: KubeClient
  let release: () => Promise<unknown>
  let boundaryId: string
  let groupHome: string
  let groupName: string
  let ownerId: string
  let memberId: string

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    const group = await makeGroup(boundaryId)
    groupHome = group.namespace
    groupName = group.name
    const caller = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    ownerId = caller.principalId
    memberId = (await makeCaller()).principalId
    owner = await clientWithToken(caller.token)
    contributor = await clientWithToken((await makeCaller({ 'Platform Contributor': '/' })).token)
    const account = await makeCaller()
    clerk = await clientWithToken(account.token)
    release = await giveEveryVerb(admin, account.principalId)
    await until('the API server takes tokens', async () => (await owner.request({ path: '/api' })).status === 200)
    await until('the clerk may write', async () => {
      const path = '/apis/freehold.dev/v1alpha1/boundaries'
      return (await clerk.request({ path, query: { limit: '1' } })).status === 200
    })
  })
  after(async () => {
    await release()
    await Promise.all([owner.close(), contributor.close(), clerk.close(), admin.close()])
  })

  const homeOf = (kind: AnyKind) =>
    ({
      cluster: undefined,
      platform: SYSTEM_NAMESPACE,
      boundary: boundaryNamespace(boundaryId),
      boundaryOrPlatform: boundaryNamespace(boundaryId),
      group: groupHome,
    })[kind.placement]

  const specOf = (kind: AnyKind) => sampleSpec(kind, { boundaryId, ownerId, memberId })

  function objectOf(kind: AnyKind, metadata: Partial<ObjectMeta>): KubeObject {
    const name = sampleName(kind, specOf(kind))
    const namespace = homeOf(kind)
    return {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { ...(namespace !== undefined && { namespace }), ...(!metadata.generateName && { name }), ...metadata },
      spec: specOf(kind),
    } as KubeObject
  }

  /** The message of the refusal; undefined if the API server would accept the object. */
  async function refusalOf(write: Promise<unknown>): Promise<string | undefined> {
    try {
      await write
      return undefined
    } catch (error) {
      if (!isKubeError(error)) throw error
      // Only admitted objects are read back: of some kinds the platform already has one.
      if (error.reason === 'AlreadyExists') return undefined
      const { message, causes, denial } = error
      return [message, denial?.message ?? '', ...causes.map((cause) => cause.message)].join('\n')
    }
  }
  const tryCreate = (client: KubeClient, kind: AnyKind, metadata: Partial<ObjectMeta> = {}) =>
    refusalOf(client.create(kind.resource, objectOf(kind, metadata), { dryRun: true }))

  /** Everything that a tenant can write with kubectl: access control, a group, and everything in one. */
  const WRITTEN_BY_TENANTS = [
    'ResourceGroup',
    'RoleAssignment',
    'PrincipalGroup',
    'DenyAssignment',
    'JitRequest',
    'VectorCluster',
    'SecretVault',
    'VaultEntry',
    'RelationalCluster',
    'SqlInstance',
    'ObjectStorageAccount',
  ]

  /** Requests are created and withdrawn, never changed. */
  const CHANGED_BY_TENANTS = WRITTEN_BY_TENANTS.filter((kind) => kind !== 'JitRequest')

  for (const kind of KINDS) {
    describe(`a ${kind.kind}`, () => {
      it('is admitted with valid metadata from an administrator and from the tenants who write the kind', async () => {
        expect(await tryCreate(admin, kind)).to.equal(undefined)
        if (WRITTEN_BY_TENANTS.includes(kind.kind)) expect(await tryCreate(owner, kind)).to.equal(undefined)
      })

      it('is rejected with an owner reference, which would let the garbage collector delete it', async () => {
        const refusal = await tryCreate(admin, kind, { ownerReferences: nobody() })
        expect(refusal).to.include(METADATA_REFUSALS.ownerReferences)
      })

      for (const [name, metadata, told] of TRIES) {
        const words = wordsOf(told, kind)
        it(`is rejected with ${name} from a tenant`, async () => {
          const refusal = await tryCreate(owner, kind, metadata(kind))
          expect(refusal).to.be.a('string')
          if (WRITTEN_BY_TENANTS.includes(kind.kind)) expect(refusal).to.include(words)
        })
      }

      it('is rejected with a generateName that yields no valid name', async () => {
        expect(await tryCreate(admin, kind, { generateName: GENERATE_NAMES[kind.name] })).to.be.a('string')
      })
    })
  }

  it('rejects a field manager of the platform from a tenant', async () => {
    const name = uniqueName('db')
    const at = { namespace: groupHome, name }
    const group = `/boundaries/${boundaryId}/resourcegroups/${groupName}`
    await expectCall(201, 'POST', `${group}/resources/vectorclusters/${name}`, {})
    const change = (fieldManager: string) =>
      refusalOf(owner.mergePatch(VectorCluster.resource, at, { spec: { replicas: 2 } }, { fieldManager, dryRun: true }))
    expect(await change('kubectl-edit')).to.equal(undefined)
    expect(await change('freehold-facade')).to.include(METADATA_REFUSALS.ownManagers)
  })

  /** Values of fields that only administrators write, valid for the schema. */
  const PROTECTED: Record<string, unknown> = {
    quota: { resources: 1 },
    tenantId: randomUUID(),
    connectTo: 'other',
    install: { step: 'Install', stateHash: '0'.repeat(64), expiresAt: '2099-01-01T00:00:00Z' },
    image: 'docker.io/library/nginx:1.29',
    source: {
      ...{ hash: '0'.repeat(64), sizeBytes: 1, fileCount: 1, parts: 1, deploymentId: randomUUID() },
      ...{ uploadedAt: '2026-01-01T00:00:00Z', uploadedBy: 'me' },
    },
    history: { life: 1, lastVersion: 1, versions: [], softDelete: true, purgeProtection: false },
    isPlatform: true,
  }
  /** Instead of samples that another rule refuses too: Kubernetes reports either. */
  const OTHERWISE_TAKEN: Record<string, object> = {
    DeploymentSource: { provider: 'GitHub', displayName: 'Shop', baseUrl: 'https://github.com' },
  }
  const administered = KINDS.flatMap((kind) =>
    Object.entries(kind.protectedFields ?? {}).flatMap(([field, verb]) =>
      verb === 'administrators' ? [{ kind, field }] : [],
    ),
  )
  for (const { kind, field } of administered) {
    it(`rejects ${field} in a new ${kind.kind} from anybody but an administrator`, async () => {
      const made = objectOf(kind, {})
      const spec = OTHERWISE_TAKEN[kind.kind] ?? (made.spec as object)
      const object = { ...made, spec: { ...spec, [field]: PROTECTED[field] } }
      const words = `the ${field} of ${withArticle(kind.kind)} is written by an administrator of the cluster only`
      const refusals = await Promise.all(
        [owner, contributor].map((client) => refusalOf(client.create(kind.resource, object, { dryRun: true }))),
      )
      // Callers who may not write the kind at all learn nothing more.
      const explained = refusals.filter((refusal) => refusal?.split('\n')[1] !== '')
      expect(refusals).to.not.include(undefined)
      if (kind.kind !== 'Boundary') expect(explained, refusals.join()).to.not.have.length(0)
      for (const refusal of explained) expect(refusal, refusal).to.include(words)
    })
  }

  /** Creates an object of the kind, or finds the only one. */
  async function storedOf(kind: AnyKind): Promise<{ object: KubeObject; remove: () => Promise<unknown> }> {
    const wanted = objectOf(kind, {})
    const { namespace, name } = wanted.metadata
    const ref = { ...(namespace !== undefined && { namespace }), name }
    try {
      const object = await admin.create(kind.resource, wanted)
      return { object, remove: () => admin.remove(kind.resource, ref) }
    } catch (error) {
      if (!isKubeError(error, 'AlreadyExists')) throw error
      return { object: await admin.get(kind.resource, ref), remove: async () => undefined }
    }
  }

  /**
   * The refusal of a metadata write: by its policy, or because the kind is closed. If several policies refuse it, the
   * API server reports any of them.
   */
  const expectRefused = (kind: AnyKind, what: string, refusal: string | undefined, ...words: string[]) => {
    const all = kind.group === 'iam' ? [...words, CLOSED] : words
    expect(
      all.some((one) => refusal?.includes(one)),
      `${kind.kind}: ${what}: ${refusal}: ${all.join(' or ')}`,
    ).to.equal(true)
  }

  for (const kind of KINDS) {
    it(`rejects updates to invalid metadata, and deletion with orphans, of a ${kind.kind}`, async () => {
      const { object, remove } = await storedOf(kind)
      const { namespace, name } = object.metadata
      const ref = { ...(namespace !== undefined && { namespace }), name }
      const change = async (client: KubeClient, metadata: Partial<ObjectMeta>, options: object = {}) => {
        for (;;) {
          const patch = { metadata: { ...metadata, ...(await withOwnFinalizers(metadata)) } }
          const refusal = await refusalOf(client.mergePatch(kind.resource, ref, patch, { dryRun: true, ...options }))
          // A controller has added its own in between.
          if (refusal?.includes(TAKEN_OFF) !== true) return refusal
        }
      }
      /** A merge patch replaces lists, and removing the platform's own finalizer is refused with another message. */
      const withOwnFinalizers = async ({ finalizers: added }: Partial<ObjectMeta>) => {
        if (added === undefined) return {}
        const { finalizers = [] } = (await admin.get(kind.resource, ref)).metadata
        return { finalizers: [...finalizers, ...added] }
      }
      try {
        // Of access control the webhook asks for the caller's own rights, after the policies.
        const plain = await change(clerk, { labels: { 'example.com/team': 'shop' } })
        if (kind.group !== 'iam') expect(plain).to.equal(undefined)
        const updates = TRIES.map(async ([what, metadata, told]) => {
          const words = wordsOf(told, kind)
          const tried = metadata(kind)
          // Metadata that the platform has written is repeated in each write.
          const options = words === METADATA_REFUSALS.ownManagers ? { fieldManager: 'freehold-controllers' } : {}
          expectRefused(kind, what, await change(clerk, tried, options), words)
          if (CHANGED_BY_TENANTS.includes(kind.kind))
            expect(await change(owner, tried, options), `${kind.kind}: ${what}`).to.include(words)
        })
        const byAdministrator = change(admin, { ownerReferences: nobody() })
        const orphans = [{ propagationPolicy: 'Orphan' }, { orphanDependents: true }].map(async (options) => {
          const refusal = await removal(kind, `/${name}`, options)
          expectRefused(kind, JSON.stringify(options), refusal, METADATA_REFUSALS.orphans)
        })
        // All of a kind that are in the group at once, too, which another policy refuses as well.
        if (kind.placement === 'group') {
          const refusal = await removal(kind, '', { propagationPolicy: 'Orphan' })
          expectRefused(kind, 'all of them', refusal, METADATA_REFUSALS.orphans, 'are deleted one by one')
        }
        await Promise.all([...updates, ...orphans])
        expect(await byAdministrator).to.include(METADATA_REFUSALS.ownerReferences)
      } finally {
        await remove()
      }
    })
  }

  /** The message when the clerk deletes it; nothing is deleted. */
  async function removal(kind: AnyKind, rest: string, options: object): Promise<string> {
    const { group, version, plural } = kind.resource
    const namespace = homeOf(kind)
    const place = namespace === undefined ? '' : `/namespaces/${namespace}`
    const answer = await clerk.request({
      method: 'DELETE',
      path: `/apis/${group}/${version}${place}/${plural}${rest}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'], ...options }),
    })
    const text = await answer.text()
    return answer.status === 403 ? text : `${answer.status}`
  }

  it('rejects deletion with propagation Orphan, and admits Background', async () => {
    const name = 'left-behind'
    await owner.create(VectorCluster.resource, {
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name, namespace: groupHome },
      spec: {},
    })
    const path = `/apis/data.freehold.dev/v1alpha1/namespaces/${groupHome}/vectorclusters/${name}`
    const removed = (options: object) =>
      owner.request({
        method: 'DELETE',
        path,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', ...options }),
      })
    const answer = await removed({ propagationPolicy: 'Orphan' })
    expect([answer.status, JSON.parse(await answer.text()).message]).to.deep.equal([
      403,
      `vectorclusters.data.freehold.dev "${name}" is forbidden: ValidatingAdmissionPolicy 'freehold-orphans' with binding 'freehold-orphans' denied request: ${METADATA_REFUSALS.orphans}`,
    ])
    const gone = await removed({ propagationPolicy: 'Background' })
    expect([gone.status, await gone.text()][0]).to.equal(200)
  })
})
