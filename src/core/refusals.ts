import type { ErrorCode } from './errors.ts'
import type { Reason } from './reasons.ts'

/**
 * How a write that REST refuses with a code is refused to kubectl, Git and Kubernetes' own controllers:
 * - `server`: the API server itself, with this HTTP status;
 * - `schema`: the CRD. Rules of kinds are not listed here: they carry their codes (`Rule.code`);
 * - `authorizer`: our webhook authorizer;
 * - `policy`: a ValidatingAdmissionPolicy of ours, for writes of this kind;
 * - `webhook`: our admission webhook, with this code among the causes of its answer;
 * - `phase`: the write is stored, and the controller only reports why it does nothing;
 * - `none`: nothing has to refuse it, for the reason in `because`.
 */
export type Gate =
  | { readonly by: 'server'; readonly status: number }
  | { readonly by: 'schema' }
  | { readonly by: 'authorizer' }
  | { readonly by: 'policy'; readonly name: string; readonly kind: string }
  | { readonly by: 'webhook'; readonly as: ErrorCode }
  | { readonly by: 'phase'; readonly phase: Reason }
  | { readonly by: 'rule' }
  | { readonly by: 'none'; readonly because: string }

const schema: Gate = { by: 'schema' }
/** The rules of kinds alone. */
const rule: Gate = { by: 'rule' }
const server = (status: number): Gate => ({ by: 'server', status })
const phase = (name: Reason): Gate => ({ by: 'phase', phase: name })
const webhook = (as: ErrorCode): Gate => ({ by: 'webhook', as })
const policy = (name: string, kind: string): Gate => ({ by: 'policy', name: `freehold-${name}`, kind })
const none = (because: string): Gate => ({ by: 'none', because })
/** Written by administrators of the cluster and through REST, never by tenants. */
const closed = (kind: string): Gate => policy('iam-writers', kind)

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

