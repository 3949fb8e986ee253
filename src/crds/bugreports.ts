import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { DateTime, matching, PlainText, ShownLine, ShownProse, Uuid } from './fields.ts'

export const BUG_SEVERITIES = ['Low', 'Normal', 'High'] as const
export const BUG_STATES = ['Open', 'Closed'] as const
export const BUG_MEDIA_TYPES = ['image/png', 'image/jpeg', 'text/plain'] as const

const Attachment = z.strictObject({
  fileName: PlainText.min(1).max(128).describe('Name that the sender gave it'),
  mediaType: z.enum(BUG_MEDIA_TYPES).describe('Media type of the content'),
  bytes: z.int().min(0).describe('Length of the content'),
  sha256: matching(64, /^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case').describe(
    'Digest of the content',
  ),
  secretName: PlainText.max(253).describe('Secret beside the report that holds the content, in the entry blob'),
})

/** A problem with the platform that somebody reported. */
export const BugReport = defineKind({
  group: 'core',
  kind: 'BugReport',
  restNaming: { collection: 'bug-reports' },
  shortNames: ['bug'],
  placement: 'platform',
  area: 'bugreports',
  description:
    'A report of a problem with the platform, without what looked like secrets. Administrators read and close it.',
  spec: z.strictObject({
    title: ShownLine.min(1).max(256).describe('The problem in one line'),
    description: ShownProse.min(1).max(16_384).describe('What was done, what was expected, and what happened'),
    severity: z.enum(BUG_SEVERITIES).default('Normal').describe('Severity, as the reporter sees it'),
    area: PlainText.max(128).optional().describe('Part of the platform that it is about'),
    url: PlainText.max(2_048).optional().describe('Page or path where it was seen'),
    correlationId: Uuid.optional().describe('The correlationId of an answer that it is about'),
    userAgent: PlainText.max(512).optional().describe('Browser or program of the reporter'),
    reportedBy: Uuid.describe('Id of the principal who reported it; immutable'),
    reportedAt: DateTime.describe('When it was reported; immutable'),
    state: z.enum(BUG_STATES).default('Open').describe('Open until an administrator sets it to Closed'),
    attachments: z.array(Attachment).max(3).default([]).describe('Attachments of the report'),
  }),
  // No controller handles reports: people do.
  status: z.object({}),
  immutable: ['reportedBy', 'reportedAt'],
  columns: [
    { name: 'State', path: '.spec.state' },
    { name: 'Severity', path: '.spec.severity' },
    { name: 'Title', path: '.spec.title' },
  ],
})
export type BugReport = ObjectOf<typeof BugReport>
