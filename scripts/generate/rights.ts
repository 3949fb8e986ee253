import { MEMBERSHIP_SECRET } from '../../src/contracts/clusters.ts'
import { ACTIVATOR_LEASE, KEY_DIGEST_SECRET } from '../../src/contracts/functions.ts'
import { ACTIVATOR_TUNNEL_SECRET } from '../../src/contracts/remoteCopies.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { WEBHOOK_CONFIGURATION } from '../../src/core/webhook.ts'
import { AppRuntime } from '../../src/crds/appruntimes.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { BoundaryCrosslink } from '../../src/crds/crosslink.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { PlatformClient, PlatformUser } from '../../src/crds/identity.ts'
import { ComponentRelease } from '../../src/crds/lifecycle.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import { SsoConnection } from '../../src/crds/sso.ts'
import { BOUNDARY_SECRETS_ROLE, BOUNDARY_SECRETS_WATCH_ROLE } from '../../src/desired/boundaries.ts'
import { projectedRoles } from '../../src/iam/projection.ts'
import { ACTIVATOR_ACCOUNT, CONTROLLERS_ACCOUNT, FACADE_ACCOUNT } from './policies.ts'

/** A required right: verbs on a resource, optionally on objects of given names. */
export type Right = {
  resource: { group: string; plural: string }
  verbs: readonly string[]
  resourceNames?: readonly string[]
}

const RBAC = 'rbac.authorization.k8s.io'
const labels = (component: string) => ({
  'app.kubernetes.io/part-of': 'freehold',
  'app.kubernetes.io/component': component,
})

type PolicyRule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }

/** Rules with equal verbs and group are merged into one line, so that a reviewer can read the role. */
export function policyRules(rights: readonly Right[]): PolicyRule[] {
  const verbs = new Map<string, { right: Right; verbs: Set<string> }>()
  for (const right of rights) {
    const key = [right.resource.group, right.resource.plural, ...(right.resourceNames ?? [])].join('|')
    const entry = verbs.get(key) ?? { right, verbs: new Set() }
    for (const verb of right.verbs) entry.verbs.add(verb)
    verbs.set(key, entry)
  }
  const rules = new Map<string, PolicyRule>()
  for (const { right, verbs: set } of verbs.values()) {
    const sorted = [...set].sort()
    const key = [right.resource.group, ...sorted, ...(right.resourceNames ?? [])].join('|')
    const rule = rules.get(key) ?? {
      apiGroups: [right.resource.group],
      resources: [],
      verbs: sorted,
      ...(right.resourceNames === undefined ? {} : { resourceNames: [...right.resourceNames] }),
    }
    rule.resources.push(right.resource.plural)
    rule.resources.sort()
    rules.set(key, rule)
  }
  return [...rules.values()].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
}

function clusterRole(
  name: string,
  rights: readonly Right[],
  component: string,
  extraLabels: Record<string, string> = {},
): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels: { ...labels(component), ...extraLabels } },
    rules: policyRules(rights),
  }
}

function bindCluster(account: string): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: account, labels: labels('rbac') },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: account },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: SYSTEM_NAMESPACE }],
  }
}

/** A role in our own namespace: leases, the Secrets of the identity provider, credentials of managed identities. */
function systemRole(account: string, rights: readonly Right[]): KubeObject[] {
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata: { name: account, namespace: SYSTEM_NAMESPACE, labels: labels('rbac') },
      rules: policyRules(rights),
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { name: account, namespace: SYSTEM_NAMESPACE, labels: labels('rbac') },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: account },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: SYSTEM_NAMESPACE }],
    },
  ]
}

const READ = ['get', 'list', 'watch'] as const
const secrets = { group: '', plural: 'secrets' }
const leases = { group: 'coordination.k8s.io', plural: 'leases' }

/**
 * The activator of functions: it reads functions and writes the wanted number of copies into their status. It can
 * neither change what runs nor read what belongs to tenants.
 */
function activatorRoles(): KubeObject[] {
  const { group, plural } = ServerlessFunction.resource
  return [
    clusterRole(
      ACTIVATOR_ACCOUNT,
      [
        { resource: FunctionNamespace.resource, verbs: READ },
        { resource: ServerlessFunction.resource, verbs: READ },
        { resource: { group, plural: `${plural}/status` }, verbs: ['patch'] },
      ],
      'rbac',
    ),
    bindCluster(ACTIVATOR_ACCOUNT),
    ...systemRole(ACTIVATOR_ACCOUNT, [
      // Its own lease: with the controllers' it could lead in their place.
      { resource: leases, verbs: ['get', 'update'], resourceNames: [ACTIVATOR_LEASE] },
      { resource: leases, verbs: ['create'] },
      { resource: secrets, verbs: ['get'], resourceNames: [KEY_DIGEST_SECRET] },
      // For copies on other clusters: signs in at the agents' port, which opens the copies' ports.
      { resource: secrets, verbs: ['get'], resourceNames: [ACTIVATOR_TUNNEL_SECRET] },
    ]),
  ]
}

