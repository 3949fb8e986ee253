import { z } from 'zod'
import type { AuditRecord } from '../../adapters/objectstorage/port.ts'
import { STORE_FEATURES, storeNameOf } from '../../contracts/objectstorage.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, wholeRecord } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { SeriesDto } from '../resources/metrics.ts'
import { dateTime, number, text } from '../resources/paging.ts'
import { accountOf } from './buckets.ts'
import { type AccountObject, type BucketObject, bucketsOf } from './record.ts'
import { requireStoreFeature, storeOf, translateStoreErrors } from './store.ts'

const ACCOUNT = '{RG}/objectstorageaccounts/{name}'

const ObjectAuditEntry = namedRecord('ObjectAuditEntry', {
  id: z.string(),
  timestamp: DateTime,
  operation: z.string().describe('As S3 calls it: GetObject'),
  bucket: z.string(),
  key: z.string().nullable(),
  statusCode: z.int(),
  errorCode: z.string().nullable(),
  accessKeyId: z.string().nullable(),
  principalId: z.string().nullable().describe('Who created the key, if known'),
  remoteAddress: z.string(),
  bytes: z.int().nullable(),
  requestId: z.string(),
})
type ObjectAuditEntry = z.output<typeof ObjectAuditEntry>

/** The number of newest requests that are considered. */
const AUDIT_MAX = 10_000

async function auditOf(context: Context): Promise<ObjectAuditEntry[]> {
  const { object: account } = await accountOf(context, 'name')
  const { metadata, spec } = account
  if (!spec.auditEnabled) {
    throw new PlatformError('AUDIT_DISABLED', `Account "${metadata.name}" has no audit: set auditEnabled first.`)
  }
  const store = storeOf(context.services)
  if (!store.info.audits) requireStoreFeature({ field: 'audit', feature: 'audit' })
  const tenures = tenuresOf(account)
  const names = new Set(tenures.map(({ storeName }) => storeName))
  const { signal } = context
  const found = await translateStoreErrors(() => store.audit(names, AUDIT_MAX, { signal }))
  const principals = principalsByKey(context, account)
  return found.flatMap((record) => {
    const tenure = tenures.find((each) => isInTenure(record, each))
    return tenure === undefined ? [] : [entryOf(record, tenure.bucketName, principals)]
  })
}

/** The time in which a store name belonged to one bucket of the account, in seconds like creation timestamps. */
type StoreNameTenure = { storeName: string; bucketName: string; from: number; to: number }

const secondsOf = (time: string | undefined, fallback: number) =>
  time === undefined ? fallback : Math.floor(Date.parse(time) / 1000)

/**
 * Store names are reused, also by other accounts, whose requests must not be shown. So requests in the second in which
 * the account was created are left out: they could belong to a previous account of the same name.
 */
function tenuresOf({ metadata, status }: AccountObject): StoreNameTenure[] {
  const createdAt = secondsOf(metadata.creationTimestamp, Number.POSITIVE_INFINITY) + 1
  return (status?.bucketNames ?? []).map(({ storeName, bucketName, since, until }) => ({
    storeName,
    bucketName,
    from: Math.max(createdAt, secondsOf(since, createdAt)),
    to: secondsOf(until, Number.POSITIVE_INFINITY),
  }))
}

function isInTenure({ bucket, timestamp: time }: AuditRecord, { storeName, from, to }: StoreNameTenure): boolean {
  const second = secondsOf(time, 0)
  return bucket === storeName && second >= from && second <= to
}

function principalsByKey({ services }: Context, { metadata }: AccountObject): ReadonlyMap<string, string> {
  const keys = services.records.peekAll(ObjectAccessKey, { namespace: metadata.namespace })
  return new Map(
    keys.flatMap(({ status, metadata: { annotations } }) => {
      const creator = annotations?.[CREATED_BY_ANNOTATION]
      return status?.accessKeyId === undefined || creator === undefined ? [] : [[status.accessKeyId, creator]]
    }),
  )
}

function entryOf(record: AuditRecord, bucket: string, principals: ReadonlyMap<string, string>): ObjectAuditEntry {
  return wholeRecord(ObjectAuditEntry, { ...record, bucket, principalId: principals.get(record.accessKeyId ?? '') })
}

const ObjectUsageDto = namedRecord('ObjectUsageDto', {
  accountName: z.string(),
  observedAt: DateTime,
  usedBytes: z.int(),
  objectCount: z.int(),
  quotaBytes: z.int().nullable(),
  quotaObjects: z.int().nullable(),
  buckets: z.array(
    namedRecord('BucketUsageDto', {
      name: z.string(),
      usedBytes: z.int(),
      objectCount: z.int(),
      quotaBytes: z.int().nullable(),
    }),
  ),
  series: z.array(SeriesDto),
})

