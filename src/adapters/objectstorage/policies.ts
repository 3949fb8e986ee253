import type { StoreGrant, StorePermission } from '../../contracts/objectstorage.ts'
import { sha256 } from '../../core/names.ts'
import { compareTexts } from '../../core/textOrder.ts'

/**
 * Policy documents of S3 (AWS, "Bucket policies" and "Actions, resources, and condition keys for Amazon S3"). No grant
 * lets a key change access: policies, ACLs, versioning and locks of a bucket stay with the platform.
 */
type Statement = {
  Sid: string
  Effect: 'Allow'
  Principal: '*' | { AWS: string | string[] }
  Action: string | readonly string[]
  Resource: string | readonly string[]
  Condition?: Record<string, Record<string, string | string[]>>
}
export type PolicyDocument = { Version: string; Statement: Statement[] }

const VERSION = '2012-10-17'
/** Id of the statement for anonymous reads. */
const PUBLIC_SID = 'public'

const BUCKET_READ_ACTIONS = ['s3:ListBucket', 's3:ListBucketVersions', 's3:GetBucketLocation', 's3:GetBucketVersioning']
const LIST_UPLOADS_ACTIONS = ['s3:ListBucketMultipartUploads']
const SETTINGS_ACTIONS = ['s3:GetLifecycleConfiguration', 's3:GetBucketCORS', 's3:GetBucketObjectLockConfiguration']
const READ_ACTIONS = ['s3:GetObject', 's3:GetObjectVersion', 's3:GetObjectTagging', 's3:GetObjectAttributes']
const WRITE_ACTIONS = [
  's3:PutObject',
  's3:DeleteObject',
  's3:PutObjectTagging',
  's3:DeleteObjectTagging',
  's3:AbortMultipartUpload',
  's3:ListMultipartUploadParts',
]
const ADMIN_ACTIONS = [
  's3:DeleteObjectVersion',
  's3:GetObjectRetention',
  's3:PutObjectRetention',
  's3:GetObjectLegalHold',
  's3:PutObjectLegalHold',
]

const BUCKET_ACTIONS: Record<StorePermission, readonly string[]> = {
  Read: BUCKET_READ_ACTIONS,
  Write: LIST_UPLOADS_ACTIONS,
  ReadWrite: [...BUCKET_READ_ACTIONS, ...LIST_UPLOADS_ACTIONS],
  Admin: [...BUCKET_READ_ACTIONS, ...LIST_UPLOADS_ACTIONS, ...SETTINGS_ACTIONS],
}
const OBJECT_ACTIONS: Record<StorePermission, readonly string[]> = {
  Read: READ_ACTIONS,
  Write: WRITE_ACTIONS,
  ReadWrite: [...READ_ACTIONS, ...WRITE_ACTIONS],
  Admin: [...READ_ACTIONS, ...WRITE_ACTIONS, ...ADMIN_ACTIONS],
}

/** The bucket actions that accept a condition on the prefix. */
const PREFIXED = new Set(['s3:ListBucket', 's3:ListBucketVersions'])

const bucketArn = (bucket: string) => `arn:aws:s3:::${bucket}`

/**
 * Returns the statements of a grant, without principal: one if possible, because each repeats its users. With a prefix,
 * only actions that list can carry the condition, so bucket and objects are separate.
 */
function statementsOf({ bucket, permission, prefix }: StoreGrant): Omit<Statement, 'Principal'>[] {
  const [onBucket, onObjects] = [BUCKET_ACTIONS[permission], OBJECT_ACTIONS[permission]]
  const [Resource, Effect] = [bucketArn(bucket), 'Allow'] as const
  if (prefix === undefined) {
    return [{ Sid: permission, Effect, Action: [...onBucket, ...onObjects], Resource: [Resource, `${Resource}/*`] }]
  }
  const sid = `${permission}${sha256(prefix).slice(0, 16)}`
  const objects = { Sid: `${sid}Objects`, Effect, Action: onObjects, Resource: `${Resource}/${prefix}*` }
  const Action = onBucket.filter((action) => PREFIXED.has(action))
  if (Action.length === 0) return [objects]
  const Condition = { StringLike: { 's3:prefix': `${prefix}*` } }
  return [{ Sid: `${sid}Bucket`, Effect, Action, Resource, Condition }, objects]
}

function publicStatement(bucket: string): Statement {
  return {
    Sid: PUBLIC_SID,
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:GetObject',
    Resource: `${bucketArn(bucket)}/*`,
  }
}

/** Returns the users of a statement; none if it is for everyone. */
function principalsOf({ Principal }: Statement): readonly string[] {
  if (Principal === '*') return []
  return typeof Principal.AWS === 'string' ? [Principal.AWS] : Principal.AWS
}

/** Matches a user's name or ARN. */
const isUser = (principal: string, user: string) => principal === user || principal.endsWith(`/${user}`)

/**
 * Replaces one user's grant in a bucket policy; undefined if no statement is left. Users with the same permission and
 * prefix share a statement, because stores limit the size of a policy. Statements and principals are sorted, so that
 * the same grants always give the same text.
 *
 * @param principal the user's ARN
 * @param grant undefined removes the user
 */
export function withGrant(
  policy: PolicyDocument | undefined,
  { user, principal }: { user: string; principal: string },
  grant: StoreGrant | undefined,
): PolicyDocument | undefined {
  const bySid = new Map<string, Statement>()
  for (const statement of policy?.Statement ?? []) {
    const left = principalsOf(statement).filter((each) => !isUser(each, user))
    if (statement.Principal === '*') bySid.set(statement.Sid, statement)
    else if (left.length > 0) bySid.set(statement.Sid, { ...statement, Principal: { AWS: left } })
  }
  for (const statement of grant === undefined ? [] : statementsOf(grant)) {
    const known = bySid.get(statement.Sid)
    const users = [...(known === undefined ? [] : principalsOf(known)), principal].sort()
    bySid.set(statement.Sid, { ...statement, Principal: { AWS: users } })
  }
  return policyOf(bySid.values())
}

/** Adds or removes the statement for anonymous reads. */
export function withPublic(
  policy: PolicyDocument | undefined,
  bucket: string,
  isPublic: boolean,
): PolicyDocument | undefined {
  const others = (policy?.Statement ?? []).filter(({ Sid }) => Sid !== PUBLIC_SID)
  return policyOf(isPublic ? [...others, publicStatement(bucket)] : others)
}

function policyOf(statements: Iterable<Statement>): PolicyDocument | undefined {
  const sorted = [...statements].sort((one, other) => compareTexts(one.Sid, other.Sid))
  return sorted.length === 0 ? undefined : { Version: VERSION, Statement: sorted }
}