/** How engines are reached from outside the cluster. It gives access to any pod, so it is as restricted as Secrets. */
const podsProxy = { group: '', plural: 'pods/proxy' }
/** A WebSocket request is a GET, and since Kubernetes 1.35 needs `create` too. */
const podsExec = { group: '', plural: 'pods/exec' }
const podsLog = { group: '', plural: 'pods/log' }

const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection']

/** The virtual verb at a resource that creating its parts requires. */
const verbOfPart = ({ partOf }: AnyKind, { segment }: AnyKind): string[] =>
  partOf !== undefined && 'verb' in partOf && partOf.collection === segment ? [partOf.verb] : []

/** Roles over tenants' kinds for kubectl, one set per area, gathered into Kubernetes' own view, edit and admin. */
function aggregatedRoles(kinds: readonly AnyKind[]): KubeObject[] {
  const areas = [
    ...new Set(kinds.filter((kind) => kind.aggregate && kind.placement !== 'cluster').map((kind) => kind.area)),
  ]
  return areas.flatMap((area) => {
    const here = kinds.filter((kind) => kind.area === area && kind.aggregate && kind.placement !== 'cluster')
    const view = here.flatMap((kind) => [{ resource: kind.resource, verbs: READ }, ...subresourceRights(kind, ['get'])])
    const edit = here.flatMap((kind) => [
      { resource: kind.resource, verbs: [...READ, ...WRITE, ...kinds.flatMap((part) => verbOfPart(part, kind))] },
      ...subresourceRights(kind, ['get', 'update', 'patch']),
    ])
    const aggregateTo = (role: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' })
    return [
      clusterRole(`freehold-${area}-view`, view, 'rbac', aggregateTo('view')),
      clusterRole(`freehold-${area}-edit`, edit, 'rbac', { ...aggregateTo('edit'), ...aggregateTo('admin') }),
    ]
  })
}

function subresourceRights(kind: AnyKind, verbs: string[]): Right[] {
  if (kind.scale === undefined) return []
  return [{ resource: { group: kind.resource.group, plural: `${kind.resource.plural}/scale` }, verbs }]
}

/**
 * No route writes these; administrators or the controllers do. A stolen facade token cannot extend roles or clients.
 */
const ONLY_READ: readonly AnyKind[] = [ComputePlan, AppRuntime, RoleDefinition, ComponentRelease, PlatformClient]

/** The facade reads and writes our kinds and creates their namespaces; cluster-wide it sees no Secret. */
function facadeRights(kinds: readonly AnyKind[], facadeReads: readonly Right[]): Right[] {
  return [
    ...kinds.map((kind) => ({
      resource: kind.resource,
      verbs: ONLY_READ.includes(kind) ? READ : [...READ, 'create', 'patch', 'delete'],
    })),
    // Last sign-ins of people and tokens of service accounts, missing Secrets of the system namespace, deliveries to
    // sources, signs of life of agents, and their reports of links.
    ...[PlatformUser, PlatformClient, SsoConnection, DeploymentSource, PlatformCluster, BoundaryCrosslink].map(
      ({ resource: { group, plural } }) => ({
        resource: { group, plural: `${plural}/status` },
        verbs: ['patch'],
      }),
    ),
    { resource: { group: '', plural: 'namespaces' }, verbs: ['get', 'create', 'patch'] },
    {
      resource: { group: 'admissionregistration.k8s.io', plural: 'validatingwebhookconfigurations' },
      verbs: ['get', 'patch'],
      resourceNames: [WEBHOOK_CONFIGURATION],
    },
    // Read by `freehold check`.
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map((plural) => ({
      resource: { group: 'admissionregistration.k8s.io', plural },
      verbs: ['list'],
    })),
    ...facadeReads,
  ]
}

/**
 * @param more the platform's rights in namespaces of groups on other clusters, where the agent is all accounts in one
 */
function secretRoles(more: readonly Right[] = []): KubeObject[] {
  return [
    // Bound only in namespaces of groups, where resources live; none of our accounts reads Secrets anywhere else.
    clusterRole(
      'freehold-secrets',
      [
        { resource: secrets, verbs: [...READ, 'create', 'patch', 'delete', 'deletecollection'] },
        { resource: podsProxy, verbs: ['get', 'create', 'delete'] },
        { resource: podsLog, verbs: ['get'] },
        // Pods that a StatefulSet left behind when it was recreated around them.
        { resource: { group: '', plural: 'pods' }, verbs: ['delete'] },
        ...more,
      ],
      'rbac',
    ),
    clusterRole(
      'freehold-facade-secrets',
      [
        // It deletes the parts of an upload that was refused later.
        { resource: secrets, verbs: ['get', 'create', 'patch', 'delete'] },
        { resource: podsProxy, verbs: ['get'] },
        { resource: podsLog, verbs: ['get'] },
        // Pods next to volumes, through which files are read and written, and the program in them.
        { resource: { group: 'batch', plural: 'jobs' }, verbs: ['get', 'create', 'delete'] },
        { resource: podsExec, verbs: ['get', 'create'] },
      ],
      'rbac',
    ),
  ]
}

/** What administrators of the platform see of another cluster. */
const AGENT_READS: readonly Right[] = [
  { resource: { group: '', plural: 'persistentvolumes' }, verbs: ['list'] },
  { resource: { group: 'metrics.k8s.io', plural: 'nodes' }, verbs: ['list'] },
]

/** The agent in another cluster; its account has the name to which bindings in groups give access to Secrets. */
export function agentAccessObjects(rights: readonly Right[]): KubeObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: CONTROLLERS_ACCOUNT, namespace: SYSTEM_NAMESPACE, labels: labels('agent') },
      automountServiceAccountToken: false,
    } as KubeObject,
    clusterRole(CONTROLLERS_ACCOUNT, [...rights, ...AGENT_READS], 'agent'),
    bindCluster(CONTROLLERS_ACCOUNT),
    ...systemRole(CONTROLLERS_ACCOUNT, [
      { resource: secrets, verbs: ['get', 'patch'], resourceNames: [MEMBERSHIP_SECRET] },
      { resource: secrets, verbs: ['create'] },
    ]),
    ...secretRoles([
      // Databases there are reached through ports of their pods.
      { resource: { group: '', plural: 'pods/portforward' }, verbs: ['get', 'create'] },
      // Files of volumes, through pods next to them, and events of pods.
      { resource: podsExec, verbs: ['get', 'create'] },
      { resource: { group: 'events.k8s.io', plural: 'events' }, verbs: ['list'] },
      { resource: { group: 'metrics.k8s.io', plural: 'pods' }, verbs: ['list'] },
    ]),
  ]
}

