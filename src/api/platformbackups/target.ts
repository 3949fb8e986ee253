import { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { TARGET_CODES, type TargetAccess } from '../../adapters/backuptarget/port.ts'
import { otherTargetSecret, TARGET_SECRET_KEYS } from '../../contracts/platformbackups/names.ts'
import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import { timestamp } from '../../core/clock.ts'
import { summaryOf } from '../../core/conditions.ts'
import { firstReason, PlatformError } from '../../core/errors.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { plainLine } from '../../core/plainLine.ts'
import { type SecretData, secretData, secretText } from '../../core/secretData.ts'
import { BackupTarget } from '../../crds/platformBackups.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagHeader, matchesAnyVersion } from '../http/etag.ts'
import { readModel } from '../http/model.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { isEqual } from '../records/mergePatch.ts'
import { DateTime, ignoredFields, wholeRecord } from '../resources/dto.ts'
import type { Location } from './cluster.ts'
import { type BackupSettings, changeSettings, refuseIfMatchWithoutSettings, storedSettings } from './settings.ts'

const BackupTargetDto = namedRecord('BackupTargetDto', {
  isConfigured: z.boolean().describe('Whether Velero has anywhere to write to'),
  provider: z.string(),
  bucket: z.string().describe('Empty without a target'),
  prefix: z.string().nullable(),
  region: z.string().nullable(),
  endpoint: z.string().describe('Empty where the provider has only one'),
  accessKeyId: z.string().describe('Empty where only Velero knows it'),
  hasSecretAccessKey: z.boolean(),
  hasCaCertificate: z.boolean(),
  caExpiresAt: DateTime.nullable().describe('When the first certificate of caCertificate ends'),
  forcePathStyle: z.boolean(),
  status: z.enum(['Available', 'Unavailable', 'Unknown']).describe('Unknown until Velero has looked at it'),
  message: z.string().nullable(),
  lastValidatedAt: DateTime.nullable(),
  source: z.enum(['Configured', 'Installation']).describe('Set here, or what Velero was installed with'),
  rolloutId: z.guid().nullable().describe('Null: a target is applied without a rollout'),
})
type TargetRecord = z.output<typeof BackupTargetDto>

/** The key is stored in a file, one value per line. */
const KeyText = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[!-~]+$/, 'must be ASCII characters without spaces')

const { provider, bucket, prefix, region, endpoint, forcePathStyle, caCertificate } = BackupTarget.shape
const BackupTargetRequest = strictRecord('BackupTargetRequest', {
  bucket,
  accessKeyId: KeyText,
  secretAccessKey: KeyText.describe('Never shown'),
  endpoint,
  provider: provider.nullish(),
  caCertificate: caCertificate.unwrap().nullish(),
  region: region.nullish(),
  prefix: prefix.unwrap().nullish(),
  forcePathStyle: forcePathStyle.nullish(),
})

const WRITABLE = Object.keys(BackupTargetRequest.shape)
/** Accepts any text: this route has its own error code. A record can be sent back as read. */
const LaxTargetRequest = z.strictObject({
  ...Object.fromEntries(WRITABLE.map((name) => [name, z.string().max(65_536).nullish()])),
  forcePathStyle: z.boolean().nullish(),
  ...ignoredFields(Object.keys(BackupTargetDto.shape).filter((name) => !WRITABLE.includes(name))),
})

const BackupTargetTestDto = namedRecord('BackupTargetTestDto', {
  success: z.boolean(),
  code: z.enum(TARGET_CODES),
  message: z.string(),
  durationMs: z.int(),
  testedAt: DateTime,
})

const Access = BackupTarget.omit({ provider: true, secretName: true }).extend({
  accessKeyId: KeyText,
  secretAccessKey: KeyText,
})

/** @throws PlatformError invalid-target */
function readTarget(body: Readonly<Record<string, unknown>>): TargetAccess {
  const given = Object.entries(body).filter(
    ([name, value]) => WRITABLE.includes(name) && value !== null && value !== '',
  )
  const { provider: plugin = 'aws', ...rest } = Object.fromEntries(given)
  try {
    readModel(z.strictObject({ provider: provider.unwrap() }), { provider: plugin })
    const target = readModel(Access, rest)
    if (target.caCertificate !== undefined) expiryOf(target.caCertificate)
    return target
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    throw new PlatformError('invalid-target', error.message, error.extras, { cause: error })
  }
}

