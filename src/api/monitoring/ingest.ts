import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import {
  ALERT_LEVEL_MAX,
  ALERT_STATES,
  type AlertIdentity,
  addAlertReport,
  alertObjectName,
  isSameAlert,
  SCOPE_KEYS,
} from '../../contracts/monitoring.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, isResourceName, isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlainText, Prose } from '../../crds/fields.ts'
import { PlatformAlert } from '../../crds/monitoring.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { Uuid } from '../resources/dto.ts'
import { withKindDescriptions } from '../resources/writtenBody.ts'
import { type AlertRecord, alertIdOf, groupOfAlert } from './alertRecord.ts'

const PAIRS_MAX = 50

const Request = strictRecord('AlertIngestRequest', {
  alertId: PlainText.min(1).max(256),
  title: PlainText.min(1).max(256),
  subject: PlainText.max(512).nullish(),
  detail: Prose.max(8192).nullish(),
  level: z.int().min(0).max(ALERT_LEVEL_MAX),
  status: z.enum(ALERT_STATES).nullish().describe('Firing if absent'),
  resourceType: PlainText.max(64).nullish(),
  resourceName: PlainText.max(253).nullish(),
  metadata: z
    .record(PlainText.min(1).max(128), PlainText.max(1024))
    .refine((pairs) => Object.keys(pairs).length <= PAIRS_MAX, `has at most ${PAIRS_MAX} pairs`)
    .nullish()
    .describe('boundaryId and resourceGroup say where the resource is'),
})
export const AlertIngestRequest = withKindDescriptions(Request, PlatformAlert)
export type AlertIngestRequest = z.output<typeof AlertIngestRequest>

export const AlertIngestResult = namedRecord('AlertIngestResult', {
  id: Uuid,
  alertId: z.string(),
  status: z.enum(ALERT_STATES),
  created: z.boolean().describe('False for an alert that was known, or that was resolved before it was reported'),
})
export type AlertIngestResult = z.output<typeof AlertIngestResult>

/** `alert` is undefined if it was resolved before it was reported: such alerts are not stored. */
type Ingested = { result: AlertIngestResult; alert?: AlertRecord | undefined }

type Place = { namespace: string; resourceGroup: string | undefined }
const PLATFORM_PLACE: Place = { namespace: SYSTEM_NAMESPACE, resourceGroup: undefined }

/** Returns where an alert belongs. With an unknown place, it is stored at the platform. */
function placeNamed({ services }: Context, pairs: Readonly<Record<string, string>>): Place | undefined {
  // UUIDs are case-insensitive (RFC 9562 section 4).
  const [boundaryId, resourceGroup] = [pairs[SCOPE_KEYS.boundary]?.toLowerCase(), pairs[SCOPE_KEYS.group]]
  if (boundaryId === undefined) return undefined
  const namespace = boundaryNamespace(boundaryId)
  if (!isUuid(boundaryId) || isLeaving(services.records.peek(Boundary, { name: boundaryId }))) return PLATFORM_PLACE
  if (resourceGroup === undefined) return { namespace, resourceGroup: undefined }
  const isKnown = isResourceName(resourceGroup)
  const group = isKnown ? services.records.peek(ResourceGroup, { namespace, name: resourceGroup }) : undefined
  return isLeaving(group) ? PLATFORM_PLACE : { namespace, resourceGroup }
}

const isLeaving = (object: { metadata: { deletionTimestamp?: string | undefined } } | undefined) =>
  object === undefined || object.metadata.deletionTimestamp !== undefined

const placeOf = (alert: AlertRecord): Place => ({
  namespace: alert.metadata.namespace ?? '',
  resourceGroup: groupOfAlert(alert),
})

/** Without a place, finds the known alert if there is exactly one, preferring the platform's. */
function findAlert(context: Context, identity: AlertIdentity, location: Place | undefined): AlertRecord | undefined {
  const { records } = context.services
  const matching = records
    .peekAll(PlatformAlert, location && { namespace: location.namespace })
    .filter(({ spec, metadata }) => metadata.deletionTimestamp === undefined && isSameAlert(spec, identity))
  if (location !== undefined) return matching.find((alert) => groupOfAlert(alert) === location.resourceGroup)
  return (
    matching.find(({ metadata }) => metadata.namespace === SYSTEM_NAMESPACE) ??
    (matching.length === 1 ? matching[0] : undefined)
  )
}

/**
 * Stores a reported alert (interface section 4.16, records: monitoring). Reports with the same alertId, resourceType
 * and resourceName in the same place concern one alert, which is overwritten and counted.
 *
 * @param resend milliseconds within which an unchanged report counts as the same one, sent again
 */
export async function ingest(context: Context, body: AlertIngestRequest, resend = 0): Promise<Ingested> {
  const { alertId, resourceType, resourceName } = body
  const status = body.status ?? 'Firing'
  const identity = { alertId, resourceType: resourceType ?? '', resourceName: resourceName ?? '' }
  const named = placeNamed(context, body.metadata ?? {})
  const known = findAlert(context, identity, named)
  const location = named ?? (known === undefined ? PLATFORM_PLACE : placeOf(known))
  const name = known?.metadata.name ?? alertObjectName(identity, location.resourceGroup)
  const ref = { namespace: location.namespace, name }
  const result = { id: alertIdOf(ref), alertId, status }
  const now = timestamp(context.services.clock.now())
  const specAfter = (before: AlertRecord['spec'] | undefined) => ({
    ...identity,
    title: body.title,
    subject: body.subject ?? '',
    detail: body.detail ?? '',
    level: body.level,
    status,
    metadata: { ...(named === undefined && previousPlace(before)), ...body.metadata },
    told: addAlertReport(before?.told ?? previousCount(known), status, now),
  })
  if (known === undefined && status === 'Resolved') {
    // Another replica may have stored it before our watch has seen it.
    const stored = await context.services.records.get(PlatformAlert, ref, { fresh: true })
    if (stored === undefined) return { result: { ...result, created: false } }
  } else if (known === undefined) {
    const made = await create(context, ref, specAfter(undefined))
    if (made !== undefined) return { result: { ...result, created: true }, alert: made }
  }
  const change = ({ spec }: AlertRecord) => specAfter(spec)
  if (known?.spec.told !== undefined && Date.parse(now) - Date.parse(known.spec.told.lastAt) < resend) {
    const isChanged = !isDeepStrictEqual({ ...change(known), told: undefined }, { ...known.spec, told: undefined })
    if (!isChanged) return { result: { ...result, created: false }, alert: known }
  }
  const { object } = await context.services.records.update(PlatformAlert, ref, { caller: context.caller, change })
  return { result: { ...result, created: false }, alert: object }
}

/** Alerts written with kubectl continue counting from their status. */
function previousCount(alert: AlertRecord | undefined) {
  if (alert === undefined) return undefined
  const { occurrences = 1, resolvedAt } = alert.status ?? {}
  return { times: occurrences, resolvedAt }
}

function previousPlace(spec: AlertRecord['spec'] | undefined): Record<string, string> {
  const kept = Object.values(SCOPE_KEYS).flatMap((key) => {
    const value = spec?.metadata[key]
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(kept)
}

/** Returns undefined if another replica created it at the same time. */
async function create(context: Context, { namespace, name }: { namespace: string; name: string }, spec: object) {
  try {
    const { isNew, object } = await context.services.records.create(PlatformAlert, {
      namespace,
      name,
      spec,
      caller: context.caller,
    })
    return isNew ? object : undefined
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'ALREADY_EXISTS') return undefined
    throw error
  }
}
