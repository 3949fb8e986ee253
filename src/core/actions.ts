/**
 * Every action of the interface, declared once: routes require them, and patterns of roles match them (interface
 * section 5). To add an action, add one line to the control, data or root list.
 */
const CONTROL_ACTIONS = [
  'apps/delete',
  'apps/read',
  'apps/write',
  'blueprints/read',
  'blueprints/templates/write',
  'boundaries/invitations/create',
  'boundaries/invitations/read',
  'boundaries/manage',
  'boundaries/members/manage',
  'boundaries/members/read',
  'boundaries/network/read',
  'boundaries/projections/manage',
  'boundaries/projections/read',
  'boundaries/read',
  'containerinstance/delete',
  'containerinstance/read',
  'containerinstance/write',
  'crosslink/admin',
  'functions/delete',
  'functions/read',
  'functions/write',
  'jobs/delete',
  'jobs/read',
  'jobs/write',
  'kernel/activity/read',
  'kernel/activity/write',
  'kernel/deployments/delete',
  'kernel/deployments/read',
  'kernel/deployments/token',
  'kernel/deployments/write',
  'managedidentities/delete',
  'managedidentities/read',
  'managedidentities/write',
  'monitoring/read',
  'object/audit/read',
  'objectaccesskeys/delete',
  'objectaccesskeys/read',
  'objectaccesskeys/write',
  'objectbuckets/delete',
  'objectbuckets/read',
  'objectbuckets/write',
  'objectstorageaccounts/delete',
  'objectstorageaccounts/read',
  'objectstorageaccounts/write',
  'objectsts/issue',
  'rbac/members/read',
  'rbac/members/write',
  'relationalcluster/createSnapshot',
  'relationalcluster/delete',
  'relationalcluster/deleteSnapshot',
  'relationalcluster/read',
  'relationalcluster/restoreSnapshot',
  'relationalcluster/scale',
  'relationalcluster/write',
  'resourcegroups/delete',
  'resourcegroups/read',
  'resourcegroups/write',
  'secretvault/delete',
  'secretvault/read',
  'secretvault/write',
  'sqlcluster/dataRead',
  'sqlcluster/dataWrite',
  'sqlcluster/delete',
  'sqlcluster/manageLicense',
  'sqlcluster/read',
  'sqlcluster/schemaRead',
  'sqlcluster/write',
  'staticwebapp/delete',
  'staticwebapp/read',
  'staticwebapp/scale',
  'staticwebapp/write',
  'vectorcluster/delete',
  'vectorcluster/read',
  'vectorcluster/scale',
  'vectorcluster/write',
] as const

/** Secrets, logs and files: granted only by the `dataActions` of a role, so that `*` in `actions` never reads them. */
const DATA_ACTIONS = [
  'apps/readFiles',
  'apps/readLogs',
  'apps/writeFiles',
  'containerinstance/readFiles',
  'containerinstance/readLogs',
  'containerinstance/writeFiles',
  'functions/readLogs',
  'jobs/readLogs',
  'managedidentities/readSecrets',
  'relationalcluster/readSecrets',
  'secretvault/readSecrets',
  'secretvault/writeSecrets',
  'sqlcluster/readSecrets',
  'staticwebapp/deploy',
  'staticwebapp/readLogs',
  'vectorcluster/readSecrets',
  'vectorcluster/writeSecrets',
] as const

/** Granted only by an assignment at `/`, whatever the patterns of a role say at narrower scopes. */
const ROOT_ACTIONS = [
  'boundaries/create',
  'boundaries/delete',
  'boundaries/tenant/admin',
  'kernel/clusters/read',
  'kernel/clusters/write',
  'lifecycle/backupsManage',
  'lifecycle/execute',
  'lifecycle/install',
  'lifecycle/plan',
  'lifecycle/rollback',
  'lifecycle/view',
  'monitoring/platform/alerts/write',
  'monitoring/platform/read',
  'rbac/boundaryTrusts/admin',
  'rbac/idpBindings/admin',
  'rbac/members/admin',
  'rbac/projector/apply',
  'registry/audit/read',
  'registry/retention/manage',
] as const

export type ActionName =
  | (typeof CONTROL_ACTIONS)[number]
  | (typeof DATA_ACTIONS)[number]
  | (typeof ROOT_ACTIONS)[number]

export type ActionDefinition = {
  readonly name: ActionName
  /** Position in bit sets. Never store it: it changes when an action is added. */
  readonly index: number
  readonly isData: boolean
  readonly isRoot: boolean
}

export const ACTIONS: readonly ActionDefinition[] = [
  ...CONTROL_ACTIONS.map((name) => ({ name, isData: false, isRoot: false })),
  ...DATA_ACTIONS.map((name) => ({ name, isData: true, isRoot: false })),
  ...ROOT_ACTIONS.map((name) => ({ name, isData: false, isRoot: true })),
].map((action, index) => ({ ...action, index }))

const BY_NAME: ReadonlyMap<string, ActionDefinition> = new Map(ACTIONS.map((action) => [action.name, action]))

/** The definition of an action of the interface, undefined for any other text. */
export function findAction(name: string): ActionDefinition | undefined {
  return BY_NAME.get(name)
}

export function isKnownAction(name: string): name is ActionName {
  return BY_NAME.has(name)
}

/**
 * Gateways and registries check actions of their own (`llmgateway/invoke`, `registry/pull`): checkAccess accepts any
 * action below these prefixes. They are control actions, granted by any pattern that covers them.
 */
export const OPEN_ACTION_PREFIXES = ['llmgateway/', 'registry/'] as const

/** True for a well-formed action below an open prefix that the interface does not list itself. */
export function isOpenAction(name: string): boolean {
  return OPEN_ACTION_PREFIXES.some((prefix) => name.startsWith(prefix)) && isActionShaped(name) && !BY_NAME.has(name)
}

export const MAX_ACTION_LENGTH = 128
const ACTION_SHAPE = /^[a-z][A-Za-z0-9]*(?:\/[a-z][A-Za-z0-9]*)+$/

/** Whether the name has two or more segments of letters and digits, each beginning with a lower-case letter. */
export function isActionShaped(name: string): boolean {
  return typeof name === 'string' && name.length <= MAX_ACTION_LENGTH && ACTION_SHAPE.test(name)
}
