import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY_LABEL, GROUP_LABEL, INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { groupNamespaceObject } from '../../src/core/namespaces.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { AnyKind, Rule } from '../../src/crds/define.ts'
import { MemberInvitation } from '../../src/crds/invitations.ts'
import { PrincipalGroup, RoleAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { configMap, namespace as namespaceResource, secret, statefulSet } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError, type KubeError } from '../../src/kube/errors.ts'
import { RULE_CASES } from '../cases/ruleCases.ts'
import { fittingName } from '../make/samples.ts'
import { until } from '../make/until.ts'
import {
  administrator,
  bindEdit,
  clientWithToken,
  makeServiceAccount,
  removeGroups,
  type ServiceAccount,
} from '../worlds/tenant.ts'

const object = (kind: AnyKind, name: string, namespace: string | undefined, spec: object): KubeObject => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: namespace === undefined ? { name } : { name, namespace },
  spec,
})

async function refusal(write: Promise<unknown>): Promise<KubeError> {
  try {
    await write
  } catch (error) {
    if (isKubeError(error)) return error
    throw error
  }
  throw new Error('It was admitted.')
}

/** The controllers write to the same objects meanwhile. */
async function retryConflicts<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write()
    } catch (error) {
      if (attempt === 20 || !isKubeError(error, 'Conflict')) throw error
    }
  }
}

/** A newly bound role takes effect a moment later; until then the refusal is RBAC's. */
async function untilRefused(words: RegExp, write: () => Promise<unknown>): Promise<void> {
  await until(`it is refused with ${words}`, async () => words.test(said(await refusal(write()))))
}

const said = ({ message, causes, denial }: KubeError) =>
  [message, denial?.message ?? '', ...causes.map((cause) => cause.message)].join('\n')