/** Returns the earliest expiry of the certificates, RFC 3339. @throws PlatformError invalid-target */
function expiryOf(pem: string): string {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    const expiries = blocks.map((block) => new X509Certificate(block).validToDate.getTime())
    return timestamp(Math.min(...expiries))
  } catch (cause) {
    const errors = [{ field: 'caCertificate', message: 'must be certificates in PEM' }]
    throw new PlatformError('invalid-target', firstReason(errors), { errors }, { cause })
  }
}

const NO_TARGET: TargetRecord = {
  ...{ isConfigured: false, provider: 'aws', bucket: '', prefix: null, region: null, endpoint: '', accessKeyId: '' },
  ...{ hasSecretAccessKey: false, hasCaCertificate: false, caExpiresAt: null, forcePathStyle: true },
  ...{ status: 'Unknown', message: null, lastValidatedAt: null, source: 'Installation', rolloutId: null },
}

/** Returns the configured target, or the one that Velero was installed with. */
async function targetDto(
  context: Context,
  settings: BackupSettings | undefined,
  location: Location | undefined,
): Promise<TargetRecord> {
  const target = settings?.spec.target
  if (settings === undefined || target === undefined)
    return location === undefined ? NO_TARGET : installedTarget(location)
  const data = await context.services.platformBackups.secrets.read(SYSTEM_NAMESPACE, target.secretName)
  const { caCertificate: pem } = target
  const isApplied = location !== undefined && isSame(target, location)
  const { statusMessage } = summaryOf(settings)
  return wholeRecord(BackupTargetDto, {
    ...target,
    isConfigured: true,
    accessKeyId: secretText(data, TARGET_SECRET_KEYS.id) ?? '',
    hasSecretAccessKey: data?.[TARGET_SECRET_KEYS.secret] !== undefined,
    hasCaCertificate: pem !== undefined,
    caExpiresAt: pem === undefined ? null : certificateExpiry(pem),
    ...(isApplied ? statusOf(location) : { status: 'Unknown', message: statusMessage, lastValidatedAt: null }),
    source: 'Configured',
  })
}

/** kubectl can store text that only looks like certificates. */
function certificateExpiry(pem: string): string | null {
  try {
    return expiryOf(pem)
  } catch {
    return null
  }
}

function isSame(target: BackupTarget, { spec = {} }: Location): boolean {
  const { objectStorage = {}, config = {} } = spec
  return objectStorage.bucket === target.bucket && config.s3Url === target.endpoint
}

function statusOf({ status = {} }: Location): Pick<TargetRecord, 'status' | 'message' | 'lastValidatedAt'> {
  const { phase, message, lastValidationTime } = status
  return {
    status: phase === 'Available' || phase === 'Unavailable' ? phase : 'Unknown',
    message: message === undefined || message === '' ? null : plainLine(message, 1024),
    lastValidatedAt: lastValidationTime ?? null,
  }
}

function installedTarget(location: Location): TargetRecord {
  const { provider: plugin = '', objectStorage = {}, config = {}, credential } = location.spec ?? {}
  return {
    ...NO_TARGET,
    isConfigured: true,
    provider: plugin,
    bucket: objectStorage.bucket ?? '',
    prefix: objectStorage.prefix ?? null,
    region: config.region ?? null,
    endpoint: config.s3Url ?? '',
    forcePathStyle: config.s3ForcePathStyle === 'true',
    hasSecretAccessKey: credential !== undefined,
    hasCaCertificate: objectStorage.caCert !== undefined || objectStorage.caCertRef !== undefined,
    ...statusOf(location),
  }
}

type Body = Readonly<Record<string, unknown>>

const errors = 'problem' as const
const manage = action('lifecycle/backupsManage')
const EXAMPLE = {
  bucket: 'platform-backups',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  endpoint: 'https://store.example.com',
}

/** Checks in the order of the interface: body, bucket, stored target, rollouts, concurrent writers. */
async function put(context: Context<string, unknown, Body>) {
  const { services, ifMatch } = context
  const before = await storedSettings(context)
  const access = readTarget(context.body)
  const verdict = await services.platformBackups.targets.test(access)
  if (verdict.code !== 'Ok')
    throw new PlatformError('target-rejected', `The target was not saved. ${verdict.message}`, { reason: verdict.code })
  if (before?.metadata.deletionTimestamp !== undefined)
    throw new PlatformError('target-not-applied', 'The settings of backups are being deleted: try again.')
  if (await isStored(context, before, access)) return ok(await currentTargetDto(context, before), etagHeader(before))
  await refuseInRollout(context)
  refuseIfMatchWithoutSettings(context, before)
  if (before !== undefined && ifMatch !== undefined && !matchesAnyVersion(ifMatch, before)) throw changedMeanwhile()
  const after = await services.records.exclusively('target of backups', () => store(context, before, access))
  return accepted(await currentTargetDto(context, after), etagHeader(after))
}

