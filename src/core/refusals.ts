import type { Reason } from './reasons.ts'

/**
 * How a write that REST refuses with a code is refused to kubectl, Git and Kubernetes' own controllers:
 * - `server`: the API server itself, with this HTTP status;
 * - `schema`: the CRD. Rules of kinds are not listed here: they carry their codes (`Rule.code`);
 * - `authorizer`: our webhook authorizer;
 * - `policy`: a ValidatingAdmissionPolicy of ours, for writes of this kind;
 * - `webhook`: our admission webhook, with this code among the causes of its answer;
 * - `phase`: the write is stored, and the controller only reports why it does nothing;
 * - `rule`: rules of kinds, and nothing else;
 * - `none`: nothing has to refuse it, for the reason in `because`.
 */
export type EnforcementPoint =
  | { readonly by: 'server'; readonly status: number }
  | { readonly by: 'schema' }
  | { readonly by: 'authorizer' }
  | { readonly by: 'policy'; readonly name: string; readonly kind: string }
  | { readonly by: 'webhook'; readonly as: string }
  | { readonly by: 'phase'; readonly phase: Reason }
  | { readonly by: 'rule' }
  | { readonly by: 'none'; readonly because: string }

const schema: EnforcementPoint = { by: 'schema' }
const rule: EnforcementPoint = { by: 'rule' }
const server = (status: number): EnforcementPoint => ({ by: 'server', status })
const phase = (name: Reason): EnforcementPoint => ({ by: 'phase', phase: name })
const webhook = (as: string): EnforcementPoint => ({ by: 'webhook', as })
const policy = (name: string, kind: string): EnforcementPoint => ({ by: 'policy', name: `freehold-${name}`, kind })
const none = (because: string): EnforcementPoint => ({ by: 'none', because })
/** Kinds that administrators of the cluster and REST may write, but never tenants. */
const closed = (kind: string): EnforcementPoint => policy('iam-writers', kind)

const NO_OBJECT = none('it concerns rows and statements inside a database, which are not Kubernetes objects')
const NO_FILE = none('files of volumes are not Kubernetes objects')
const NO_WRITE = none('it refuses reads only')
const NO_REFUSAL = none('it reports a failure; the request itself is allowed')
const NO_DELIVERY = none('deliveries, installations and repositories are not Kubernetes objects')
const NO_ACCOUNT = none('it concerns how a person signs in, which is not a Kubernetes object')

const NO_BUILD = none('only the platform writes deployments: with kubectl, change the resource')
const NO_EXECUTION = none('blueprints are deployed through REST only: with kubectl, create the resources themselves')
const NO_BACKUP = none('backups are Velero objects: Kubernetes decides who may write them')
const NO_SETTINGS = none('REST reads and writes the settings in one request; kubectl sends the version that it changes')
const NO_DATABASE = none('the settings may name any database; one that cannot be suspended is left as it is')
const NO_REPORT = none('reports come through REST; with kubectl, only cluster administrators write them')

const NO_TURN = none('the rollout ends at once as Failed, and status.failure names the code of REST')
const NO_DRIFT = none('with kubectl, you see what you take over: the object and the Secret install-configuration')
const NO_REVIEW = none('kubectl sends no list of changes: everything that status.pause shows is reverted')

/**
 * The closed set of error codes of the facade: the status of each (interface section 7; areas add theirs here, so that
 * a code means one thing everywhere), and how everybody else is refused. A code without a gate does not compile.
 */
