import type { StoreGrant, StorePermission } from '../../contracts/objectstorage.ts'

/**
 * Policy documents as S3 stores read them (AWS, "Bucket policies" and "Actions, resources, and condition keys for
 * Amazon S3"). Nothing here lets a key change who else may do something: policies, access lists, versioning and locks of
 * a bucket stay with the platform.
 */
export type Statement = {
  Sid: string
  Effect: 'Allow'
  Principal: '*' | { AWS: string | string[] }
  Action: string | string[]
  Resource: string | string[]
  Condition?: Record<string, Record<string, string | string[]>>
}
export type PolicyDocument = { Version: string; Statement: Statement[] }

const VERSION = '2012-10-17'
/** The statement that lets everybody read. */
export const PUBLIC_SID = 'public'

const LOOK = ['s3:ListBucket', 's3:ListBucketVersions', 's3:GetBucketLocation', 's3:GetBucketVersioning']
const SEE_UPLOADS = ['s3:ListBucketMultipartUploads']
const SETTINGS = ['s3:GetLifecycleConfiguration', 's3:GetBucketCORS', 's3:GetBucketObjectLockConfiguration']
const READ = ['s3:GetObject', 's3:GetObjectVersion', 's3:GetObjectTagging', 's3:GetObjectAttributes']
const WRITE = [
  's3:PutObject',
  's3:DeleteObject',
  's3:PutObjectTagging',
  's3:DeleteObjectTagging',
  's3:AbortMultipartUpload',
  's3:ListMultipartUploadParts',
]
const RULE = [
  's3:DeleteObjectVersion',
  's3:GetObjectRetention',
  's3:PutObjectRetention',
  's3:GetObjectLegalHold',
  's3:PutObjectLegalHold',
]

const ON_BUCKET: Record<StorePermission, readonly string[]> = {
  Read: LOOK,
  Write: SEE_UPLOADS,
  ReadWrite: [...LOOK, ...SEE_UPLOADS],
  Admin: [...LOOK, ...SEE_UPLOADS, ...SETTINGS],
}
const ON_OBJECTS: Record<StorePermission, readonly string[]> = {
  Read: READ,
  Write: WRITE,
  ReadWrite: [...READ, ...WRITE],
  Admin: [...READ, ...WRITE, ...RULE],
}

/** Actions on a bucket that take a prefix, and so can be held to one. */
const PREFIXED = new Set(['s3:ListBucket', 's3:ListBucketVersions'])

const bucketArn = (bucket: string) => `arn:aws:s3:::${bucket}`

/** The two statements of one grant, for a user by its ARN. */
export function grantStatements(grant: StoreGrant, sid: string, principal: string): Statement[] {
  const { bucket, permission, prefix } = grant
  const Principal = { AWS: principal }
  const onBucket = ON_BUCKET[permission].filter((action) => prefix === undefined || PREFIXED.has(action))
  return [
    {
      Sid: `${sid}Bucket`,
      Effect: 'Allow',
      Principal,
      Action: onBucket,
      Resource: bucketArn(bucket),
      ...(prefix === undefined ? {} : { Condition: { StringLike: { 's3:prefix': `${prefix}*` } } }),
    },
    {
      Sid: `${sid}Objects`,
      Effect: 'Allow',
      Principal,
      Action: [...ON_OBJECTS[permission]],
      Resource: `${bucketArn(bucket)}/${prefix ?? ''}*`,
    },
  ]
}

export function publicStatement(bucket: string): Statement {
  return {
    Sid: PUBLIC_SID,
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:GetObject',
    Resource: `${bucketArn(bucket)}/*`,
  }
}

/** The subject of a user's statements: a Sid has letters and digits only. */
export function subjectOf(user: string): string {
  return user.replace(/[^A-Za-z0-9]/g, '')
}

/** Whether a statement is of this subject. */
function isOf({ Sid }: Statement, subject: string): boolean {
  return Sid === subject || Sid === `${subject}Bucket` || Sid === `${subject}Objects`
}

/**
 * The policy of a bucket after one subject's statements were replaced; undefined where none is left. The order is that
 * of the Sids, so that the same grants always give the same text.
 */
export function withSubject(
  policy: PolicyDocument | undefined,
  subject: string,
  statements: readonly Statement[],
): PolicyDocument | undefined {
  const others = (policy?.Statement ?? []).filter((statement) => !isOf(statement, subject))
  const all = [...others, ...statements].sort((one, other) => (one.Sid < other.Sid ? -1 : 1))
  return all.length === 0 ? undefined : { Version: VERSION, Statement: all }
}

export function hasSubject(policy: PolicyDocument | undefined, subject: string): boolean {
  return (policy?.Statement ?? []).some((statement) => isOf(statement, subject))
}
