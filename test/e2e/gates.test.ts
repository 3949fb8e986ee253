import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { shownAs } from '../../src/api/http/problem.ts'
import { ERROR_STATUS, type ErrorCode } from '../../src/core/errors.ts'
import { BOUNDARY_LABEL, LEAVING_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import {
  clusterRole,
  clusterRoleBinding,
  namespace as namespaces,
  persistentVolumeClaim,
} from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { REFUSED_WRITES, type RefusalWorld, type RestRequest } from '../cases/refusedWrites.ts'
import { sampleName, sampleSpec } from '../make/samples.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

/** A token that was never issued. */
const STRANGER = 'no.such.token'

/**
 * Deletions that REST refuses, refused to a tenant's kubectl, to an administrator's, and to Git with either account.
 */
describe('protection against deletion', () => {
  let admin: KubeClient
  let owner: KubeClient
  let boundaryId: string
  let home: string

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    home = boundaryNamespace(boundaryId)
    owner = await clientWithToken((await makeCaller({ Owner: `/boundaries/${boundaryId}` })).token)
    await until('the API server takes tokens', async () => (await owner.request({ path: '/api' })).status === 200)
  })
  after(async () => {
    await Promise.all([owner.close(), admin.close()])
  })

  const groupPath = (name: string) => `/boundaries/${boundaryId}/resourcegroups/${name}`
  async function refusalOf(write: Promise<unknown>): Promise<string> {
    try {
      await write
    } catch (error) {
      if (!isKubeError(error)) throw error
      return `${error.reason} ${error.denial?.message ?? error.message}`
    }
    return 'It was taken.'
  }
  const storedGroup = async (name: string) =>
    (await admin.get(ResourceGroup.resource, { namespace: home, name })) as ResourceGroup & KubeObject
  const untilHeldBy = (name: string, held: string[]) =>
    until(`${name} is held by ${held}`, async () => {
      const { status } = await storedGroup(name)
      return JSON.stringify(status?.heldBy) === JSON.stringify(held)
    })

  const CLOSED = 'belongs to what is being deleted'
  const placed = (client: KubeClient, kind: AnyKind, namespace: string) => {
    const spec = sampleSpec(kind, { boundaryId, ownerId: randomUUID(), memberId: randomUUID() })
    const metadata = { name: sampleName(kind, spec), namespace }
    const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec } as KubeObject
    return refusalOf(client.create(kind.resource, object, { dryRun: true }))
  }
  /** The kinds of which an administrator may create an object in the namespace, or is refused for another reason. */
  async function notClosedIn(namespace: string, ...placements: AnyKind['placement'][]): Promise<string[]> {
    const kinds = KINDS.filter(({ placement }) => placements.includes(placement))
    expect(kinds).to.have.length.above(10)
    const outcomes = await Promise.all(
      kinds.map(async (kind) => `${kind.kind}: ${await placed(admin, kind, namespace)}`),
    )
    return outcomes.filter((outcome) => !outcome.includes(CLOSED))
  }

  async function expectDeletionRefused(name: string, holder: string) {
    const rest = await call('DELETE', groupPath(name))
    expect(rest.status).to.equal(409)
    expect(rest.body).to.deep.include({ code: 'DELETION_PROTECTED', resources: [holder] })
    for (const client of [owner, admin]) {
      const refusal = await refusalOf(client.remove(ResourceGroup.resource, { namespace: home, name }))
      expect(refusal).to.include(holder)
    }
    expect((await storedGroup(name)).metadata.deletionTimestamp).to.equal(undefined)
  }

  it('holds the group of a protected database', async () => {
    await makeGroup(boundaryId, 'protected')
    const path = `${groupPath('protected')}/resources/relationalclusters/gold`
    await expectCall(201, 'POST', path, { deletionProtection: true })
    await untilHeldBy('protected', ['relationalclusters/gold'])
    await expectDeletionRefused('protected', 'relationalclusters/gold')
    const space = groupNamespace(boundaryId, 'protected')
    const foreground = owner.remove(
      ResourceGroup.resource,
      { namespace: home, name: 'protected' },
      { propagation: 'Foreground' },
    )
    expect(await refusalOf(foreground)).to.include('relationalclusters/gold')
    await admin.mergePatch(
      RelationalCluster.resource,
      { namespace: space, name: 'gold' },
      { spec: { deletionProtection: false } },
    )
    await untilHeldBy('protected', [])
    await owner.remove(ResourceGroup.resource, { namespace: home, name: 'protected' })
    await until('the group is deleted', async () => (await call('GET', groupPath('protected'))).status === 404)
  })

  it('holds the group of a volume that outlives its database', async () => {
    await makeGroup(boundaryId, 'retained')
    const path = `${groupPath('retained')}/resources/vectorclusters/keep`
    await expectCall(201, 'POST', path, {})
    await until('it runs', async () => (await call<{ status: string }>('GET', path)).body.status === 'Running')
    await expectCall(202, 'DELETE', `${path}?keepData=true`)
    await until('it is deleted', async () => (await call('GET', path)).status === 404)
    const holder = 'persistentvolumeclaims/storage-vc-keep-0'
    await untilHeldBy('retained', [holder])
    await expectDeletionRefused('retained', holder)
    const space = groupNamespace(boundaryId, 'retained')
    await admin.remove(persistentVolumeClaim, { namespace: space, name: 'storage-vc-keep-0' })
    await untilHeldBy('retained', [])
    await expectCall(202, 'DELETE', groupPath('retained'))
  })

  it('holds the boundary of a group, also against an administrator', async () => {
    await makeGroup(boundaryId, 'there')
    await until('the status of the boundary lists the group', async () => {
      const { status } = (await admin.get(Boundary.resource, { name: boundaryId })) as Boundary
      return status?.heldBy?.includes('resourcegroups/there') === true
    })
    expect((await call('DELETE', `/boundaries/${boundaryId}`)).body.code).to.equal('BOUNDARY_NOT_EMPTY')
    expect(await refusalOf(admin.remove(Boundary.resource, { name: boundaryId }))).to.include('resourcegroups/there')
    for (const name of [home, groupNamespace(boundaryId, 'there')]) {
      expect(await refusalOf(admin.remove(namespaces, { name }))).to.include('goes with its')
    }
  })

  it('blocks a deletion that came first, reports the reason, and continues when nothing holds it', async () => {
    await makeGroup(boundaryId, 'raced')
    const space = groupNamespace(boundaryId, 'raced')
    const vector = (name: string, spec: object) => ({
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name, namespace: space },
      spec,
    })
    // The status says nothing yet when the deletion is requested.
    await admin.create(VectorCluster.resource, vector('kept', { replicas: 0, onDelete: 'Retain' }))
    const outcome = await refusalOf(admin.remove(ResourceGroup.resource, { namespace: home, name: 'raced' }))
    if (outcome === 'It was taken.') {
      const { status } = await until('it is blocked', async () => {
        const group = await storedGroup('raced')
        return group.status?.phase === 'DeletionBlocked' && group
      })
      expect(status?.statusMessage).to.include('vectorclusters/kept')
      const late = vector('late', { replicas: 0 })
      expect(await refusalOf(admin.create(VectorCluster.resource, late))).to.include('is being deleted')
      const rest = await call('POST', `${groupPath('raced')}/resources/vectorclusters/late`, {})
      expect([rest.status, rest.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    } else expect(outcome).to.include('vectorclusters/kept')
    await admin.mergePatch(VectorCluster.resource, { namespace: space, name: 'kept' }, { spec: { onDelete: 'Delete' } })
    await toldOrGone('raced')
    async function toldOrGone(name: string) {
      await until('nothing holds the group', async () => {
        const rest = await call<{ status: string }>('DELETE', groupPath(name))
        return rest.status === 202 || rest.status === 404
      })
      await until('the group is deleted', async () => (await call('GET', groupPath(name))).status === 404)
    }
  })

  it('refuses new resources in a group that is being deleted, by REST and by kubectl', async () => {
    await makeGroup(boundaryId, 'going')
    const space = groupNamespace(boundaryId, 'going')
    const path = `${groupPath('going')}/resources`
    await expectCall(201, 'POST', `${path}/vectorclusters/slow`, { replicas: 0 })
    const ref = { namespace: space, name: 'slow' }
    const { finalizers = [] } = (await admin.get(VectorCluster.resource, ref)).metadata
    await admin.mergePatch(VectorCluster.resource, ref, {
      metadata: { finalizers: [...finalizers, 'example.com/hold'] },
    })
    await expectCall(202, 'DELETE', groupPath('going'))
    for (const [collection, body] of [
      ['vectorclusters', {}],
      ['secretvaults', {}],
      ['sqlclusters', { engine: 'MariaDb' }],
    ] as const) {
      const { status, body: refused } = await call('POST', `${path}/${collection}/late${collection.length}`, body)
      expect([status, refused.code], collection).to.deep.equal([409, 'INVALID_STATE'])
    }
    await until('the namespace is closed', async () => (await placed(owner, VectorCluster, space)).includes(CLOSED))
    expect(await notClosedIn(space, 'group')).to.deep.equal([])
    await admin.mergePatch(VectorCluster.resource, ref, { metadata: { finalizers: null } })
    await until('the group is deleted', async () => (await call('GET', groupPath('going'))).status === 404)
  })

  it('refuses new objects in the namespace of a boundary that is being deleted', async () => {
    const name = uniqueName('going')
    const labels = { [BOUNDARY_LABEL]: boundaryId, [LEAVING_LABEL]: 'true' }
    await admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
    expect(await notClosedIn(name, 'boundary', 'boundaryOrPlatform')).to.deep.equal([])
    await admin.mergePatch(namespaces, { name }, { metadata: { labels: { [BOUNDARY_LABEL]: null } } })
    await admin.remove(namespaces, { name })
  })
})