/** For each code of REST, how everybody else is refused. A missing code does not compile. */
export const GATES: Readonly<Record<ErrorCode, readonly Gate[]>> = {
  MODEL_BINDING_FAILED: [schema],
  // A limit below the request of its plan, for example.
  BAD_REQUEST: [schema, phase('ConfigurationInvalid')],
  BODY_TOO_LARGE: [server(413)],
  INVALID_ACTION: [none('with kubectl, actions are fields: spec.running and spec.restartedAt')],
  URL_NOT_ALLOWED: [closed('SsoConnection')],
  UNAUTHORIZED: [server(401)],
  FORBIDDEN: [{ by: 'authorizer' }, policy('serverlessfunctions-beside-functionnamespaces', 'ServerlessFunction')],
  NOT_FOUND: [server(404)],
  NOT_ACCEPTABLE: [server(406)],
  ALREADY_EXISTS: [server(409), phase('NameOccupied')],
  CONFLICT: [server(409)],
  INVALID_STATE: [
    policy('placement', 'VectorCluster'),
    policy('boundaryprojections-beside-platformclusters', 'BoundaryProjection'),
  ],
  IN_USE: [policy('kind-deletions', 'ObjectStorageAccount'), phase('DeletionBlocked')],
  API_KEY_DISABLED: [none('with kubectl, spec.apiKeyVersion grows, and no key is made while keys are disabled')],
  AUDIT_DISABLED: [NO_WRITE],
  BUCKET_NOT_EMPTY: [phase('DeletionBlocked')],
  OBJECTS_LOCKED: [phase('DeletionBlocked')],
  BOUNDARY_NOT_EMPTY: [policy('kind-deletions', 'Boundary')],
  DELETION_PROTECTED: [
    policy('deletion-protection', 'RelationalCluster'),
    policy('kind-deletions', 'ResourceGroup'),
    policy('kind-deletions', 'SecretVault'),
  ],
  HOST_TAKEN: [phase('NameOccupied')],
  PATH_TAKEN: [phase('NameOccupied')],
  VAULT_NAME_TAKEN: [phase('NameOccupied')],
  MANAGED_SECRET: [policy('kind-writes', 'VaultEntry')],
  SECRET_DELETED: [rule],
  SECRET_DISABLED: [NO_WRITE],
  SECRET_NOT_YET_VALID: [NO_WRITE],
  SECRET_EXPIRED: [NO_WRITE],
  LOAD_BALANCER_DISABLED: [NO_WRITE],
  SNAPSHOT_RUNNING: [none('a second snapshot waits: the engine takes one backup after the other')],
  CROSSLINK_DISABLED: [
    none(
      'grants and reports of agents are not objects; spec.pkiVersion may grow, and takes effect once links are enabled',
    ),
  ],
  ROTATION_RUNNING: [
    none('with kubectl, spec.pkiVersion may grow meanwhile: the next rotation waits for the running one'),
  ],
  TEMPLATE_INVALID: [phase('ConfigurationInvalid')],
  PARAMETER_INVALID: [NO_EXECUTION],
  VERSION_EXISTS: [none('a manifest says what is wanted: Git keeps the versions of a template')],
  NOT_OWNED: [policy('kind-deletions', 'BlueprintTemplate'), policy('kind-writes', 'BlueprintTemplate')],
  RESOURCE_CONFLICT: [NO_EXECUTION],
  RETENTION_RUNNING: [none('a second run waits: runs take turns')],
  ComponentNotFound: [phase('ReferenceMissing')],
  AlreadyInstalled: [phase('ConfigurationInvalid')],
  NotInstalled: [phase('ConfigurationInvalid')],
  DependencyMissing: [phase('ReferenceMissing')],
  ValueMissing: [phase('ConfigurationInvalid')],
  PlanNotFound: [NO_TURN],
  ReleaseNotFound: [none('kubectl applies the manifests of whatever release it is given')],
  PlanExecuted: [NO_TURN],
  PlanNotValidated: [NO_TURN],
  PreflightFailed: [NO_TURN],
  OperatorTooOld: [NO_TURN],
  AlreadyFinished: [policy('kind-writes', 'RolloutExecution')],
  NotPaused: [policy('kind-writes', 'RolloutExecution')],
  StillFailing: [none('a rollout that goes on too early is paused again')],
  SnapshotRequired: [policy('kind-writes', 'RolloutExecution')],
  PlatformDriftPending: [policy('kind-writes', 'RolloutExecution')],
  NothingToRollBack: [policy('kind-writes', 'RolloutExecution')],
  AcknowledgementRequired: [NO_DRIFT],
  NotPausedOnPlatformDrift: [policy('kind-writes', 'RolloutExecution')],
  OperatorCapabilityMissing: [NO_REVIEW],
  PlatformDriftChanged: [NO_REVIEW],
  ScanRunning: [none('a second scan waits: scans take turns')],
  ScanStale: [NO_DRIFT],
  DriftChanged: [NO_DRIFT],
  ConfigChanged: [NO_DRIFT],
  NotAdoptable: [NO_DRIFT],
  RolloutBusy: [none('a second install waits; a second rollout ends at once as Failed, and status.failure names it')],
  NotResumable: [none('spec.requests.resumeAt takes effect only while an install is Paused or Failed')],
  FeedUnreachable: [NO_REFUSAL],
  LAST_RECOVERY_BASE: [phase('DeletionBlocked')],
  PARAMETER_REFUSED: [rule],
  BACKUP_TARGET_MISSING: [phase('ConfigurationInvalid'), rule],
  OUTSIDE_RECOVERY_WINDOW: [phase('ConfigurationInvalid')],
  NOTHING_TO_BACK_UP: [rule],
  LOG_GAP: [NO_BUILD],
  IMAGE_GONE: [none('with kubectl, spec.rollback to an image that no longer exists changes nothing')],
  NOTHING_TO_BUILD: [NO_BUILD],
  // An app is built with the version that it names, as before the end of that.
  RUNTIME_ENDED: [policy('kind-writes', 'FunctionNamespace')],
  VOLUME_NOT_SHAREABLE: [phase('ConfigurationInvalid')],
  SNAPSHOT_CLASS_MISSING: [phase('ConfigurationInvalid')],
  EULA_NOT_ACCEPTED: [rule],
  LICENSE_NOT_APPLICABLE: [rule],
  TABLE_NOT_FOUND: [NO_OBJECT],
  ROW_NOT_FOUND: [NO_OBJECT],
  INVALID_VALUE: [NO_OBJECT],
  UNKNOWN_COLUMN: [NO_OBJECT],
  COLUMN_NOT_WRITABLE: [NO_OBJECT],
  COMPOSITE_KEY: [NO_OBJECT],
  NO_PRIMARY_KEY: [NO_OBJECT],
  ROW_CHANGED: [NO_OBJECT],
  DUPLICATE_KEY: [NO_OBJECT],
  CONFIRMATION_REQUIRED: [NO_OBJECT],
  DEADLOCK: [NO_OBJECT],
  INSTANCE_STOPPED: [NO_OBJECT],
  CONSTRAINT_VIOLATION: [NO_OBJECT],
  STATEMENT_REFUSED: [NO_OBJECT],
  DATABASE_UNREACHABLE: [NO_OBJECT],
  QUERY_TIMEOUT: [NO_OBJECT],
  'missing-credential': [rule],
  'credential-rejected': [phase('ConfigurationInvalid')],
  'state-invalid': [policy('protected-fields', 'DeploymentSource')],
  'source-unknown': [NO_DELIVERY],
  'webhook-not-acceptable': [NO_DELIVERY],
  'in-use': [policy('kind-deletions', 'DeploymentSource')],
  // Clusters, and Secrets to pull with.
  'already-exists': [server(409)],
  'cluster-is-local': [policy('kind-deletions', 'PlatformCluster'), rule],
  'not-a-circuit': [rule],
  'webhooks-not-supported': [NO_DELIVERY],
  'tokens-not-supported': [NO_DELIVERY],
  'upstream-failed': [NO_REFUSAL],
  PATH_NOT_ALLOWED: [NO_FILE],
  DIRECTORY_NOT_EMPTY: [NO_FILE],
  STORAGE_FULL: [NO_FILE],
  RULE_VIOLATION: [rule],
  QUOTA_EXCEEDED: [phase('QuotaExceeded')],
  PLAN_NOT_FOUND: [phase('PlanNotFound')],
  PLAN_DEPRECATED: [phase('PlanNotFound')],
  PLAN_DOES_NOT_FIT: [none('no route answers with it: the Kubernetes scheduler decides whether a pod fits')],
  CLUSTER_NOT_PROJECTED: [phase('ReferenceMissing'), phase('ClusterUnreachable')],
  REFERENCE_NOT_FOUND: [phase('ReferenceMissing')],
  STORAGE_CANNOT_SHRINK: [rule],
  DOWNGRADE_REFUSED: [rule],
  SOFT_DELETE_REQUIRED: [rule],
  PURGE_PROTECTED: [rule],
  IMAGE_NOT_ALLOWED: [phase('ConfigurationInvalid')],
  PUBLIC_ACCESS_DISABLED: [phase('ConfigurationInvalid')],
  FEATURE_UNSUPPORTED: [phase('ConfigurationInvalid')],
  TENANT_NOT_FOUND: [policy('protected-fields', 'Boundary')],
  TOO_MANY_REQUESTS: [none('API Priority and Fairness shares the API server among its callers')],
  INTERNAL_ERROR: [NO_REFUSAL],
  NOT_IMPLEMENTED: [NO_REFUSAL],
  UPSTREAM_FAILED: [NO_REFUSAL],
  SERVICE_UNAVAILABLE: [NO_REFUSAL],
  ENGINE_MISSING: [phase('EngineMissing')],
  GRANT_EXCEEDS_CALLER: [webhook('GRANT_EXCEEDS_CALLER')],
  LAST_OWNER: [webhook('LAST_OWNER')],
  INHERITED_ASSIGNMENT: [none('an inherited assignment is in another namespace, which has its own permissions')],
  PRINCIPAL_NOT_FOUND: [webhook('PRINCIPAL_NOT_FOUND')],
  METRIC_NOT_APPLICABLE: [NO_WRITE],
  'invalid-activity': [NO_REPORT],
  'invalid-attachment': [NO_REPORT],
  'too-many-reports': [NO_REPORT],
  'schedule-missing': [NO_BACKUP],
  'backup-in-progress': [NO_BACKUP],
  'invalid-target': [schema],
  'target-rejected': [phase('ConfigurationInvalid')],
  'target-not-applied': [none('with kubectl, a change to settings that are being deleted is deleted with them')],
  'rollout-in-flight': [phase('WaitingForDependency')],
  'target-changed': [NO_SETTINGS],
  'invalid-schedule': [schema],
  'invalid-cluster': [schema],
  'cluster-not-found': [NO_DATABASE],
  'archiving-not-configured': [NO_DATABASE],
  'archiving-healthy': [NO_DATABASE],
  'archiving-not-suspended': [NO_DATABASE],
  already_exists: [webhook('already_exists')],
  conflict: [closed('PlatformTenant')],
  domain_taken: [closed('SsoConnection')],
  last_owner: [webhook('last_owner')],
  self_approval: [webhook('forbidden')],
  boundary_not_found: [webhook('boundary_not_found')],
  group_cycle: [webhook('group_cycle')],
  lockout: [webhook('lockout')],
  principal_not_found: [webhook('principal_not_found')],
  tenant_not_found: [policy('protected-fields', 'Boundary')],
  unknown_role: [webhook('unknown_role')],
  email_not_verified: [closed('MemberInvitation')],
  invalid_state: [closed('MemberInvitation'), webhook('forbidden')],
  reauth_required: [NO_ACCOUNT],
  forbidden: [webhook('forbidden')],
  not_found: [closed('MemberInvitation')],
  unknown_user: [closed('PlatformUser')],
  duplicate_pending: [webhook('duplicate_pending'), closed('MemberInvitation')],
  already_member: [webhook('already_member')],
  already_accepted: [closed('MemberInvitation')],
  already_revoked: [closed('MemberInvitation')],
  email_mismatch: [closed('MemberInvitation')],
  user_already_exists: [closed('PlatformUser')],
  not_locally_authenticated: [NO_ACCOUNT],
  expired: [closed('MemberInvitation'), closed('PasswordReset')],
  password_policy: [NO_ACCOUNT],
  resend_limit: [closed('MemberInvitation')],
  REQUEST_FAILED: [closed('PasswordReset')],
  tenant_resolution_failed: [closed('MemberInvitation')],
}
