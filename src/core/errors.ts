import { resourceNameRule } from './names.ts'

/**
 * The closed set of error codes that the facade answers with and the status of each
 * (interface section 7; areas add theirs here, so that a code means one thing everywhere).
 */
export const ERROR_STATUS = {
  MODEL_BINDING_FAILED: 400,
  BAD_REQUEST: 400,
  BODY_TOO_LARGE: 400,
  INVALID_ACTION: 400,
  URL_NOT_ALLOWED: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  NOT_ACCEPTABLE: 406,
  ALREADY_EXISTS: 409,
  CONFLICT: 409,
  INVALID_STATE: 409,
  IN_USE: 409,
  API_KEY_DISABLED: 409,
  AUDIT_DISABLED: 409,
  BUCKET_NOT_EMPTY: 409,
  OBJECTS_LOCKED: 409,
  BOUNDARY_NOT_EMPTY: 409,
  DELETION_PROTECTED: 409,
  HOST_TAKEN: 409,
  VAULT_NAME_TAKEN: 409,
  MANAGED_SECRET: 409,
  SECRET_DELETED: 409,
  SECRET_DISABLED: 409,
  SECRET_NOT_YET_VALID: 409,
  SECRET_EXPIRED: 409,
  // Links between clusters.
  CROSSLINK_DISABLED: 409,
  ROTATION_RUNNING: 409,
  // Relational databases.
  LOAD_BALANCER_DISABLED: 409,
  SNAPSHOT_RUNNING: 409,
  LAST_RECOVERY_BASE: 409,
  PARAMETER_REFUSED: 422,
  BACKUP_TARGET_MISSING: 422,
  OUTSIDE_RECOVERY_WINDOW: 422,
  // Functions.
  PATH_TAKEN: 409,
  // Container instances.
  NOTHING_TO_BACK_UP: 422,
  VOLUME_NOT_SHAREABLE: 422,
  SNAPSHOT_CLASS_MISSING: 422,
  // Deployments.
  LOG_GAP: 409,
  IMAGE_GONE: 409,
  NOTHING_TO_BUILD: 409,
  RUNTIME_ENDED: 422,
  // SQL instances and the editor.
  EULA_NOT_ACCEPTED: 422,
  LICENSE_NOT_APPLICABLE: 409,
  TABLE_NOT_FOUND: 404,
  ROW_NOT_FOUND: 404,
  INVALID_VALUE: 400,
  UNKNOWN_COLUMN: 400,
  COLUMN_NOT_WRITABLE: 400,
  COMPOSITE_KEY: 400,
  NO_PRIMARY_KEY: 409,
  ROW_CHANGED: 409,
  DUPLICATE_KEY: 409,
  CONFIRMATION_REQUIRED: 409,
  DEADLOCK: 409,
  INSTANCE_STOPPED: 409,
  CONSTRAINT_VIOLATION: 422,
  STATEMENT_REFUSED: 422,
  DATABASE_UNREACHABLE: 502,
  QUERY_TIMEOUT: 503,
  // Deployment sources.
  'missing-credential': 400,
  'credential-rejected': 400,
  'state-invalid': 400,
  'source-unknown': 404,
  'webhook-not-acceptable': 406,
  'in-use': 409,
  'already-exists': 409,
  'not-a-circuit': 409,
  'webhooks-not-supported': 501,
  'tokens-not-supported': 501,
  'upstream-failed': 502,
  // Monitoring.
  METRIC_NOT_APPLICABLE: 422,
  // Blueprints.
  TEMPLATE_INVALID: 400,
  PARAMETER_INVALID: 400,
  VERSION_EXISTS: 409,
  NOT_OWNED: 409,
  RESOURCE_CONFLICT: 409,
  // Registry.
  RETENTION_RUNNING: 409,
  // Module lifecycle writes its codes in PascalCase (interface section 7).
  ComponentNotFound: 404,
  AlreadyInstalled: 409,
  NotInstalled: 409,
  NotResumable: 409,
  DependencyMissing: 409,
  RolloutBusy: 409,
  PlanNotFound: 404,
  ReleaseNotFound: 404,
  PlanExecuted: 409,
  PlanNotValidated: 409,
  PreflightFailed: 409,
  OperatorTooOld: 409,
  AlreadyFinished: 409,
  NotPaused: 409,
  StillFailing: 409,
  SnapshotRequired: 409,
  PlatformDriftPending: 409,
  NothingToRollBack: 409,
  AcknowledgementRequired: 400,
  NotPausedOnPlatformDrift: 409,
  OperatorCapabilityMissing: 409,
  PlatformDriftChanged: 409,
  ScanRunning: 409,
  ScanStale: 409,
  DriftChanged: 409,
  ConfigChanged: 409,
  NotAdoptable: 404,
  ValueMissing: 400,
  FeedUnreachable: 502,
  // Files of volumes.
  PATH_NOT_ALLOWED: 400,
  DIRECTORY_NOT_EMPTY: 409,
  STORAGE_FULL: 422,
  RULE_VIOLATION: 422,
  QUOTA_EXCEEDED: 422,
  PLAN_NOT_FOUND: 422,
  PLAN_DEPRECATED: 422,
  PLAN_DOES_NOT_FIT: 422,
  CLUSTER_NOT_PROJECTED: 422,
  REFERENCE_NOT_FOUND: 422,
  STORAGE_CANNOT_SHRINK: 422,
  DOWNGRADE_REFUSED: 422,
  SOFT_DELETE_REQUIRED: 422,
  PURGE_PROTECTED: 422, // 409 where a secret is purged before its time
  IMAGE_NOT_ALLOWED: 422,
  PUBLIC_ACCESS_DISABLED: 422,
  FEATURE_UNSUPPORTED: 422,
  TENANT_NOT_FOUND: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_ERROR: 500,
  NOT_IMPLEMENTED: 501,
  UPSTREAM_FAILED: 502,
  SERVICE_UNAVAILABLE: 503,
  ENGINE_MISSING: 503,
  // Members of a boundary.
  GRANT_EXCEEDS_CALLER: 403,
  LAST_OWNER: 409,
  INHERITED_ASSIGNMENT: 409,
  PRINCIPAL_NOT_FOUND: 422,
  // Module kernel writes its codes in kebab-case.
  'invalid-activity': 400,
  'invalid-attachment': 400,
  'too-many-reports': 429,
  'cluster-is-local': 409,
  // Backups of the platform (interface section 7).
  'schedule-missing': 409,
  'backup-in-progress': 409,
  'invalid-target': 400,
  'target-rejected': 422,
  'target-not-applied': 409,
  'rollout-in-flight': 409,
  'target-changed': 409,
  'invalid-schedule': 400,
  'invalid-cluster': 400,
  'cluster-not-found': 404,
  'archiving-not-configured': 409,
  'archiving-healthy': 409,
  'archiving-not-suspended': 409,
  // Module rbac writes its codes in lower case (interface section 7).
  already_exists: 409,
  conflict: 409,
  domain_taken: 409,
  last_owner: 409,
  self_approval: 403,
  boundary_not_found: 422,
  group_cycle: 422,
  lockout: 422,
  principal_not_found: 422,
  tenant_not_found: 422,
  // Invitations and passwords (interface section 7)
  unknown_role: 400,
  email_not_verified: 400,
  invalid_state: 400,
  reauth_required: 401,
  forbidden: 403,
  not_found: 404,
  unknown_user: 404, // 401 where the token itself names nobody
  duplicate_pending: 409,
  already_member: 409,
  already_accepted: 409,
  already_revoked: 409,
  email_mismatch: 409,
  user_already_exists: 409,
  not_locally_authenticated: 409,
  expired: 410,
  password_policy: 422,
  resend_limit: 429,
  REQUEST_FAILED: 429,
  tenant_resolution_failed: 503,
} as const satisfies Record<string, number>

