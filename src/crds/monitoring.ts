import { z } from 'zod'
import { ALERT_LEVEL_MAX, ALERT_LEVELS, ALERT_STATES } from '../contracts/monitoring.ts'
import { defineKind, type ObjectOf, READ_VERBS, statusColumns, statusWith, WRITE_VERBS } from './define.ts'
import { DateTime, integerBetween, mapOf, PlainText, Prose, ShownLine } from './fields.ts'

const AlertReport = z.strictObject({
  times: integerBetween(0, 2_147_483_647).describe('How often it was reported as Firing'),
  lastAt: DateTime.describe('When it was last reported'),
  resolvedAt: DateTime.optional().describe('When it was first reported as Resolved; absent while it is Firing'),
})

/** Something that people should know about, as reported by whatever monitors the platform. */
export const PlatformAlert = defineKind({
  group: 'monitoring',
  kind: 'PlatformAlert',
  restNaming: { collection: 'alerts' },
  shortNames: ['palert'],
  placement: 'boundaryOrPlatform',
  name: 'free',
  area: 'monitoring',
  spansGroups: true,
  description:
    'An alert for people. It is in the namespace of the boundary that it is about, or else in freehold-system, and is deleted 30 days after it was resolved.',
  forms: { 'monitoring/read': READ_VERBS, 'monitoring/platform/alerts/write': WRITE_VERBS },
  platformForms: { 'monitoring/platform/read': READ_VERBS, 'monitoring/platform/alerts/write': WRITE_VERBS },
  spec: z.strictObject({
    alertId: PlainText.min(1).max(256).describe('Id that the sender gives it; immutable'),
    title: ShownLine.min(1).max(256).describe('The problem in one line'),
    subject: PlainText.max(512).default('').describe('Its subject in one line'),
    detail: Prose.max(8192).default('').describe('What was observed, and what to do'),
    level: integerBetween(0, ALERT_LEVEL_MAX).describe(
      `Severity: ${ALERT_LEVELS.map((name, level) => `${level} ${name}`).join(', ')}`,
    ),
    status: z.enum(ALERT_STATES).default('Firing').describe('Firing, or Resolved once it has ended'),
    resourceType: PlainText.max(64).default('').describe('Collection of the resource, such as apps; immutable'),
    resourceName: PlainText.max(253).default('').describe('Name of the resource; immutable'),
    metadata: mapOf(PlainText.max(1024), 50)
      .default({})
      .describe(
        'Pairs, at most 50. resourceGroup names the group of the resource, runbookUrl a page with instructions',
      ),
    told: AlertReport.optional().describe(
      'Reports received through REST; written by the platform, leave it out with kubectl',
    ),
  }),
  status: statusWith({
    firstSeenAt: DateTime.describe('When it was first seen'),
    lastSeenAt: DateTime.describe('When it was last seen'),
    resolvedAt: DateTime.describe('When it was resolved; absent while it is Firing'),
    occurrences: z.int().describe('How often it was seen'),
  }),
  immutable: ['alertId', 'resourceType', 'resourceName'],
  columns: [
    { name: 'State', path: '.spec.status' },
    { name: 'Level', path: '.spec.level', type: 'integer' },
    { name: 'Title', path: '.spec.title' },
    { name: 'Type', path: '.spec.resourceType' },
    { name: 'Resource', path: '.spec.resourceName' },
    { name: 'Last Seen', path: '.status.lastSeenAt', type: 'date' },
    { name: 'Times', path: '.status.occurrences', type: 'integer', priority: 1 },
    ...statusColumns.map((column) => ({ ...column, priority: 1 as const })),
  ],
})
export type PlatformAlert = ObjectOf<typeof PlatformAlert>