describe('admission by the API server', () => {
  const boundaryId = randomUUID()
  const group = 'admission'
  const groupHome = groupNamespace(boundaryId, group)
  let admin: KubeClient
  let tenant: KubeClient
  let account: ServiceAccount

  before(async () => {
    admin = await administrator()
    await admin.create(Boundary.resource, object(Boundary, boundaryId, undefined, { displayName: 'Admission' }))
    await until('the boundary is ready', async () =>
      hasCondition(await admin.get(Boundary.resource, { name: boundaryId })),
    )
    const ref = { namespace: boundaryNamespace(boundaryId), name: group }
    await admin.create(ResourceGroup.resource, object(ResourceGroup, group, ref.namespace, {}))
    await until('the group is ready', async () => hasCondition(await admin.get(ResourceGroup.resource, ref)))
    account = await makeServiceAccount(admin)
    await Promise.all(
      [groupHome, boundaryNamespace(boundaryId), 'default', SYSTEM_NAMESPACE].map((home) =>
        bindEdit(admin, home, account.clientId),
      ),
    )
    tenant = await clientWithToken(account.token)
    // The API server asks for the issuer's keys every ten seconds until it is there.
    await until('the API server takes tokens', async () => (await tenant.request({ path: '/api' })).status === 200)
  })

  after(async () => {
    await removeGroups(admin, boundaryId)
    await Promise.all(
      ['default', SYSTEM_NAMESPACE].map((home) =>
        admin.remove(
          {
            group: 'rbac.authorization.k8s.io',
            version: 'v1',
            plural: 'rolebindings',
            kind: 'RoleBinding',
            namespaced: true,
          },
          { namespace: home, name: `edit-${account.clientId}` },
        ),
      ),
    )
    await tenant.close()
    await admin.close()
  })

  describe('rules of a kind, with the messages of the facade', () => {
    const namespaceOf = (kind: AnyKind) =>
      ({
        cluster: undefined,
        platform: SYSTEM_NAMESPACE,
        boundary: boundaryNamespace(boundaryId),
        boundaryOrPlatform: boundaryNamespace(boundaryId),
        group: groupHome,
      })[kind.placement]

    const platformCluster = async () => {
      const { items } = await admin.list(PlatformCluster.resource)
      const found = items.find(({ spec }) => (spec as { isPlatform?: boolean }).isPlatform === true)
      return found ?? expect.fail('there is no cluster of the platform')
    }
    const changed = (before: object, after: object) => {
      const held = new Map(Object.entries(before).map(([key, value]) => [key, JSON.stringify(value)]))
      return Object.fromEntries(Object.entries(after).filter(([key, value]) => held.get(key) !== JSON.stringify(value)))
    }

    /** The object of the case before, whose name also fits this spec, may still be terminating. */
    const made = async (wanted: KubeObject, kind: AnyKind, options: { dryRun?: boolean } = {}) => {
      const { error } = await until(`${wanted.metadata.name} is free`, () =>
        admin.create(kind.resource, wanted, options).then(
          () => ({ error: undefined }),
          (error: unknown) => (isKubeError(error, 'AlreadyExists') ? false : { error }),
        ),
      )
      if (error !== undefined) throw error
    }

    for (const { name, kind, previous, next, refused } of RULE_CASES) {
      it(name, async () => {
        const named = fittingName(kind, previous ?? next)
        const ref = { namespace: namespaceOf(kind), name: named }
        // The cluster of the platform cannot be deleted, so the existing one is used.
        const isLasting = (previous as { isPlatform?: boolean } | undefined)?.isPlatform === true
        const write = async () => {
          if (previous === undefined) return made(object(kind, named, ref.namespace, next), kind, { dryRun: true })
          if (!isLasting) await made(object(kind, named, ref.namespace, previous), kind)
          return retryConflicts(async () => {
            const stored = isLasting ? await platformCluster() : await admin.get(kind.resource, ref)
            const spec = isLasting ? { ...(stored.spec as object), ...changed(previous, next) } : next
            return admin.update(kind.resource, { ...stored, spec }, { dryRun: true })
          })
        }
        try {
          if (refused.length === 0) return void (await write())
          const error = await refusal(write())
          for (const message of refused) expect(said(error)).to.include(message)
          const rules = (kind.rules as unknown as readonly Rule<unknown>[]).filter(({ message }) =>
            refused.includes(message),
          )
          for (const { field, message } of rules) {
            const cause = error.causes.find((one) => one.message.includes(message))
            expect(cause?.field, 'the field, for clients of Kubernetes').to.match(new RegExp(`^spec\\.${field}`))
          }
        } finally {
          if (previous !== undefined && !isLasting) await admin.remove(kind.resource, ref)
        }
      })
    }
  })

  describe('requests of a tenant with kubectl', () => {
    it('admits a VectorCluster in the namespace of a group', async () => {
      const made = await tenant.create(VectorCluster.resource, object(VectorCluster, 'of-a-tenant', groupHome, {}), {
        dryRun: true,
      })
      expect(made.metadata.namespace).to.equal(groupHome)
    })

    for (const [where, home] of [
      ['a namespace of no boundary', 'default'],
      ['the namespace of a boundary', boundaryNamespace(boundaryId)],
      ['the namespace of the platform', SYSTEM_NAMESPACE],
    ] as const) {
      it(`rejects a VectorCluster in ${where}`, async () => {
        const error = await refusal(tenant.create(VectorCluster.resource, object(VectorCluster, 'astray', home, {})))
        expect(said(error)).to.match(/stands only in the namespace of a resource group/)
      })
    }

    it('rejects a ResourceGroup outside the namespace of a boundary, also from an administrator', async () => {
      const error = await refusal(admin.create(ResourceGroup.resource, object(ResourceGroup, 'astray', groupHome, {})))
      expect(said(error)).to.match(/stands only in a boundary's own namespace/)
    })

    it('rejects a reserved name of the REST paths', async () => {
      const error = await refusal(tenant.create(VectorCluster.resource, object(VectorCluster, 'config', groupHome, {})))
      expect(said(error)).to.match(/reserved/)
    })

    const iam: [AnyKind, object][] = [
      [
        RoleAssignment,
        {
          principalId: randomUUID(),
          principalType: 'User',
          roleDefinitionName: 'Owner',
          scope: `/boundaries/${boundaryId}`,
        },
      ],
      [PrincipalGroup, { displayName: 'Friends' }],
    ]
    for (const [kind, spec] of iam) {
      it(`rejects a ${kind.kind}`, async () => {
        const error = await refusal(
          tenant.create(kind.resource, object(kind, randomUUID(), boundaryNamespace(boundaryId), spec)),
        )
        expect(error.status).to.equal(403)
      })
    }

    it('rejects IAM objects also from a caller whose Role permits them by mistake', async () => {
      const name = `iam-${account.clientId}`
      await makeRole(admin, name, boundaryNamespace(boundaryId), account.clientId, [
        { apiGroups: ['iam.freehold.dev'], resources: ['*'], verbs: ['*'] },
      ])
      const write = (kind: AnyKind, spec: object) =>
        tenant.create(kind.resource, object(kind, randomUUID(), boundaryNamespace(boundaryId), spec))
      const [assignment, group] = iam
      if (assignment === undefined || group === undefined) throw new Error('no case')
      await untilRefused(/The permission boundaries\/members\/manage is missing/, () => write(...assignment))
      expect(said(await refusal(write(...group)))).to.match(/The permission rbac\/members\/write is missing/)
      const invitation = RULE_CASES.find(({ kind: one, refused }) => one === MemberInvitation && refused.length === 0)
      expect(said(await refusal(write(MemberInvitation, invitation?.next ?? {})))).to.match(
        /written through the REST API/,
      )
    })

    describe('objects that the controllers would adopt', () => {
      const forgeries: [string, Resource, (owner: KubeObject) => KubeObject][] = [
        [
          'a Secret with an owner reference to a VectorCluster',
          secret,
          (owner) => child('v1', 'Secret', 'vc-victim-apikey', { ownerReferences: [reference(owner)] }),
        ],
        [
          'a ConfigMap with labels of the platform',
          configMap,
          () => child('v1', 'ConfigMap', 'labelled', { labels: { 'freehold.dev/owner-kind': 'VectorCluster' } }),
        ],
        [
          'a ConfigMap with annotations of the platform',
          configMap,
          () => child('v1', 'ConfigMap', 'annotated', { annotations: { 'freehold.dev/incarnation': randomUUID() } }),
        ],
        [
          'a StatefulSet with an owner reference to a VectorCluster',
          statefulSet,
          (owner) => ({
            ...child('apps/v1', 'StatefulSet', 'vc-victim', { ownerReferences: [reference(owner)] }),
            spec: workload(),
          }),
        ],
      ]
      for (const [what, resource, build] of forgeries) {
        it(`rejects ${what}`, async () => {
          await makeRole(admin, `all-${account.clientId}`, groupHome, account.clientId, [
            { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
          ])
          const owner = object(VectorCluster, 'victim', groupHome, {})
          const stored = { ...owner, metadata: { ...owner.metadata, uid: randomUUID() } }
          await untilRefused(/written by the platform only/, () => tenant.create(resource, build(stored)))
        })
      }

      it('rejects the label of a group on a new namespace, and its removal from an existing one', async () => {
        const name = `forged-${boundaryId.slice(0, 8)}`
        await makeClusterRole(admin, `namespaces-${account.clientId}`, account.clientId)
        const forged = {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name, labels: { [BOUNDARY_LABEL]: boundaryId, [GROUP_LABEL]: 'x' } },
        }
        await untilRefused(/written by the platform only/, () => tenant.create(namespaceResource, forged))
        const patch = { metadata: { labels: { [GROUP_LABEL]: null } } }
        expect(said(await refusal(tenant.mergePatch(namespaceResource, { name: groupHome }, patch)))).to.match(
          /written by the platform only/,
        )
      })
    })
  })

  it('creates the namespace of a group with the labels and annotations of groupNamespaceObject', async () => {
    const ref = { namespace: boundaryNamespace(boundaryId), name: group }
    const { metadata } = await admin.get(ResourceGroup.resource, ref)
    const incarnation = metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    expect(incarnation).to.not.equal('')
    const wanted = groupNamespaceObject(boundaryId, group, incarnation).metadata
    const { labels, annotations } = (await admin.get(namespaceResource, { name: groupHome })).metadata
    expect(labels).to.include(wanted.labels)
    expect(annotations).to.include(wanted.annotations)
  })

  function child(apiVersion: string, kind: string, name: string, metadata: object): KubeObject {
    return { apiVersion, kind, metadata: { name, namespace: groupHome, ...metadata } }
  }
})

function reference(owner: KubeObject) {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
  }
}