export const REFUSALS = {
  MODEL_BINDING_FAILED: [400, schema],
  // A limit below the request of its plan, for example.
  BAD_REQUEST: [400, schema, phase('ConfigurationInvalid')],
  BODY_TOO_LARGE: [400, server(413), policy('size', 'RelationalCluster')],
  INVALID_ACTION: [400, none('with kubectl, actions are fields: spec.running and spec.restartedAt')],
  URL_NOT_ALLOWED: [400, closed('SsoConnection')],
  UNAUTHORIZED: [401, server(401)],
  FORBIDDEN: [403, { by: 'authorizer' }, policy('kind-writes', 'ServerlessFunction')],
  NOT_FOUND: [404, server(404)],
  NOT_ACCEPTABLE: [406, server(406)],
  ALREADY_EXISTS: [409, server(409), phase('NameOccupied')],
  CONFLICT: [409, server(409)],
  INVALID_STATE: [
    409,
    policy('placement', 'VectorCluster'),
    policy('boundaryprojections-beside-platformclusters', 'BoundaryProjection'),
  ],
  IN_USE: [409, policy('kind-deletions', 'ObjectStorageAccount'), phase('DeletionBlocked')],
  API_KEY_DISABLED: [409, none('with kubectl, spec.apiKeyVersion grows, and no key is made while keys are disabled')],
  AUDIT_DISABLED: [409, NO_WRITE],
  BUCKET_NOT_EMPTY: [409, phase('DeletionBlocked')],
  OBJECTS_LOCKED: [409, phase('DeletionBlocked')],
  BOUNDARY_NOT_EMPTY: [409, policy('kind-deletions', 'Boundary')],
  DELETION_PROTECTED: [
    409,
    policy('deletion-protection', 'RelationalCluster'),
    policy('kind-deletions', 'ResourceGroup'),
    policy('kind-deletions', 'SecretVault'),
  ],
  HOST_TAKEN: [409, phase('NameOccupied')],
  VAULT_NAME_TAKEN: [409, phase('NameOccupied')],
  MANAGED_SECRET: [409, policy('kind-writes', 'VaultEntry')],
  SECRET_DELETED: [409, rule],
  SECRET_DISABLED: [409, NO_WRITE],
  SECRET_NOT_YET_VALID: [409, NO_WRITE],
  SECRET_EXPIRED: [409, NO_WRITE],
  // Links between clusters.
  CROSSLINK_DISABLED: [
    409,
    none(
      'grants and reports of agents are not objects; spec.pkiVersion may grow, and takes effect once links are enabled',
    ),
  ],
  ROTATION_RUNNING: [
    409,
    none('with kubectl, spec.pkiVersion may grow meanwhile: the next rotation waits for the running one'),
  ],
  // Relational databases.
  LOAD_BALANCER_DISABLED: [409, NO_WRITE],
  SNAPSHOT_RUNNING: [409, none('a second snapshot waits: the engine takes one backup after the other')],
  LAST_RECOVERY_BASE: [409, phase('DeletionBlocked')],
  PARAMETER_REFUSED: [422, rule],
  BACKUP_TARGET_MISSING: [422, phase('ConfigurationInvalid')],
  OUTSIDE_RECOVERY_WINDOW: [422, phase('ConfigurationInvalid')],
  // Functions.
  PATH_TAKEN: [409, phase('NameOccupied')],
  // Container instances.
  NOTHING_TO_BACK_UP: [422, rule],
  VOLUME_NOT_SHAREABLE: [422, phase('ConfigurationInvalid')],
  SNAPSHOT_CLASS_MISSING: [422, phase('ConfigurationInvalid')],
  // Deployments.
  LOG_GAP: [409, NO_BUILD],
  IMAGE_GONE: [409, none('with kubectl, spec.rollback to an image that no longer exists changes nothing')],
  NOTHING_TO_BUILD: [409, NO_BUILD],
  // Functions only: an app is still built with the version that it names, even after the end of that version.
  RUNTIME_ENDED: [422, policy('kind-writes', 'FunctionNamespace')],
  // SQL instances and the editor.
  EULA_NOT_ACCEPTED: [422, rule],
  LICENSE_NOT_APPLICABLE: [409, rule],
  TABLE_NOT_FOUND: [404, NO_OBJECT],
  ROW_NOT_FOUND: [404, NO_OBJECT],
  INVALID_VALUE: [400, NO_OBJECT],
  UNKNOWN_COLUMN: [400, NO_OBJECT],
  COLUMN_NOT_WRITABLE: [400, NO_OBJECT],
  COMPOSITE_KEY: [400, NO_OBJECT],
  NO_PRIMARY_KEY: [409, NO_OBJECT],
  ROW_CHANGED: [409, NO_OBJECT],
  DUPLICATE_KEY: [409, NO_OBJECT],
  CONFIRMATION_REQUIRED: [409, NO_OBJECT],
  DEADLOCK: [409, NO_OBJECT],
  INSTANCE_STOPPED: [409, NO_OBJECT],
  CONSTRAINT_VIOLATION: [422, NO_OBJECT],
  STATEMENT_REFUSED: [422, NO_OBJECT],
  DATABASE_UNREACHABLE: [502, NO_OBJECT],
  QUERY_TIMEOUT: [503, NO_OBJECT],
  // Deployment sources.
  'missing-credential': [400, rule],
  'credential-rejected': [400, phase('ConfigurationInvalid')],
  'state-invalid': [400, policy('protected-fields', 'DeploymentSource')],
  'source-unknown': [404, NO_DELIVERY],
  'webhook-not-acceptable': [406, NO_DELIVERY],
  'in-use': [409, policy('kind-deletions', 'DeploymentSource')],
  // Clusters, and Secrets to pull with.
  'already-exists': [409, server(409)],
  'not-a-circuit': [409, rule],
  'webhooks-not-supported': [501, NO_DELIVERY],
  'tokens-not-supported': [501, NO_DELIVERY],
  'upstream-failed': [502, NO_REFUSAL],
  // Monitoring.
  METRIC_NOT_APPLICABLE: [422, NO_WRITE],
  // Blueprints.
  TEMPLATE_INVALID: [400, phase('ConfigurationInvalid')],
  PARAMETER_INVALID: [400, NO_EXECUTION],
  VERSION_EXISTS: [409, none('a manifest says what is wanted: Git keeps the versions of a template')],
  NOT_OWNED: [409, policy('kind-deletions', 'BlueprintTemplate'), policy('kind-writes', 'BlueprintTemplate')],
  RESOURCE_CONFLICT: [409, NO_EXECUTION],
  // Registry.
  RETENTION_RUNNING: [409, none('a second run waits: runs take turns')],
  // Module lifecycle writes its codes in PascalCase (interface section 7).
  ComponentNotFound: [404, phase('ReferenceMissing')],
  AlreadyInstalled: [409, phase('ConfigurationInvalid')],
  NotInstalled: [409, phase('ConfigurationInvalid')],
  NotResumable: [409, none('spec.requests.resumeAt takes effect only while an install is Paused or Failed')],
  DependencyMissing: [409, phase('ReferenceMissing')],
  RolloutBusy: [
    409,
    none('a second install waits; a second rollout ends at once as Failed, and status.failure names it'),
  ],
  PlanNotFound: [404, NO_TURN],
  ReleaseNotFound: [404, none('kubectl applies the manifests of whatever release it is given')],
  PlanExecuted: [409, NO_TURN],
  PlanNotValidated: [409, NO_TURN],
  PreflightFailed: [409, NO_TURN],
  OperatorTooOld: [409, NO_TURN],
  AlreadyFinished: [409, policy('kind-states', 'RolloutExecution')],
  NotPaused: [409, policy('kind-states', 'RolloutExecution')],
  StillFailing: [409, none('a rollout that goes on too early is paused again')],
  SnapshotRequired: [409, policy('kind-states', 'RolloutExecution')],
  PlatformDriftPending: [409, policy('kind-states', 'RolloutExecution')],
  NothingToRollBack: [409, policy('kind-states', 'RolloutExecution')],
  AcknowledgementRequired: [400, NO_DRIFT],
  NotPausedOnPlatformDrift: [409, policy('kind-states', 'RolloutExecution')],
  OperatorCapabilityMissing: [409, NO_REVIEW],
  PlatformDriftChanged: [409, NO_REVIEW],
  ScanRunning: [409, none('a second scan waits: scans take turns')],
  ScanStale: [409, NO_DRIFT],
  DriftChanged: [409, NO_DRIFT],
  ConfigChanged: [409, NO_DRIFT],
  NotAdoptable: [404, NO_DRIFT],
  ValueMissing: [400, phase('ConfigurationInvalid')],
  FeedUnreachable: [502, NO_REFUSAL],
  // Files of volumes.
  PATH_NOT_ALLOWED: [400, NO_FILE],
  DIRECTORY_NOT_EMPTY: [409, NO_FILE],
  STORAGE_FULL: [422, NO_FILE],
  RULE_VIOLATION: [422, rule],
  QUOTA_EXCEEDED: [422, phase('QuotaExceeded')],
  PLAN_NOT_FOUND: [422, phase('PlanNotFound')],
  PLAN_DEPRECATED: [422, phase('PlanNotFound')],
  PLAN_DOES_NOT_FIT: [422, none('no route answers with it: the Kubernetes scheduler decides whether a pod fits')],
  CLUSTER_NOT_PROJECTED: [422, phase('ReferenceMissing'), phase('ClusterUnreachable')],
  REFERENCE_NOT_FOUND: [422, phase('ReferenceMissing')],
  STORAGE_CANNOT_SHRINK: [422, rule],
  DOWNGRADE_REFUSED: [422, rule],
  SOFT_DELETE_REQUIRED: [422, rule],
  PURGE_PROTECTED: [422, rule], // 409 where a secret is purged before its time
  IMAGE_NOT_ALLOWED: [422, phase('ConfigurationInvalid')],
  PUBLIC_ACCESS_DISABLED: [422, phase('ConfigurationInvalid')],
  FEATURE_UNSUPPORTED: [422, phase('ConfigurationInvalid')],
  TENANT_NOT_FOUND: [422, policy('protected-fields', 'Boundary')],
  TOO_MANY_REQUESTS: [429, none('API Priority and Fairness shares the API server among its callers')],
  INTERNAL_ERROR: [500, NO_REFUSAL],
  NOT_IMPLEMENTED: [501, NO_REFUSAL],
  UPSTREAM_FAILED: [502, NO_REFUSAL],
  SERVICE_UNAVAILABLE: [503, NO_REFUSAL],
  ENGINE_MISSING: [503, phase('EngineMissing')],
  // Members of a boundary.
  GRANT_EXCEEDS_CALLER: [403, webhook('GRANT_EXCEEDS_CALLER')],
  LAST_OWNER: [409, webhook('LAST_OWNER')],
  INHERITED_ASSIGNMENT: [409, none('an inherited assignment is in another namespace, which has its own permissions')],
  PRINCIPAL_NOT_FOUND: [422, webhook('PRINCIPAL_NOT_FOUND')],
  // Module kernel writes its codes in kebab-case.
  'too-many-reports': [429, NO_REPORT],
  'cluster-is-local': [409, policy('kind-deletions', 'PlatformCluster'), rule],
  // Backups of the platform (interface section 7).
  'schedule-missing': [409, NO_BACKUP],
  'backup-in-progress': [409, NO_BACKUP],
  'invalid-target': [400, schema],
  'target-rejected': [422, phase('ConfigurationInvalid')],
  'target-not-applied': [409, none('with kubectl, a change to settings that are being deleted is deleted with them')],
  'rollout-in-flight': [409, phase('WaitingForDependency')],
  'target-changed': [409, NO_SETTINGS],
  'invalid-schedule': [400, schema],
  'invalid-cluster': [400, schema],
  'cluster-not-found': [404, NO_DATABASE],
  'archiving-not-configured': [409, NO_DATABASE],
  'archiving-healthy': [409, NO_DATABASE],
  'archiving-not-suspended': [409, NO_DATABASE],
  // Module rbac writes its codes in lower case (interface section 7).
  already_exists: [409, webhook('already_exists')],
  conflict: [409, closed('PlatformTenant')],
  domain_taken: [409, closed('SsoConnection')],
  last_owner: [409, webhook('last_owner')],
  self_approval: [403, webhook('forbidden')],
  boundary_not_found: [422, webhook('boundary_not_found')],
  group_cycle: [422, webhook('group_cycle')],
  lockout: [422, webhook('lockout')],
  principal_not_found: [422, webhook('principal_not_found')],
  tenant_not_found: [422, policy('protected-fields', 'Boundary')],
  // Invitations and passwords (interface section 7)
  unknown_role: [400, webhook('unknown_role')],
  email_not_verified: [400, closed('MemberInvitation')],
  invalid_state: [400, closed('MemberInvitation'), webhook('forbidden')],
  reauth_required: [401, NO_ACCOUNT],
  forbidden: [403, webhook('forbidden')],
  not_found: [404, closed('MemberInvitation')],
  unknown_user: [404, closed('PlatformUser')], // 401 where the token itself names nobody
  duplicate_pending: [409, webhook('duplicate_pending'), closed('MemberInvitation')],
  already_member: [409, webhook('already_member')],
  already_accepted: [409, closed('MemberInvitation')],
  already_revoked: [409, closed('MemberInvitation')],
  email_mismatch: [409, closed('MemberInvitation')],
  user_already_exists: [409, closed('PlatformUser')],
  not_locally_authenticated: [409, NO_ACCOUNT],
  expired: [410, closed('MemberInvitation'), closed('PasswordReset')],
  password_policy: [422, NO_ACCOUNT],
  resend_limit: [429, closed('MemberInvitation')],
  REQUEST_FAILED: [429, closed('PasswordReset')],
  tenant_resolution_failed: [503, closed('MemberInvitation')],
} as const satisfies Record<string, readonly [status: number, gate: EnforcementPoint, ...more: EnforcementPoint[]]>

/** By code, how everybody but REST is refused. */
export const ENFORCEMENT_POINTS = Object.fromEntries(
  Object.entries<readonly [status: number, ...gates: EnforcementPoint[]]>(REFUSALS).map(([code, [, ...gates]]) => [
    code,
    gates,
  ]),
) as unknown as Readonly<Record<keyof typeof REFUSALS, readonly EnforcementPoint[]>>
