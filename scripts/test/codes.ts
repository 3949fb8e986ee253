import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Router } from '../../src/api/http/router.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'

/** Where the end-to-end tests record each refusal that they see: `METHOD path code`, one per line. */
export const CODES_FILE = 'codes-seen'

const AUTHORIZATION = '/boundaries/{boundaryId}/providers/authorization'
const MEMBERS = '/boundaries/{boundaryId}/members'
const INVITATION = `${AUTHORIZATION}/invitations`
const PASSWORD_RESET = '/identity/password-reset'
const SOURCES = '/boundaries/{boundaryId}/sources/{sourceName}'
const RELATIONAL = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources/relationalclusters/{name}'

/** The routes of the editor have the same codes in each area. */
function editorCodes(base: string): Record<string, readonly string[]> {
  const rows = `${base}/editor/tables/{schema}/{table}/rows`
  return {
    [`POST ${base}/editor/query`]: ['STATEMENT_REFUSED', 'FORBIDDEN', 'CONFIRMATION_REQUIRED', 'DATABASE_UNREACHABLE'],
    [`GET ${base}/editor/schemas`]: ['INSTANCE_STOPPED', 'DATABASE_UNREACHABLE'],
    [`GET ${rows}`]: ['TABLE_NOT_FOUND', 'BAD_REQUEST'],
    [`POST ${rows}`]: [
      ...['INVALID_VALUE', 'UNKNOWN_COLUMN', 'COLUMN_NOT_WRITABLE', 'DUPLICATE_KEY', 'CONSTRAINT_VIOLATION'],
    ],
    [`PATCH ${rows}/{pkValue}`]: ['ROW_NOT_FOUND', 'COMPOSITE_KEY', 'NO_PRIMARY_KEY', 'ROW_CHANGED'],
    [`DELETE ${rows}/{pkValue}`]: ['ROW_NOT_FOUND', 'INVALID_VALUE'],
    [`POST ${rows}:bulk`]: ['INVALID_VALUE'],
    [`POST ${rows}:bulk-delete`]: ['ROW_NOT_FOUND', 'UNKNOWN_COLUMN'],
    [`POST ${rows}:bulk-insert`]: ['DUPLICATE_KEY'],
  }
}

/**
 * The refusals of each route of identity and access, of relational databases, and of the editor, in addition to the
 * codes of every route. Those that need a platform of the test's own are not among them: nothing records its answers.
 */
