import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { dump, loadAll } from 'js-yaml'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { reservedNamespaceObject } from '../../src/core/namespaces.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { isReconciled } from '../../src/crds/manifest.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { builtinResource, namespace } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { lostFields, noDrift } from '../make/drift.ts'
import { sampleName, sampleSpec } from '../make/samples.ts'
import { kubectl as runKubectl } from '../worlds/kubectl.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/git')
/** Kinds that people keep in Git: all except those whose declaration says why only the platform writes them. */
const IN_GIT = KINDS.filter(({ writtenByPlatform }) => writtenByPlatform === undefined)
/**
 * A platform has only one object of this kind, which other tests write meanwhile: with server-side apply each keeps its
 * fields, with client-side apply the last one wins. The examples apply it client-side, twice and without drift
 * (examples.test.ts).
 */
const SHARED: readonly AnyKind[] = [PlatformBackupSettings]
/** Kinds whose number of copies defaults to that of the plan. */
const FILLED = KINDS.filter(
  ({ scale, spec }) => scale !== undefined && spec.shape.replicas?.safeParse(undefined).data === undefined,
)

/** An entry of metadata.managedFields. */
type Owner = { manager: string; subresource?: string; fieldsV1?: object }

describe('objects that are kept in Git', () => {
  let admin: KubeClient
  let folder: string
  const kubectl = (...words: string[]) => runKubectl(words)
  const file = async (name: string, objects: readonly object[]) => {
    const path = join(folder, name)
    await writeFile(path, objects.map((object) => dump(object)).join('---\n'))
    return path
  }

  before(async () => {
    admin = await administrator()
    folder = await mkdtemp(join(tmpdir(), 'freehold-gitops-'))
  })
  after(async () => {
    await admin?.close()
    await rm(folder, { recursive: true, force: true })
  })

  describe('one tree of all kinds', () => {
    const boundaryId = randomUUID()
    const home = boundaryNamespace(boundaryId)
    const space = groupNamespace(boundaryId, 'reading')
    const manifest = (apiVersion: string, kind: string, at: string | undefined, name: string, spec?: object) => ({
      apiVersion,
      kind,
      metadata: { name, ...(at !== undefined && { namespace: at }) },
      ...(spec !== undefined && { spec }),
    })
    const principal = { principalId: randomUUID(), principalType: 'User', roleDefinitionName: 'Reader' }
    const assignments = [`/boundaries/${boundaryId}`, `/boundaries/${boundaryId}/resourcegroups/reading`]
    const placed = [
      manifest('data.freehold.dev/v1alpha1', 'VectorCluster', space, 'articles', { computePlan: 'vector-dev' }),
      manifest('data.freehold.dev/v1alpha1', 'SecretVault', space, `v-${boundaryId.slice(0, 8)}`, {}),
      ...assignments.map((scope) =>
        manifest(RoleAssignment.apiVersion, 'RoleAssignment', home, randomUUID(), { ...principal, scope }),
      ),
      manifest('freehold.dev/v1alpha1', 'ResourceGroup', home, 'reading'),
      manifest('freehold.dev/v1alpha1', 'Boundary', undefined, boundaryId, { displayName: 'Umbrella' }),
    ]
    const namespaces = [
      reservedNamespaceObject({ for: 'Boundary', name: home }),
      reservedNamespaceObject({ for: 'ResourceGroup', name: space }),
    ]

    it('becomes Ready in any order of apply', async () => {
      await kubectl('apply', '--server-side', '-f', await file('tree.yaml', [...namespaces, ...placed]))
      for (const { kind, metadata } of placed) {
        const at = metadata.namespace === undefined ? [] : ['-n', metadata.namespace]
        await kubectl('wait', '--for=condition=Ready', `${kind.toLowerCase()}/${metadata.name}`, ...at, '--timeout=2m')
      }
      for (const [name, kind] of [
        [home, 'Boundary'],
        [space, 'ResourceGroup'],
      ] as const) {
        const { labels } = (await admin.get(namespace, { name })).metadata
        expect(labels).to.include({ 'freehold.dev/boundary': boundaryId, 'freehold.dev/owner-kind': kind })
        expect(labels).to.include({ 'pod-security.kubernetes.io/enforce': 'restricted' })
      }
      await noDrift(kubectl, '--server-side', '-f', join(folder, 'tree.yaml'))
      const { body } = await expectCall(200, 'GET', `/boundaries/${boundaryId}/resourcegroups/reading`)
      expect(body).to.include({ name: 'reading' })
    })

    it('keeps incarnation annotations when it is applied client-side and then server-side again', async () => {
      const life = async () => {
        const { metadata } = await admin.get(ResourceGroup.resource, { namespace: home, name: 'reading' })
        return metadata.annotations?.[INCARNATION_ANNOTATION]
      }
      const before = await life()
      const group = await file('group.yaml', placed.slice(-2, -1))
      await kubectl('apply', '-f', group)
      // kubectl becomes the manager of unmanaged fields, and then removes those that the manifest lacks.
      await kubectl('apply', '--server-side', '-f', group)
      const refused = await kubectl('apply', '--server-side', '-f', group).catch(({ stderr }) => String(stderr))
      expect(await life()).to.equal(before)
      expect(refused).to.contain('freehold.dev/incarnation')
      const afresh =
        '{"metadata":{"managedFields":[{}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":null}}}'
      await kubectl('patch', '-f', group, '--type=merge', '-p', afresh)
      await kubectl('apply', '--server-side', '-f', group)
      expect(await life()).to.equal(before)
    })

    it('is deleted with the boundary and its namespaces once the groups are gone', async () => {
      await kubectl('delete', '--wait=false', '-f', await file('placed.yaml', placed.slice(0, -1)))
      await until('the boundary can be deleted', () => deleted(kubectl, ['boundary', boundaryId]))
      for (const name of [home, space]) {
        await until(`${name} is gone`, () => isGone(admin.get(namespace, { name })))
      }
    })

    it('lets only administrators reserve a namespace', async () => {
      const { principalId } = await makeCaller()
      await kubectl('create', 'clusterrole', `ns-${principalId}`, '--verb=create', '--resource=namespaces')
      await kubectl(
        'create',
        'clusterrolebinding',
        `ns-${principalId}`,
        `--clusterrole=ns-${principalId}`,
        `--user=p:${principalId}`,
      )
      const own = reservedNamespaceObject({ for: 'Boundary', name: boundaryNamespace(randomUUID()) })
      const path = await file('own.yaml', [own])
      const refusal = await until('the role counts', async () => {
        const words = await kubectl('create', '-f', path, `--as=p:${principalId}`).catch(({ stderr }) => String(stderr))
        return words.includes('written by the platform only') ? words : undefined
      })
      expect(refusal).to.contain('labels and annotations that begin with freehold.dev/')
    })
  })

  it('applies an example whose namespaces are those that its manifests need', async () => {
    const read = async (name: string) => loadAll(await readFile(join(EXAMPLE, name), 'utf8')) as KubeObject[]
    const [tenant, namespaces] = [await read('tenant.yaml'), await read('namespaces.yaml')]
    const needed = [...new Set(tenant.flatMap(({ metadata }) => metadata.namespace ?? []))].sort()
    expect(namespaces.map(({ metadata }) => metadata.name).sort()).to.deep.equal(needed)
    await kubectl('apply', '-k', EXAMPLE)
    await kubectl('wait', '--for=condition=Ready', '-f', join(EXAMPLE, 'tenant.yaml'), '--timeout=2m')
    const path = join(EXAMPLE, 'tenant.yaml')
    await until('all of it can be deleted', () => deleted(kubectl, ['-f', path]))
  })

  describe('a sync after a change by REST', () => {
    let space: string
    let path: string
    const manifest = (spec: object) => ({
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name: 'articles', namespace: space },
      spec,
    })
    const stored = async () =>
      ((await admin.get(VectorCluster.resource, { namespace: space, name: 'articles' })) as unknown as VectorCluster)
        .spec

    before(async () => {
      const boundaryId = (await makeBoundary()).id
      const group = await makeGroup(boundaryId)
      space = group.namespace
      path = `/boundaries/${boundaryId}/resourcegroups/${group.name}/resources/vectorclusters/articles`
    })

    for (const [way, options, forced] of [
      ['with force, as Flux and Argo CD do', ['--server-side', '--field-manager=git'], ['--force-conflicts']],
      ['client-side', [], []],
    ] as const)
      it(`overwrites a field of the manifest, ${way}`, async () => {
        const tree = await file('field.yaml', [manifest({ replicas: 0 })])
        await kubectl('apply', ...options, '-f', tree)
        await until('REST sees it', async () => (await call('GET', path)).status === 200)
        await expectCall(200, 'PATCH', path, { replicas: 2, tags: { by: 'rest' } })
        expect(await stored()).to.deep.include({ replicas: 2, tags: { by: 'rest' } })
        if (forced.length > 0) {
          const refused = await kubectl('apply', ...options, '-f', tree).catch(({ stderr }) => String(stderr))
          expect(refused).to.contain('conflict with "freehold-facade"').and.to.contain('.spec.replicas')
        }
        await kubectl('apply', ...options, ...forced, '-f', tree)
        // Fields that the manifest does not name stay as REST wrote them.
        expect(await stored()).to.deep.include({ replicas: 0, tags: { by: 'rest' } })
        await kubectl('delete', '-f', tree, '--timeout=2m')
      })

    it('keeps a field that has left the manifest after REST changed it', async () => {
      const options = ['--server-side', '--field-manager=git', '--force-conflicts']
      await kubectl('apply', ...options, '-f', await file('whole.yaml', [manifest({ replicas: 0, tags: { a: '1' } })]))
      await until('REST sees it', async () => (await call('GET', path)).status === 200)
      await expectCall(200, 'PATCH', path, { tags: { a: '2' } })
      await kubectl('apply', ...options, '-f', await file('part.yaml', [manifest({ replicas: 0 })]))
      expect((await stored()).tags).to.deep.equal({ a: '2' })
    })
  })

  describe('replicas that default to those of the plan', () => {
    let space: string
    before(async () => {
      space = (await makeGroup((await makeBoundary()).id)).namespace
    })

    it('exist in VectorCluster and RelationalCluster', () =>
      expect(FILLED).to.include.members([VectorCluster, RelationalCluster]))

    for (const kind of FILLED)
      it(`stay without a field manager until the manifest sets them: ${kind.kind}`, async () => {
        const metadata = { name: 'filled', namespace: space }
        const apply = async (spec: object) => {
          const tree = await file('filled.yaml', [{ apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec }])
          await kubectl('apply', '--server-side', '--field-manager=git', '-f', tree)
        }
        const stored = () => admin.get<KubeObject & { spec: { replicas?: number } }>(kind.resource, metadata)
        const filled = (what: string) =>
          until(what, async () => {
            const { spec, metadata: found } = await stored()
            const owners = ((found.managedFields ?? []) as Owner[]).filter(
              ({ subresource, fieldsV1 }) =>
                subresource !== 'status' && JSON.stringify(fieldsV1).includes('"f:replicas":{}'),
            )
            return spec.replicas === 1 && owners.length === 0
          })
        await apply({})
        await filled('replicas have the value of the plan and no field manager')
        await apply({ replicas: 2 })
        expect((await stored()).spec.replicas).to.equal(2)
        await apply({})
        await filled('replicas have the value of the plan again')
        await apply({ replicas: 3 })
        expect((await stored()).spec.replicas).to.equal(3)
      })
  })

  it('lets a tenant apply only the Secrets that an administrator names in a Role', async () => {
    const boundaryId = (await makeBoundary()).id
    const { namespace: space } = await makeGroup(boundaryId)
    const { principalId } = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    const as = async (...args: string[]) =>
      kubectl(...args, `--as=p:${principalId}`, '-n', space).then(
        () => 'done',
        ({ stderr }) => String(stderr),
      )
    const metadata = { name: 'smtp', namespace: space }
    const sealed = await file('smtp.yaml', [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: 'one' } }])
    for (const way of [[], ['--server-side']]) expect(await as('apply', ...way, '-f', sealed)).to.contain('forbidden')
    const rules = [
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['smtp'], verbs: ['get', 'update', 'patch', 'delete'] },
    ]
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { ...metadata, name: 'git-secrets' } }
    const ref = { apiGroup: 'rbac.authorization.k8s.io' }
    const binding = {
      roleRef: { ...ref, kind: 'Role', name: 'git-secrets' },
      subjects: [{ ...ref, kind: 'User', name: `p:${principalId}` }],
    }
    await kubectl(
      'apply',
      '-f',
      await file('role.yaml', [
        { ...role, kind: 'Role', rules },
        { ...role, kind: 'RoleBinding', ...binding },
      ]),
    )
    await until('the role counts', async () => (await as('apply', '--server-side', '-f', sealed)) === 'done')
    expect(await as('apply', '-f', sealed)).to.equal('done')
    expect(await as('get', 'secret', 'smtp')).to.equal('done')
    expect(await as('get', 'secrets')).to.contain('forbidden')
    expect(await as('delete', '-f', sealed)).to.equal('done')
  })

  describe('drift', () => {
    let objects: KubeObject[]
    let world: { boundaryId: string; ownerId: string; memberId: string }
    let groupHome: string

    before(async () => {
      const boundaryId = (await makeBoundary()).id
      groupHome = (await makeGroup(boundaryId)).namespace
      const { principalId: ownerId } = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
      world = { boundaryId, ownerId, memberId: (await makeCaller()).principalId }
    })

    const homeOf = ({ placement }: AnyKind) =>
      ({
        cluster: undefined,
        platform: SYSTEM_NAMESPACE,
        boundary: boundaryNamespace(world.boundaryId),
        boundaryOrPlatform: boundaryNamespace(world.boundaryId),
        group: groupHome,
      })[placement]
    const samples = (kinds: readonly AnyKind[]) =>
      kinds.map((kind) => {
        const at = homeOf(kind)
        return {
          apiVersion: kind.apiVersion,
          kind: kind.kind,
          metadata: {
            name: sampleName(kind, sampleSpec(kind, world)),
            ...(at !== undefined && { namespace: at }),
            labels: { 'example.com/team': 'search' },
            annotations: { 'example.com/why': 'a test' },
          },
          spec: sampleSpec(kind, world),
        } as KubeObject
      })
    const settled = async (object: KubeObject) => {
      const kind = kindOf(object)
      const { namespace: at, name } = object.metadata
      return until(`${object.kind} ${name} has been reconciled`, async () => {
        const live = await admin.get(kind.resource, { ...(at !== undefined && { namespace: at }), name })
        const seen = (live.status as { observedGeneration?: number } | undefined)?.observedGeneration ?? -1
        return (!isReconciled(kind) || seen >= (live.metadata.generation ?? 0)) && live
      })
    }

    for (const [way, options, kinds] of [
      ['client-side, as Argo CD does', [], IN_GIT.filter((kind) => !SHARED.includes(kind))],
      ['server-side, as Flux does', ['--server-side', '--field-manager=flux'], IN_GIT],
    ] as const) {
      it(`does not occur for any kind applied ${way}`, async () => {
        objects = samples(kinds)
        const path = await file('samples.yaml', objects)
        await kubectl('apply', ...options, '-f', path)
        const lost: string[] = []
        for (const object of objects) {
          const live = await settled(object)
          lost.push(...lostFields(object, live).map((where) => `${object.kind}: ${where}`))
        }
        expect(lost).to.deep.equal([])
        await noDrift(kubectl, ...options, '-f', path)
        const own = objects.filter((object) => !SHARED.includes(kindOf(object)))
        await kubectl('delete', '--wait=false', '-f', await file('own.yaml', own))
        for (const object of own) {
          const { namespace: at, name } = object.metadata
          const where = { ...(at !== undefined && { namespace: at }), name }
          await until(`${object.kind} ${name} is gone`, () => isGone(admin.get(kindOf(object).resource, where)))
        }
      })
    }
  })
})

function kindOf({ apiVersion, kind }: KubeObject): AnyKind {
  const found = KINDS.find((one) => one.apiVersion === apiVersion && one.kind === kind)
  if (found === undefined)
    throw new Error(`${kind} is no kind of the platform, but ${builtinResource(apiVersion, kind)}.`)
  return found
}

/** The boundary is refused until its groups are gone. */
async function deleted(kubectl: (...args: string[]) => Promise<string>, what: readonly string[]): Promise<boolean> {
  return kubectl('delete', '--ignore-not-found', '--wait=false', ...what).then(
    () => true,
    () => false,
  )
}

async function isGone(read: Promise<unknown>): Promise<boolean> {
  return read.then(
    () => false,
    (error) => {
      if (isKubeError(error, 'NotFound')) return true
      throw error
    },
  )
}
