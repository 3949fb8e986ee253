import { z } from 'zod'
import { ALERT_LEVELS, ALERT_STATES, alertOccurrencesOf, RUNBOOK_KEY, SCOPE_KEYS } from '../../contracts/monitoring.ts'
import { timestamp } from '../../core/clock.ts'
import { objectId } from '../../core/ids.ts'
import { boundaryOfNamespace } from '../../core/names.ts'
import { PlatformAlert } from '../../crds/monitoring.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'

export type AlertRecord = RecordOf<typeof PlatformAlert>

export const AlertDto = namedRecord('AlertDto', {
  id: Uuid,
  alertId: z.string(),
  title: z.string(),
  subject: z.string(),
  detail: z.string(),
  level: z.int().describe(ALERT_LEVELS.map((name, level) => `${level} ${name}`).join(', ')),
  levelName: z.enum(ALERT_LEVELS),
  status: z.enum(ALERT_STATES),
  boundaryId: Uuid.nullable().describe('Null for what is about the platform'),
  resourceGroup: z.string().nullable(),
  resourceType: z.string(),
  resourceName: z.string(),
  metadata: z.record(z.string(), z.string()),
  firstSeenAt: DateTime,
  lastSeenAt: DateTime,
  resolvedAt: DateTime.nullable(),
  occurrences: z.int().describe('How often it was reported as Firing'),
  runbookUrl: z.string().nullable().describe('Where to read what to do'),
})
export type AlertDto = z.output<typeof AlertDto>

export function alertIdOf(ref: { namespace: string; name: string }): string {
  return objectId(PlatformAlert.resource, ref)
}

/** Returns the group that an alert concerns; undefined if it concerns a boundary or the platform. */
export function groupOfAlert({ metadata, spec }: AlertRecord): string | undefined {
  return boundaryOfNamespace(metadata.namespace ?? '') === undefined ? undefined : spec.metadata[SCOPE_KEYS.group]
}

/** Returns the text only if it is a web URL, because reporters of alerts can put anything there. */
function webAddress(text: string | undefined): string | null {
  return text !== undefined && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? text : null
}

export function alertDto({ clock }: Pick<Services, 'clock'>, alert: AlertRecord): AlertDto {
  const { metadata, spec } = alert
  const { namespace = '', name } = metadata
  return wholeRecord(AlertDto, {
    ...spec,
    ...alertOccurrencesOf(alert, timestamp(clock.now())),
    id: alertIdOf({ namespace, name }),
    levelName: ALERT_LEVELS[spec.level] ?? 'Information',
    boundaryId: boundaryOfNamespace(namespace),
    resourceGroup: groupOfAlert(alert),
    runbookUrl: webAddress(spec.metadata[RUNBOOK_KEY]),
  })
}