export type ErrorCode = keyof typeof ERROR_STATUS

/** One rejected place of a body: the path of the field in dots, and why. */
export type FieldError = { field: string; message: string }

/**
 * A refusal or failure that a caller may see: a stable code, one sentence (what failed, where, for which input, what
 * to do) and extra top-level fields of the error body. Nothing secret and no text of another system goes in.
 */
export class PlatformError extends Error {
  readonly code: ErrorCode
  readonly extras: Readonly<Record<string, unknown>>
  readonly status: number

  /** @param options `status` if one route answers a code with a different status than all others */
  constructor(
    code: ErrorCode,
    message: string,
    extras: Record<string, unknown> = {},
    options: { cause?: unknown; status?: number } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {})
    this.name = 'PlatformError'
    this.code = code
    this.extras = extras
    this.status = options.status ?? ERROR_STATUS[code]
  }
}

/** 400 for a body or query that is readable but not allowed, naming each field. */
export function badRequest(message: string, errors: FieldError[]): PlatformError {
  return new PlatformError('BAD_REQUEST', message, { errors })
}

/** Runs a check of one part of a body, and prefixes the fields that it refuses with the path of that part. */
export function within<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw renamed(error, (field) => `${path}.${field}`)
  }
}

/** The same refusal, with its fields named as the caller knows them. */
export function renamed(error: unknown, nameOf: (field: string) => string): unknown {
  if (!(error instanceof PlatformError)) return error
  const { code, extras, message } = error
  const before = extras.errors as FieldError[] | undefined
  const errors = before?.map((one) => ({ ...one, field: nameOf(one.field) }))
  const field = typeof extras.field === 'string' && { field: nameOf(extras.field) }
  const isOfFields = before !== undefined && before.length > 0 && message === firstReason(before)
  const words = isOfFields && errors !== undefined ? firstReason(errors) : withSubject(message, extras.field, nameOf)
  return new PlatformError(code, words, { ...extras, ...field, ...(errors && { errors }) }, { cause: error })
}