/** Buckets that are measured during the request; for others, the stored measurement is shown. */
const MEASURED_MAX = 20

/** A timeout, after which stored measurements are shown: measuring a bucket may take a thousand requests. */
const MEASURE_TIMEOUT_MS = 2_000

async function usageOf(context: Context, bucket: BucketObject, deadline: AbortSignal | undefined) {
  const { spec, status } = bucket
  const { store } = context.services.objectStorage
  const kept = { usedBytes: status?.usedBytes ?? 0, objectCount: status?.objectCount ?? 0 }
  const { bucketName: name, quotaBytes = null } = spec
  if (deadline === undefined || store === undefined || status?.storeName === undefined)
    return { name, ...kept, quotaBytes }
  const signal = AbortSignal.any([context.signal, deadline])
  // If the store does not answer, show the stored measurement.
  const usage = await store.use(storeNameOf(bucket), { signal }).catch(() => kept)
  return { name, usedBytes: usage.usedBytes, objectCount: usage.objectCount, quotaBytes }
}

async function readUsage(context: Context) {
  const { object } = await accountOf(context, 'name')
  const { metadata, spec, status } = object
  const found = bucketsOf(context.services, metadata.namespace, metadata.name)
  found.sort((one, other) => compareTexts(one.spec.bucketName, other.spec.bucketName))
  const deadline = AbortSignal.timeout(MEASURE_TIMEOUT_MS)
  const measurements = found.map((bucket, index) =>
    usageOf(context, bucket, index < MEASURED_MAX ? deadline : undefined),
  )
  const buckets = await Promise.all(measurements)
  const sum = (amountOf: (bucket: (typeof buckets)[number]) => number) =>
    buckets.reduce((total, each) => total + amountOf(each), 0)
  const observedAt = timestamp(context.services.clock.now())
  const usedBytes = sum((bucket) => bucket.usedBytes)
  const days = (status?.history ?? []).filter(({ date }) => date !== observedAt.slice(0, 10))
  return ok({
    accountName: metadata.name,
    observedAt,
    usedBytes,
    objectCount: sum((bucket) => bucket.objectCount),
    quotaBytes: spec.quotaBytes ?? null,
    quotaObjects: spec.quotaObjects ?? null,
    buckets,
    series: [
      {
        name: 'UsedBytes',
        unit: 'bytes',
        labels: {},
        points: [
          ...days.map(({ date, usedBytes: value }) => ({ timestamp: `${date}T00:00:00Z`, value })),
          { timestamp: observedAt, value: usedBytes },
        ].slice(-30),
      },
    ],
  })
}

const ObjectRuntimeInfoDto = namedRecord('ObjectRuntimeInfoDto', {
  driver: z.string(),
  version: z.string(),
  endpoint: z.string(),
  publicEndpoint: z.string().nullable(),
  regionName: z.string(),
  forcePathStyle: z.boolean(),
  features: namedRecord(
    'ObjectStoreFeatures',
    Object.fromEntries(STORE_FEATURES.map((name) => [name, z.boolean()])) as Record<
      (typeof STORE_FEATURES)[number],
      z.ZodBoolean
    >,
  ),
  limits: z.record(z.string(), z.int()),
})

async function readRuntimeInfo(context: Context<'boundaryId'>) {
  await findBoundary(context, context.parameters.boundaryId)
  const { driver, version, endpoint, publicEndpoint, regionName, forcePathStyle, features, limits } = storeOf(
    context.services,
  ).info
  return ok({
    ...{ driver, version, endpoint, regionName, forcePathStyle, features: { ...features }, limits: { ...limits } },
    publicEndpoint: publicEndpoint ?? null,
  })
}

export const insightRoutes: readonly RouteDraft[] = [
  listRoute(`${ACCOUNT}/audit`, {
    auth: action('object/audit/read'),
    summary: 'Requests to the buckets, newest first',
    dto: ObjectAuditEntry,
    columns: {
      timestamp: dateTime('Time'),
      operation: text('Operation', { isSorted: false }),
      bucket: text('Bucket', { isSorted: false }),
      statusCode: number('Status', { isSorted: false }),
      accessKeyId: text('Access key', { isSorted: false }),
    },
    sort: '-timestamp',
    name: 'key',
    answers: [409],
    unfollowed: 'the access log of the object store',
    rows: auditOf,
  }),
  route('GET', `${ACCOUNT}/usage`, {
    auth: action('objectstorageaccounts/read'),
    summary: 'What is used',
    reply: ObjectUsageDto,
    handler: readUsage,
  }),
  route('GET', '{B}/resources/objectstorageaccounts/runtime-info', {
    auth: action('objectstorageaccounts/read'),
    summary: 'What the store is and can do',
    reply: ObjectRuntimeInfoDto,
    handler: readRuntimeInfo,
  }),
]