/**
 * Accounts, roles and bindings of the platform.
 *
 * @param operator what the controllers declare that they read and write
 * @param facadeReads core resources that routes read (nodes and pods for the verdict of a plan)
 */
export function accessObjects(
  kinds: readonly AnyKind[],
  operator: { cluster: readonly Right[]; system: readonly Right[] },
  facadeReads: readonly Right[],
): KubeObject[] {
  const accounts = [CONTROLLERS_ACCOUNT, FACADE_ACCOUNT, ACTIVATOR_ACCOUNT].map((name) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: SYSTEM_NAMESPACE, labels: labels('rbac') },
    automountServiceAccountToken: false,
  }))
  return [
    ...accounts,
    clusterRole(CONTROLLERS_ACCOUNT, operator.cluster, 'rbac'),
    bindCluster(CONTROLLERS_ACCOUNT),
    clusterRole(FACADE_ACCOUNT, facadeRights(kinds, facadeReads), 'rbac'),
    bindCluster(FACADE_ACCOUNT),
    ...systemRole(CONTROLLERS_ACCOUNT, [{ resource: leases, verbs: ['get', 'create', 'update'] }, ...operator.system]),
    ...systemRole(FACADE_ACCOUNT, [
      // Turns for changes that must not run concurrently.
      { resource: leases, verbs: ['get', 'create', 'delete'] },
      // Clients' secrets are read; signing keys and sign-in state are created, renewed, watched and removed.
      { resource: secrets, verbs: [...READ, 'create', 'update', 'patch', 'delete'] },
    ]),
    ...activatorRoles(),
    ...secretRoles(),
    // Bound in the namespace of each boundary, for the credentials of its sources.
    clusterRole(BOUNDARY_SECRETS_ROLE, [{ resource: secrets, verbs: ['get', 'create', 'patch'] }], 'rbac'),
    clusterRole(BOUNDARY_SECRETS_WATCH_ROLE, [{ resource: secrets, verbs: ['list', 'watch'] }], 'rbac'),
    ...aggregatedRoles(kinds),
    // ClusterRoles that represent assignments in namespaces of boundaries and groups; the controllers may bind only
    // these.
    ...projectedRoles(kinds).map((role) => clusterRole(role.clusterRole, role.rights, 'rbac')),
  ]
}
