import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { latestScan } from '../../../contracts/rollouts/checkInput.ts'
import { driftValueDigest } from '../../../contracts/rollouts/drift.ts'
import { SCAN_INTERVAL_MS } from '../../../contracts/rollouts/states.ts'
import { timestamp } from '../../../core/clock.ts'
import { PlatformError } from '../../../core/errors.ts'
import { createdAtOf } from '../../../core/object.ts'
import { compareTexts } from '../../../core/textOrder.ts'
import { PlatformDriftScan } from '../../../crds/rollouts.ts'
import { accepted, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { etagOf } from '../../http/etag.ts'
import { namedRecord, strictRecord } from '../../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../../http/route.ts'
import { atPlatform } from '../../resources/collection/parents.ts'
import { DateTime, Uuid } from '../../resources/dto.ts'
import { withChangeLock } from '../../rules/changeLocks.ts'
import { listPlatformObjects, platformObjectId } from '../inventory.ts'
import { LIFECYCLE_LOCK, refuseInRollout } from '../lifecycleLock.ts'
import { driftDto, PlatformDriftItemDto, PlatformDriftScanDto } from './records.ts'
import type { ScanRecord } from './service.ts'

const PlatformDriftDto = namedRecord('PlatformDriftDto', {
  scan: PlatformDriftScanDto.nullable(),
  items: z.array(PlatformDriftItemDto),
  nextScanAt: DateTime,
})

function scanDto({ metadata, spec, status = {} }: ScanRecord): z.output<typeof PlatformDriftScanDto> {
  return {
    id: platformObjectId(PlatformDriftScan, metadata),
    status: status.state ?? 'Running',
    trigger: spec.trigger,
    startedAt: status.startedAt ?? createdAtOf(metadata),
    finishedAt: status.finishedAt ?? null,
    scanned: status.scanned ?? 0,
    message: status.message ?? null,
  }
}

/** The next scheduled scan is created in advance and does not count before it is due. */
const isDue = ({ spec }: ScanRecord, now: number) => spec.notBefore === undefined || Date.parse(spec.notBefore) <= now
const isRunning = (scan: ScanRecord, now: number) =>
  isDue(scan, now) && (scan.status?.state === undefined || scan.status.state === 'Running')

async function show(context: Context) {
  const now = context.services.clock.now()
  const scans = await listPlatformObjects(context, PlatformDriftScan)
  const begun = scans.filter((scan) => isDue(scan, now)).map((scan) => ({ scan, dto: scanDto(scan) }))
  const [newest] = begun.sort((one, other) => compareTexts(other.dto.startedAt, one.dto.startedAt))
  const next = scans.find((scan) => !isDue(scan, now))?.spec.notBefore
  return ok({
    scan: newest?.dto ?? null,
    items: (latestScan(scans)?.status?.items ?? []).map(driftDto),
    nextScanAt: next ?? timestamp(now + SCAN_INTERVAL_MS),
  })
}

/** @throws PlatformError ScanRunning with `scanId`, RolloutBusy with `executionId` */
async function startScan(context: Context) {
  const { services, caller } = context
  return withChangeLock(services, LIFECYCLE_LOCK, async () => {
    const scans = await listPlatformObjects(context, PlatformDriftScan, true)
    const running = scans.find((scan) => isRunning(scan, services.clock.now()))
    if (running !== undefined) {
      const scanId = platformObjectId(PlatformDriftScan, running.metadata)
      throw new PlatformError('ScanRunning', 'A scan is under way: wait until it has finished.', { scanId })
    }
    await refuseInRollout(context)
    const { namespace } = atPlatform()
    const request = { namespace, name: randomUUID(), spec: { trigger: 'Manual' }, caller }
    const { object } = await services.records.create(PlatformDriftScan, request)
    return accepted(scanDto(object), { etag: etagOf(object) })
  })
}

const AdoptPlatformDriftRequest = strictRecord('AdoptPlatformDriftRequest', {
  scanId: Uuid.nullish(),
  configKey: z.string().max(255).nullish().describe('Whose value is taken over; looked at after scanId'),
  liveValue: z.string().max(2048).nullish(),
  acknowledge: z.boolean().nullish(),
})
type Adopt = z.output<typeof AdoptPlatformDriftRequest>

const PlatformDriftAdoptionDto = namedRecord('PlatformDriftAdoption', {
  configKey: z.string(),
  adoptedValue: z.string().describe('Of a secret its digest'),
  component: z.string(),
  rolloutPlanId: Uuid.nullable(),
})

const refusal = (code: 'ScanStale' | 'DriftChanged' | 'ConfigChanged' | 'NotAdoptable', message: string) =>
  new PlatformError(code, message)

/** @throws PlatformError AcknowledgementRequired, ScanStale, NotAdoptable, RolloutBusy, DriftChanged, ConfigChanged */
async function adopt(context: Context<string, unknown, Adopt | undefined>) {
  const { services, body = {} } = context
  if (body.acknowledge !== true) {
    throw new PlatformError('AcknowledgementRequired', 'Send acknowledge: true to take over the value.')
  }
  const configKey = body.configKey ?? ''
  return withChangeLock(services, LIFECYCLE_LOCK, async () => {
    const scan = await requireLatestScan(context, body)
    const item = scan.status?.items?.find(({ adoption }) => adoption?.configKey === configKey)
    if (item?.adoption === undefined) throw refusal('NotAdoptable', `The last scan offers no value for "${configKey}".`)
    await refuseInRollout(context)
    const { liveValue, isSecret } = item.adoption
    if (body.liveValue !== liveValue)
      throw refusal('DriftChanged', 'The value differs from the one that the last scan found.')
    const value = isSecret ? await secretOf(context, item, liveValue) : liveValue
    const { configuration } = services.lifecycle
    const stored = await configuration.read()
    const seen = scan.status?.configVersion
    if (stored.version === undefined || stored.version !== seen || stored.entries[configKey] === undefined) {
      throw refusal('ConfigChanged', 'The configuration has changed since the scan, or lacks the value: scan again.')
    }
    if (!(await configuration.replace(configKey, value, stored.version))) {
      throw refusal('ConfigChanged', 'The configuration was written meanwhile: scan again.')
    }
    return ok({ configKey, adoptedValue: liveValue, component: item.component, rolloutPlanId: null })
  })
}

/** @throws PlatformError ScanStale */
async function requireLatestScan(context: Context, { scanId }: Adopt): Promise<ScanRecord> {
  const scans = await listPlatformObjects(context, PlatformDriftScan, true)
  const running = scans.find((scan) => isRunning(scan, context.services.clock.now()))
  if (running !== undefined) throw refusal('ScanStale', 'A scan is under way: wait for its result.')
  const found = latestScan(scans)
  if (found === undefined) throw refusal('ScanStale', 'No scan has finished yet.')
  if (scanId === platformObjectId(PlatformDriftScan, found.metadata)) return found
  throw refusal('ScanStale', 'scanId must name the scan that finished last.')
}

/** Returns the secret value, which records do not contain. @throws PlatformError DriftChanged */
async function secretOf(
  { services }: Context,
  item: { kind: string; namespace: string; name: string; field: string },
  digest: string,
): Promise<string> {
  const value = await services.rollouts.inspector.valueOf(item)
  const text = value === undefined ? undefined : String(value)
  if (text === undefined || driftValueDigest(text) !== digest) {
    throw refusal('DriftChanged', 'The value has changed since the scan: scan again.')
  }
  return text
}

export const driftRoutes: readonly RouteDraft[] = [
  route('GET', '/lifecycle/platform-drift', {
    auth: action('lifecycle/view'),
    summary: 'What was changed by hand',
    reply: PlatformDriftDto,
    handler: show,
  }),
  route('POST', '/lifecycle/platform-drift/scan', {
    auth: action('lifecycle/plan'),
    summary: 'Scan for manual changes',
    reply: PlatformDriftScanDto,
    handler: startScan,
  }),
  route('POST', '/lifecycle/platform-drift/adopt', {
    auth: action('lifecycle/execute'),
    summary: 'Take over a manually changed value into the configuration',
    body: AdoptPlatformDriftRequest,
    isBodyOptional: true,
    reply: PlatformDriftAdoptionDto,
    handler: adopt,
  }),
]