export const DOCUMENTED_CODES: Readonly<Record<string, readonly string[]>> = {
  'POST /boundaries/{boundaryId}/activity': ['bad-request'],
  'POST /boundaries/{boundaryId}/crosslink/access-grant': ['ENGINE_MISSING'],
  'POST /boundaries/{boundaryId}/crosslink/pki/rotate': ['CROSSLINK_DISABLED', 'ROTATION_RUNNING'],
  'POST /bug-reports': ['bad-request', 'too-many-reports'],
  [`POST ${MEMBERS}`]: ['unknown_role', 'forbidden', 'PRINCIPAL_NOT_FOUND', 'already_member', 'GRANT_EXCEEDS_CALLER'],
  [`DELETE ${MEMBERS}/{assignmentId}`]: ['INHERITED_ASSIGNMENT', 'LAST_OWNER'],
  [`POST ${INVITATION}`]: [
    ...['unknown_role', 'invalid_state', 'tenant_resolution_failed', 'forbidden', 'duplicate_pending'],
    'already_member',
  ],
  [`DELETE ${INVITATION}/{invitationId}`]: ['not_found', 'already_accepted', 'already_revoked'],
  [`POST ${INVITATION}/{invitationId}/resend`]: ['not_found', 'invalid_state', 'resend_limit'],
  'POST /invitations/{token}/set-password': [
    ...['not_found', 'expired', 'invalid_state', 'user_already_exists', 'password_policy'],
  ],
  'POST /invitations/accept': ['email_not_verified', 'not_found', 'email_mismatch', 'expired', 'invalid_state'],
  [`POST ${PASSWORD_RESET}/{token}`]: ['not_found', 'expired', 'password_policy'],
  'POST /identity/change-password': [
    ...['unknown_user', 'not_locally_authenticated', 'reauth_required', 'password_policy'],
  ],
  [`POST ${AUTHORIZATION}/groups`]: [
    'unknown_role',
    'forbidden',
    'principal_not_found',
    'group_cycle',
    'already_exists',
  ],
  [`PATCH ${AUTHORIZATION}/groups/{groupId}`]: ['forbidden', 'principal_not_found', 'group_cycle'],
  [`POST ${AUTHORIZATION}/denyAssignments`]: ['BAD_REQUEST', 'principal_not_found', 'lockout'],
  [`DELETE ${AUTHORIZATION}/denyAssignments/{denyId}`]: ['forbidden'],
  [`POST ${AUTHORIZATION}/checkAccess`]: ['BAD_REQUEST'],
  [`POST ${AUTHORIZATION}/tenant-move`]: ['tenant_not_found', 'conflict'],
  'DELETE /boundaries/{boundaryId}/iam/members/{userId}': ['NOT_FOUND', 'last_owner'],
  'POST /boundaries/{boundaryId}/tenant': ['TENANT_NOT_FOUND'],
  'POST /admin/iam/members': ['unknown_user', 'tenant_not_found', 'unknown_role', 'already_member', 'forbidden'],
  'DELETE /admin/iam/members/{userId}/{tenantId}': ['NOT_FOUND'],
  'POST /admin/boundary-trusts': ['BAD_REQUEST', 'boundary_not_found', 'already_exists'],
  [`POST ${AUTHORIZATION}/jitRequests`]: ['unknown_role', 'forbidden', 'BAD_REQUEST', 'duplicate_pending', 'FORBIDDEN'],
  [`POST ${AUTHORIZATION}/jitRequests/{jitId}/approve`]: ['self_approval', 'forbidden'],
  [`POST ${AUTHORIZATION}/jitRequests/{jitId}/deny`]: ['self_approval', 'invalid_state'],
  [`DELETE ${AUTHORIZATION}/jitRequests/{jitId}`]: ['FORBIDDEN', 'invalid_state'],
  [`POST ${AUTHORIZATION}/roleAssignments`]: [
    'unknown_role',
    'forbidden',
    'BAD_REQUEST',
    'principal_not_found',
    'already_exists',
  ],
  [`DELETE ${AUTHORIZATION}/roleAssignments/{assignmentId}`]: ['last_owner'],
  [`POST ${RELATIONAL}`]: [
    ...['BAD_REQUEST', 'PARAMETER_REFUSED', 'IMAGE_NOT_ALLOWED', 'PLAN_NOT_FOUND', 'MODEL_BINDING_FAILED'],
  ],
  [`PATCH ${RELATIONAL}`]: ['STORAGE_CANNOT_SHRINK', 'DOWNGRADE_REFUSED', 'BAD_REQUEST', 'CONFLICT'],
  [`DELETE ${RELATIONAL}`]: ['DELETION_PROTECTED'],
  [`GET ${RELATIONAL}/connectionstring`]: ['INVALID_STATE'],
  [`GET ${RELATIONAL}/connectionstring/external`]: ['LOAD_BALANCER_DISABLED'],
  [`POST ${RELATIONAL}/snapshots`]: [
    ...['ALREADY_EXISTS', 'BACKUP_TARGET_MISSING', 'INVALID_STATE', 'SNAPSHOT_CLASS_MISSING', 'SNAPSHOT_RUNNING'],
  ],
  [`DELETE ${RELATIONAL}/snapshots/{snapshotId}`]: ['IN_USE', 'LAST_RECOVERY_BASE'],
  [`POST ${RELATIONAL}/snapshots/{snapshotId}/restore`]: [
    ...['ALREADY_EXISTS', 'FORBIDDEN', 'INVALID_STATE', 'OUTSIDE_RECOVERY_WINDOW', 'PLAN_NOT_FOUND'],
    'STORAGE_CANNOT_SHRINK',
  ],
  ...editorCodes(RELATIONAL),
  ...editorCodes(RELATIONAL.replace('relationalclusters', 'sqlclusters')),
  [`POST ${SOURCES}/create`]: [
    ...['source-unknown', 'missing-credential', 'credential-rejected', 'url-not-allowed', 'bad-request'],
  ],
  [`GET ${SOURCES}/finalize`]: ['state-invalid'],
  [`GET ${SOURCES}/validate`]: ['state-invalid'],
  [`POST ${SOURCES}/installations/{installationId}/repositories/{repositoryId}/webhooks/ensure`]: [
    'webhooks-not-supported',
  ],
  [`POST ${SOURCES}/installations/{installationId}/token/{repositoryId}`]: ['tokens-not-supported'],
  [`PUT ${SOURCES}/{deploymentSourceId}/circuit`]: ['not-a-circuit'],
  [`POST ${SOURCES}/{deploymentSourceId}/circuit/repositories`]: ['already-exists', 'invalid-state'],
  [`POST ${SOURCES}/{deploymentSourceId}/materialize`]: ['already-exists', 'not-found'],
  [`POST ${SOURCES}/{deploymentSourceId}/verify`]: ['url-not-allowed', 'missing-credential'],
  'POST /admin/tenants': ['already_exists'],
  'DELETE /admin/tenants/{tenantId}': ['conflict'],
}

/** Documented refusals that no end-to-end test has provoked. @param folder of the shared test platform */
export function unseenCodes(folder: string): string[] {
  const path = join(folder, CODES_FILE)
  return missingCodes(existsSync(path) ? readFileSync(path, 'utf8') : '')
}

/** @param seen lines of `METHOD path code` */
export function missingCodes(seen: string): string[] {
  const router = new Router(SERVED_ROUTES)
  const found = new Set<string>()
  for (const line of new Set(seen.split('\n'))) {
    const [method = '', path = '', code = ''] = line.split(' ')
    const route = router.find(method, path)?.route
    if (route !== undefined) found.add(`${route.method} ${route.path} ${code}`)
  }
  const wanted = Object.entries(DOCUMENTED_CODES).flatMap(([route, codes]) => codes.map((code) => `${route} ${code}`))
  return wanted.filter((one) => !found.has(one))
}