/** The list of refusals by the API server and its policies: each entry is provoked, and by REST as well. */
describe('refusals of the API server and of REST', () => {
  let world: RefusalWorld
  let release: () => Promise<void>

  before(async () => {
    const admin = await administrator()
    const boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    const at = `/boundaries/${boundaryId}`
    const [owner, contributor, nobody, clerk] = await Promise.all([
      makeCaller({ Owner: at, 'Secrets Officer': at }),
      makeCaller({ Contributor: at }),
      makeCaller(),
      makeCaller(),
    ])
    const name = uniqueName('clerk')
    const of = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } }
    const rules = [{ apiGroups: ['iam.freehold.dev'], resources: ['*'], verbs: ['create'] }]
    await admin.create(clusterRole, { ...of, kind: 'ClusterRole', rules })
    await admin.create(clusterRoleBinding, {
      ...of,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `p:${clerk.principalId}` }],
    })
    const tokens = { owner: owner.token, contributor: contributor.token, nobody: nobody.token, stranger: STRANGER }
    const clients = await Promise.all([...Object.values(tokens), clerk.token].map((token) => clientWithToken(token)))
    const [ofOwner, ofContributor, ofNobody, stranger, ofClerk] = clients as [
      ...[KubeClient, KubeClient, KubeClient, KubeClient, KubeClient],
    ]
    const callers = { admin, owner: ofOwner, contributor: ofContributor, nobody: ofNobody, clerk: ofClerk, stranger }
    const rest = ({ method, path, body, headers, by }: RestRequest) =>
      call<{ id?: string; code?: string; items?: { id: string }[] }>(method, path, body, {
        ...(headers !== undefined && { headers }),
        ...(by !== undefined && { token: tokens[by] }),
      })
    const untilSo: RefusalWorld['until'] = (what, look) => until(what, async () => (await look()) || false)
    world = { boundaryId, group, ...callers, rest, until: untilSo }
    const { prepare, says } = REFUSED_WRITES['freehold-iam-writers PlatformTenant'] ?? never()
    const { write } = await prepare(world)
    await until('the clerk may write', async () => (await outcomeOf(write())).words.includes(says))
    release = async () => {
      for (const resource of [clusterRoleBinding, clusterRole]) await admin.remove(resource, { name })
      await Promise.all(Object.values(callers).map((client) => client.close()))
    }
  })
  after(() => release())

  const never = () => {
    throw new Error('It is in the list.')
  }
  async function outcomeOf(write: Promise<unknown>): Promise<{ status: number; words: string }> {
    try {
      await write
      return { status: 200, words: 'It was taken.' }
    } catch (error) {
      if (!isKubeError(error)) throw error
      const causes = error.causes.map(({ field, message }) => `${field} ${message}`)
      return { status: error.status, words: [error.message, error.denial?.message, ...causes].join(' ') }
    }
  }

  for (const [gate, { prepare, status, says, codes }] of Object.entries(REFUSED_WRITES)) {
    it(`${gate} refuses${codes.length === 0 ? '' : `, and REST returns ${codes.join(', ')}`}`, async () => {
      const { write, rest, release: clean } = await prepare(world)
      try {
        const outcome = await outcomeOf(write())
        expect(outcome.words).to.include(says)
        expect(outcome.status).to.equal(status)
        for (const [code, request] of Object.entries(rest) as [ErrorCode, RestRequest][]) {
          const answer = await world.rest(request)
          const answered = [answer.status, answer.body.code]
          const shown = answer.body.module === 'rbac' ? shownAs('snake', code).code : code
          expect(answered, `${request.method} ${request.path}`).to.deep.equal([ERROR_STATUS[code], shown])
        }
      } finally {
        await clean()
      }
    })
  }
})