const changedMeanwhile = () =>
  new PlatformError('target-changed', 'Somebody else changed the settings of backups meanwhile: read them again.')

/** Returns the target without its key. */
function specOf({ accessKeyId: _id, secretAccessKey: _secret, ...rest }: TargetAccess) {
  return rest
}

async function isStored(
  { services }: Context,
  settings: BackupSettings | undefined,
  access: TargetAccess,
): Promise<boolean> {
  const target = settings?.spec.target
  if (target === undefined) return false
  const { secretName, provider: _, ...rest } = target
  if (!isEqual(rest, specOf(access))) return false
  const data = (await services.platformBackups.secrets.read(SYSTEM_NAMESPACE, secretName)) ?? {}
  return Object.entries(keyOf(access)).every(([entry, value]) => data[entry] === value)
}

function keyOf({ accessKeyId, secretAccessKey }: TargetAccess): SecretData {
  return secretData({ [TARGET_SECRET_KEYS.id]: accessKeyId, [TARGET_SECRET_KEYS.secret]: secretAccessKey })
}

/** The key goes to the unused of two Secret names, so that one write, of the settings, switches everything. */
async function store(
  context: Context,
  before: BackupSettings | undefined,
  access: TargetAccess,
): Promise<BackupSettings> {
  const { secrets } = context.services.platformBackups
  const version = (settings: BackupSettings | undefined) => `${settings?.metadata.uid} ${settings?.metadata.generation}`
  const now = await storedSettings(context)
  if (version(now) !== version(before)) throw changedMeanwhile()
  const settings = now ?? (await changeSettings(context, ({ spec }) => spec))
  const { apiVersion, kind, metadata } = settings
  const former = settings.spec.target?.secretName
  const secretName = otherTargetSecret(former)
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }
  await secrets.put({ namespace: SYSTEM_NAMESPACE, name: secretName }, keyOf(access), {
    ...owner,
    labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
  })
  const target = BackupTarget.parse({ ...specOf(access), secretName })
  const after = await changeSettings(context, (stored) => {
    if (version(stored) !== version(settings)) throw changedMeanwhile()
    return { ...stored.spec, target }
  })
  if (former !== undefined) await secrets.remove({ namespace: SYSTEM_NAMESPACE, name: former })
  return after
}

async function currentTargetDto(context: Context, settings: BackupSettings | undefined) {
  return targetDto(context, settings, await context.services.platformBackups.cluster.location())
}

/** Always answers 200: the response says what is wrong with the target. */
async function test({ services, body }: Context<string, unknown, Body>) {
  const { clock, platformBackups } = services
  const begin = clock.monotonic()
  const verdict = await testResult(body, (access) => platformBackups.targets.test(access))
  return ok({
    success: verdict.code === 'Ok',
    ...verdict,
    durationMs: Math.round(clock.monotonic() - begin),
    testedAt: timestamp(clock.now()),
  })
}

async function testResult(body: Body, testTarget: Context['services']['platformBackups']['targets']['test']) {
  try {
    return await testTarget(readTarget(body))
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'invalid-target') throw error
    return { code: 'invalid-target' as const, message: error.message }
  }
}

const body = { body: LaxTargetRequest, documentedBody: BackupTargetRequest, example: EXAMPLE, errors }

export const targetRoutes: readonly RouteDraft[] = [
  route('GET', '/lifecycle/backups/target', {
    auth: action('lifecycle/view'),
    summary: 'Where the platform is backed up to',
    reply: BackupTargetDto,
    errors,
    handler: async (context) => {
      const settings = await storedSettings(context)
      return ok(await currentTargetDto(context, settings), etagHeader(settings))
    },
  }),
  route('PUT', '/lifecycle/backups/target', {
    auth: manage,
    summary: 'Sets where the platform is backed up to; it is tested first',
    reply: BackupTargetDto,
    ...body,
    handler: put,
  }),
  route('POST', '/lifecycle/backups/target/test', {
    auth: manage,
    summary: 'Tests a target without saving it',
    reply: BackupTargetTestDto,
    ...body,
    handler: test,
  }),
]

/** A rollout writes its snapshot to the target that it started with. @throws PlatformError rollout-in-flight */
async function refuseInRollout({ services }: Context): Promise<void> {
  const rollouts = await services.records.list(RolloutExecution, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
  const running = rollouts.find(({ status }) => isRolloutActive(status?.state))
  if (running === undefined) return
  const executionId = running.metadata.name
  throw new PlatformError('rollout-in-flight', 'A rollout is running: set the target when it has ended.', {
    executionId,
  })
}
