import { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { TARGET_CODES, type TargetAccess } from '../../adapters/backuptarget/port.ts'
import { TARGET_SECRET_KEYS } from '../../contracts/platformbackups/names.ts'
import { timestamp } from '../../core/clock.ts'
import { summaryOf } from '../../core/conditions.ts'
import { firstReason, PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { plainLine } from '../../core/plainLine.ts'
import { secretText } from '../../core/secretData.ts'
import { BackupTarget } from '../../crds/platformBackups.ts'
import type { Context } from '../http/context.ts'
import { readModel } from '../http/model.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { DateTime, ignoredFields, wholeRecord } from '../resources/dto.ts'
import type { Location } from './cluster.ts'
import type { BackupSettings } from './settings.ts'

export const BackupTargetDto = namedRecord('BackupTargetDto', {
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
export const BackupTargetRequest = strictRecord('BackupTargetRequest', {
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
export const LaxTargetRequest = z.strictObject({
  ...Object.fromEntries(WRITABLE.map((name) => [name, z.string().max(65_536).nullish()])),
  forcePathStyle: z.boolean().nullish(),
  ...ignoredFields(Object.keys(BackupTargetDto.shape).filter((name) => !WRITABLE.includes(name))),
})

export const BackupTargetTestDto = namedRecord('BackupTargetTestDto', {
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
export function readTarget(body: Readonly<Record<string, unknown>>): TargetAccess {
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
export async function targetDto(
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
