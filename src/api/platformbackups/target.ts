import type { TargetAccess } from '../../adapters/backuptarget/port.ts'
import { otherTargetSecret, TARGET_SECRET_KEYS } from '../../contracts/platformbackups/names.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import { BackupTarget } from '../../crds/platformBackups.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagHeader, matchesAnyVersion } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { isEqual } from '../records/mergePatch.ts'
import { refuseInRollout } from './rollout.ts'
import { type BackupSettings, changeSettings, refuseIfMatchWithoutSettings, storedSettings } from './settings.ts'
import {
  BackupTargetDto,
  BackupTargetRequest,
  BackupTargetTestDto,
  LaxTargetRequest,
  readTarget,
  targetDto,
} from './targetRecord.ts'

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
