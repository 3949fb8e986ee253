import type { Permissions } from './permissions.ts'

/** Where a role may be assigned: at the platform root, or at a boundary and everything in it. */
export type AssignableScope = '/' | '/boundaries/*'

export type Role = Permissions & {
  /** Name of the RoleDefinition object. */
  readonly name: string
  /** The name by which assignments refer to the role, matched exactly. */
  readonly displayName: string
  readonly description: string
  readonly assignableScopes: readonly AssignableScope[]
  /** The incarnation of the definition; undefined for built-in roles and until it is known. */
  readonly incarnation?: string | undefined
}

const ANY_SCOPE = ['/', '/boundaries/*'] as const
const ROOT_ONLY = ['/'] as const

/** Reads that do not end in `/read`. The two lists below are actions that do end in it but are not for every reader. */
const READ_ALL = ['*/read', 'sqlcluster/schemaRead'] as const
const PRIVILEGED_READS = ['boundaries/invitations/read', 'object/audit/read'] as const
const ROOT_READS = ['kernel/clusters/read', 'monitoring/platform/read', 'registry/audit/read'] as const
const READ_LOGS = [
  'apps/readLogs',
  'containerinstance/readLogs',
  'functions/readLogs',
  'jobs/readLogs',
  'staticwebapp/readLogs',
] as const

/** Actions on the contents of tenants' resources that are not declared as data actions: rows, keys, tokens. */
const TENANT_CONTENT = [
  'sqlcluster/dataRead',
  'sqlcluster/dataWrite',
  'objectaccesskeys/write',
  'objectaccesskeys/delete',
  'objectsts/issue',
  'kernel/deployments/token',
] as const

function role(
  displayName: string,
  description: string,
  assignableScopes: readonly AssignableScope[],
  permissions: Partial<Permissions>,
): Role {
  const name = displayName.toLowerCase().replaceAll(' ', '-')
  const { actions = [], notActions = [], dataActions = [], notDataActions = [] } = permissions
  return { name, displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes }
}

/**
 * The roles that every platform has. Owners of a boundary hold no root action although they hold `*`, because root
 * actions are only granted at `/`.
 */
export const BUILT_IN_ROLES: readonly Role[] = [
  role('Owner', 'Everything at the scope, including the access of others.', ANY_SCOPE, {
    actions: ['*'],
    dataActions: ['*'],
  }),
  role(
    'Contributor',
    'Everything at the scope except the access of others, the boundary itself and vault values.',
    ANY_SCOPE,
    {
      actions: ['*'],
      notActions: [
        // Access of others.
        'boundaries/members/manage',
        'boundaries/invitations/*',
        'rbac/members/write',
        'rbac/members/admin',
        'rbac/boundaryTrusts/*',
        'rbac/idpBindings/*',
        'rbac/projector/*',
        // The boundary itself.
        'boundaries/create',
        'boundaries/delete',
        'boundaries/manage',
        'boundaries/tenant/*',
        'boundaries/projections/manage',
        'crosslink/admin',
        // The platform.
        'kernel/clusters/*',
        'lifecycle/*',
        'monitoring/platform/*',
        'registry/audit/*',
        'registry/retention/*',
      ],
      dataActions: ['*'],
      notDataActions: ['secretvault/*', 'managedidentities/*'],
    },
  ),
  role('Reader', 'Sees every resource at the scope, changes nothing, reads no secrets, logs or files.', ANY_SCOPE, {
    actions: [...READ_ALL],
    notActions: [...PRIVILEGED_READS, ...ROOT_READS],
  }),
  role(
    'Platform Owner',
    'Runs the platform and grants access to it, without reading the contents of tenants.',
    ANY_SCOPE,
    {
      actions: ['*'],
      notActions: [...TENANT_CONTENT],
    },
  ),
  role(
    'Platform Contributor',
    'Runs the platform: clusters, upgrades, backups, alerts. Sees every boundary.',
    ROOT_ONLY,
    {
      actions: [
        ...READ_ALL,
        'boundaries/create',
        'kernel/clusters/write',
        'lifecycle/*',
        'monitoring/platform/alerts/write',
        'registry/retention/manage',
      ],
      notActions: [...PRIVILEGED_READS],
    },
  ),
  role('Platform Reader', 'Sees the platform and every boundary, changes nothing.', ROOT_ONLY, {
    actions: [...READ_ALL, 'lifecycle/view'],
    notActions: [...PRIVILEGED_READS],
  }),
  role('LLM Gateway Consumer', 'May call language models through a gateway that asks this platform.', ROOT_ONLY, {
    actions: ['llmgateway/invoke'],
  }),
  role('Secrets Officer', 'Reads and writes the values of secret vaults.', ANY_SCOPE, {
    actions: ['secretvault/read'],
    dataActions: ['secretvault/readSecrets', 'secretvault/writeSecrets'],
  }),
  role('Secrets Reader', 'Reads the values of secret vaults.', ANY_SCOPE, {
    actions: ['secretvault/read'],
    dataActions: ['secretvault/readSecrets'],
  }),
  role('Deployer', 'For pipelines: sees resources, deploys sites, reads logs, reports what was deployed.', ANY_SCOPE, {
    actions: [...READ_ALL, 'kernel/deployments/token', 'kernel/activity/write'],
    notActions: [...PRIVILEGED_READS, ...ROOT_READS],
    dataActions: ['staticwebapp/deploy', ...READ_LOGS],
  }),
  role('Cluster Agent', 'For the agent in another cluster: projects boundaries there and reports.', ANY_SCOPE, {
    actions: ['crosslink/admin', 'boundaries/projections/read', 'kernel/activity/write'],
  }),
  role('Alert Publisher', 'Reports alerts of the platform.', ROOT_ONLY, {
    actions: ['monitoring/platform/alerts/write'],
  }),
]

export function isAssignableAtRoot(role: Pick<Role, 'assignableScopes'>): boolean {
  return role.assignableScopes.includes('/')
}

export function isAssignableBelowRoot(role: Pick<Role, 'assignableScopes'>): boolean {
  return role.assignableScopes.includes('/boundaries/*')
}

/** Granting a root-only role needs more than the right to grant: the granter must be Owner or Platform Owner at `/`. */
export function isRootOnly(role: Pick<Role, 'assignableScopes'>): boolean {
  return !isAssignableBelowRoot(role)
}
