import { z } from 'zod'
import { type AlertState, RUNBOOK_KEY, SCOPE_KEYS } from '../../contracts/monitoring.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { mapConcurrently } from '../../core/mapConcurrently.ts'
import { plainLine } from '../../core/plainLine.ts'
import { accepted } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { ownerOfNamespace } from '../resources/namespaceOwner.ts'
import { type AlertIngestRequest, AlertIngestResult, ingest } from './ingest.ts'
import { KIND_BY_COLLECTION, type MonitoredResource } from './monitoredResource.ts'
import { targetOf } from './targets.ts'

/** Alerts per delivery; a lower `max_alerts` can be set in Alertmanager. */
const ALERTS_MAX = 500
const PAIRS_MAX = 45
/** Alerts written at once. One by one, 500 take longer than a request may; all at once, they are a storm of writes. */
const CONCURRENCY_MAX = 8
/**
 * Milliseconds within which an unchanged alert counts as sent again, because the delivery was not answered. Otherwise
 * nothing is stored of it, so that the next attempt continues where the last one ended.
 */
const RESEND_MS = 60_000
const Texts = z.record(z.string().max(256), z.string().max(16_384)).default({})

/** The fields that are read from a webhook delivery of Alertmanager, version 4. */
const AlertmanagerDelivery = z
  .looseObject({
    version: z.literal('4'),
    alerts: z
      .array(
        z.looseObject({
          status: z.enum(['firing', 'resolved']),
          labels: Texts,
          annotations: Texts,
          fingerprint: z.string().min(1).max(64),
        }),
      )
      .max(ALERTS_MAX),
  })
  .meta({ id: 'AlertmanagerDelivery' })
type Delivered = z.output<typeof AlertmanagerDelivery>['alerts'][number]

const SEVERITIES = new Map(Object.entries({ critical: 4, error: 3, warning: 2, info: 1, none: 0 }))
const STATES: Readonly<Record<Delivered['status'], AlertState>> = { firing: 'Firing', resolved: 'Resolved' }
/** Labels that name an object of a workload. */
const OBJECT_LABELS = ['pod', 'persistentvolumeclaim', 'job_name'] as const

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const CONTROL_CHARACTERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Converts an alert of Prometheus. Only the namespace determines where it belongs, because anybody can set labels. */
export function alertOf(
  services: Pick<Services, 'records'>,
  { status, labels, annotations, fingerprint }: Delivered,
): AlertIngestRequest {
  const name = plainLine(labels.alertname ?? 'Alert', 256) || 'Alert'
  const owner = ownerOfNamespace(services, labels.namespace ?? '')
  const resource =
    owner?.resourceGroup == null ? undefined : resourceOf(services, owner.boundaryId, owner.resourceGroup, labels)
  const pairs = Object.entries(labels)
    .filter(([key]) => !Object.values<string>(SCOPE_KEYS).includes(key) && key !== RUNBOOK_KEY && key !== '__proto__')
    .slice(0, PAIRS_MAX)
    .map(([key, value]) => [plainLine(key, 128), plainLine(value, 1024)] as const)
  const runbook = annotations.runbook_url
  return {
    alertId: fingerprint,
    title: plainLine(annotations.summary ?? name, 256) || name,
    subject: name,
    detail: (annotations.description ?? '').replaceAll(CONTROL_CHARACTERS, ' ').slice(0, 8192),
    level: SEVERITIES.get(labels.severity ?? '') ?? 2,
    status: STATES[status],
    resourceType: resource?.type ?? plainLine(labels.resource_type ?? '', 64),
    resourceName: resource?.name ?? plainLine(labels.resource_name ?? '', 253),
    metadata: {
      ...Object.fromEntries(pairs),
      ...(owner !== undefined && { [SCOPE_KEYS.boundary]: owner.boundaryId }),
      ...(owner?.resourceGroup != null && { [SCOPE_KEYS.group]: owner.resourceGroup }),
      ...(runbook !== undefined && { [RUNBOOK_KEY]: plainLine(runbook, 1024) }),
    },
  }
}

/** Returns the resource that a pod, claim or Job belongs to by its name; of several, the one with the longest match. */
function resourceOf(
  services: Pick<Services, 'records'>,
  boundaryId: string,
  resourceGroup: string,
  { namespace = '', ...labels }: Readonly<Record<string, string>>,
): { type: string; name: string } | undefined {
  const named = OBJECT_LABELS.flatMap((label) => labels[label] ?? [])
  let best: { type: string; name: string; length: number } | undefined
  for (const [collection, kind] of KIND_BY_COLLECTION) {
    for (const object of services.records.peekAll(kind, { namespace })) {
      const { name } = object.metadata
      const location = { boundaryId, resourceGroup, name, collection } as MonitoredResource['location']
      const { pods, claims, jobs } = targetOf(services, { kind, object, location, namespace })
      const prefixes = [
        ...pods.map(({ workload }) => workload),
        ...claims.map(({ claim }) => claim),
        ...jobs.map(({ job }) => job),
      ]
      for (const prefix of prefixes) {
        const isMatch = named.some((text) => text === prefix || text.startsWith(`${prefix}-`))
        if (isMatch && prefix.length > (best?.length ?? 0)) best = { type: collection, name, length: prefix.length }
      }
    }
  }
  return best
}

const AlertmanagerResult = namedRecord('AlertmanagerResult', { results: z.array(AlertIngestResult) })

/** Alertmanager delivers several alerts at once, which the route of the interface does not accept. */
export const alertmanagerRoute: RouteDraft = route('POST', '/admin/monitoring/alerts/alertmanager', {
  auth: action('monitoring/platform/alerts/write'),
  summary: 'Receive alerts from the webhook of Alertmanager',
  body: AlertmanagerDelivery,
  reply: AlertmanagerResult,
  answers: [202],
  example: {
    version: '4',
    alerts: [
      {
        status: 'firing',
        labels: {
          alertname: 'PodCrashLooping',
          severity: 'error',
          namespace: 'shop-0123456789',
          pod: 'vc-products-0',
        },
        annotations: { summary: 'vc-products-0 starts again and again.' },
        fingerprint: 'b1a2c3d4e5f60718',
      },
    ],
  },
  handler: async (context) => {
    const turns = new KeyedMutex()
    const failures: unknown[] = []
    const results = await mapConcurrently(CONCURRENCY_MAX, context.body.alerts, (alert) =>
      // Of one alert, the state that comes last stays.
      turns
        .take(alert.fingerprint, async () => {
          // A client that disconnected resends everything, and two deliveries would write concurrently.
          if (context.signal.aborted) return []
          const report = alertOf(context.services, alert)
          return [(await ingest(context as unknown as Context, report, RESEND_MS)).result]
        })
        .catch((error: unknown) => {
          failures.push(error)
          return []
        }),
    )
    // Only now: an alert that cannot be stored must not keep those of others from being stored.
    if (failures.length > 0) throw failures[0]
    return accepted({ results: results.flat() })
  },
})