function workload(): object {
  const labels = { app: 'victim' }
  return {
    serviceName: 'x',
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } },
  }
}

function hasCondition(found: KubeObject): boolean {
  const status = found.status as { conditions?: { type: string; status: string }[] } | undefined
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true
}

const RBAC = 'rbac.authorization.k8s.io'

async function makeRole(
  admin: KubeClient,
  name: string,
  namespace: string,
  clientId: string,
  rules: object[],
): Promise<void> {
  const resource = (plural: string, kind: string): Resource => ({
    group: RBAC,
    version: 'v1',
    plural,
    kind,
    namespaced: true,
  })
  const base = { apiVersion: `${RBAC}/v1`, metadata: { name, namespace } }
  await admin.apply(resource('roles', 'Role'), { ...base, kind: 'Role', rules }, { force: true })
  const subjects = [{ apiGroup: RBAC, kind: 'User', name: `p:${clientId}` }]
  await admin.apply(
    resource('rolebindings', 'RoleBinding'),
    { ...base, kind: 'RoleBinding', roleRef: { apiGroup: RBAC, kind: 'Role', name }, subjects },
    { force: true },
  )
}

async function makeClusterRole(admin: KubeClient, name: string, clientId: string): Promise<void> {
  const resource = (plural: string, kind: string): Resource => ({
    group: RBAC,
    version: 'v1',
    plural,
    kind,
    namespaced: false,
  })
  const base = { apiVersion: `${RBAC}/v1`, metadata: { name } }
  await admin.apply(
    resource('clusterroles', 'ClusterRole'),
    { ...base, kind: 'ClusterRole', rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['*'] }] },
    { force: true },
  )
  const subjects = [{ apiGroup: RBAC, kind: 'User', name: `p:${clientId}` }]
  await admin.apply(
    resource('clusterrolebindings', 'ClusterRoleBinding'),
    { ...base, kind: 'ClusterRoleBinding', roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name }, subjects },
    { force: true },
  )
}