/** Replaces the name of the field in the sentence of a rule. */
function withSubject(message: string, field: unknown, nameOf: (field: string) => string): string {
  const subject = `The field "${field}" `
  if (typeof field !== 'string' || !message.startsWith(subject)) return message
  return `The field "${nameOf(field)}" ${message.slice(subject.length)}`
}

/** 400 for an invalid name of a new object in a path. */
export function invalidName(name: string, least?: number): PlatformError {
  const message = resourceNameRule(least)
  return badRequest(`"${name.slice(0, 64)}" is not a valid name: it ${message}.`, [{ field: 'name', message }])
}

/** The same, with the first reason as the sentence. */
export function refusedFields(errors: FieldError[]): PlatformError {
  return badRequest(firstReason(errors), errors)
}

export function firstReason([first]: readonly FieldError[]): string {
  return refusalSentence(first ?? { field: '', message: 'is not valid' })
}

/**
 * One sentence about one field. A reason without a subject, or with the field as its subject, continues the sentence
 * about the field; any other is quoted as it is.
 */
export function refusalSentence({ field, message }: FieldError): string {
  const subject = field === '' ? 'The body' : `The field "${field}"`
  const own = [field, field.split('.').at(-1)].find((name) => name !== '' && message.startsWith(`${name} `))
  const rest = own === undefined ? message : message.slice(own.length + 1)
  const isAboutField = own === undefined ? PREDICATE.test(rest) : !CONNECTIVE.test(rest)
  return sentence(isAboutField ? `${subject} ${rest}` : `${subject} was refused: ${message}`)
}

/** A reason that begins with one of these words continues a sentence whose subject is the field. */
const PREDICATE = /^(is|are|was|must|has|have|can|cannot|may|needs|lies|differs|does|holds|asks)\b/
/**
 * A reason that continues with one of these words names more than the field: `cpuLimit and cpuRequest ...`, `size of a
 * volume ...`.
 */
const CONNECTIVE = /^(and|or|of|in|with|names)\b/

/** Adds a full stop to a text that does not end like a sentence. */
export function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}

/** @param hint a sentence that says what to use instead */
export function notFound(what: string, hint?: string): PlatformError {
  return new PlatformError('NOT_FOUND', [`${what} was not found.`, hint].filter(Boolean).join(' '))
}

/** 403 for a missing permission: `action` is its name, `scope` where it is needed. */
export function permissionMissing(action: string, scope: string): PlatformError {
  return new PlatformError('FORBIDDEN', `The permission ${action} is missing at ${scope}.`, { action, scope })
}

/** For `catch` of a removal, or of a change that takes something away: undefined if somebody else removed the object before. */
export function alreadyGone(error: unknown): undefined {
  if (error instanceof PlatformError && error.code === 'NOT_FOUND') return undefined
  throw error
}

/** The text of anything that was thrown, for logs and conditions. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown)
  const { message } = thrown as { message?: unknown }
  return typeof message === 'string' ? message : 'A failure without a message.'
}
