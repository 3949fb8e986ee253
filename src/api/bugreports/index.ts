import { hash } from 'node:crypto'
import { z } from 'zod'
import type { BlobStore } from '../../adapters/blobs/port.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { MASK, redacted } from '../../core/redaction.ts'
import { SharedSlots } from '../../core/sharedSlots.ts'
import { BUG_MEDIA_TYPES, BUG_SEVERITIES, BUG_STATES, BugReport } from '../../crds/bugreports.ts'
import { PlainText, Prose } from '../../crds/fields.ts'
import { created } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { authenticated, type RouteDraft, route } from '../http/route.ts'
import { runOnWorker } from '../http/runOnWorker.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid } from '../resources/dto.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly bugReports: { readonly blobs: BlobStore }
  }
}

const HOUR_MS = 3_600_000
const HOURLY_REPORTS_MAX = 10
/** Reports per person, closed ones included, until an administrator deletes some: each may hold up to a megabyte. */
const REPORTS_MAX = 100

/**
 * Bytes of all reports together, with those of a report itself: they are kept in the store of the whole cluster, and a
 * tenant can make as many people and identities as it likes.
 */
const ALL_REPORTS_MAX_BYTES = 128 * 1024 * 1024
const REPORT_BYTES = 64 * 1024

const Attachment = strictRecord('BugAttachment', {
  fileName: PlainText.min(1).max(128),
  mediaType: z.enum(BUG_MEDIA_TYPES),
  content: z.base64().max(720_000).describe('Base64; 512 KiB in all'),
})

const SubmitBugReportRequest = strictRecord('SubmitBugReportRequest', {
  title: PlainText.trim().min(1).max(256),
  description: Prose.trim().min(1).max(16_384),
  severity: z.enum(BUG_SEVERITIES).default('Normal'),
  area: PlainText.max(128).nullish(),
  url: PlainText.max(2_048).nullish(),
  correlationId: Uuid.nullish(),
  userAgent: PlainText.max(512).nullish(),
  attachments: z.array(Attachment).max(3).nullish(),
})
type Submitted = z.output<typeof SubmitBugReportRequest>

const BugReportDto = namedRecord('BugReportDto', {
  id: Uuid,
  number: z.int(),
  status: z.enum(BUG_STATES),
  createdAt: DateTime,
})

type Report = RecordOf<typeof BugReport>

/** Returns 0 for a name that an administrator chose, which has no number. */
const numberOf = ({ metadata: { name } }: Report) => Number(/^bug-([1-9][0-9]{0,8})$/.exec(name)?.[1] ?? 0)

/** Runs one at a time, so that numbers and limits hold across replicas. */
function submit(context: Context<string, unknown, Submitted>) {
  const { services, body } = context
  const attached = readAttachments(body.attachments ?? [])
  return services.records.exclusively('bug reports', async () => {
    const all = await services.records.list(BugReport, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
    refuseTooMany(context, all)
    refuseWithoutRoom(context, all, attached)
    const number = Math.max(0, ...all.map(numberOf)) + 1
    const report = await store(context, `bug-${number}`, attached)
    const { metadata, spec } = report
    const id = objectId(BugReport.resource, metadata)
    const etag = etagOf(report)
    return created({ id, number, status: spec.state, createdAt: spec.reportedAt }, { etag })
  })
}

/** @throws PlatformError too-many-reports */
function refuseTooMany({ services, caller }: Context, all: readonly Report[]): void {
  const ownReports = all.filter(({ spec }) => spec.reportedBy === caller.principalId)
  const now = services.clock.now()
  const recent = ownReports.map(({ spec }) => Date.parse(spec.reportedAt)).filter((time) => time > now - HOUR_MS)
  if (ownReports.length >= REPORTS_MAX) {
    // Without Retry-After here and below: waiting does not help.
    const message = `You already have ${REPORTS_MAX} reports; an administrator must remove some first.`
    throw new PlatformError('too-many-reports', message)
  }
  if (recent.length < HOURLY_REPORTS_MAX) return
  const retryAfterSeconds = Math.max(1, Math.ceil((Math.min(...recent) + HOUR_MS - now) / 1000))
  const message = `You have sent ${HOURLY_REPORTS_MAX} reports within an hour: try again in ${retryAfterSeconds} s.`
  throw new PlatformError('too-many-reports', message, { retryAfterSeconds })
}

/** @throws PlatformError too-many-reports to whoever already holds as much as is left for all others */
function refuseWithoutRoom({ caller }: Context, all: readonly Report[], attached: readonly DecodedAttachment[]): void {
  const room = new SharedSlots(ALL_REPORTS_MAX_BYTES)
  for (const { spec } of all)
    room.take(
      spec.reportedBy,
      spec.attachments.reduce((sum, { bytes }) => sum + bytes, REPORT_BYTES),
    )
  const more = attached.reduce((sum, { bytes }) => sum + bytes.length, REPORT_BYTES)
  if (room.hasRoomFor(caller.principalId, more)) return
  const message = 'The reports that are kept take all the room for them; an administrator must remove some first.'
  throw new PlatformError('too-many-reports', message)
}

async function store(context: Context<string, unknown, Submitted>, name: string, sent: readonly DecodedAttachment[]) {
  const { services, caller, body } = context
  const attached = await Promise.all(sent.map(async (file) => ({ ...file, bytes: await redactFile(context, file) })))
  const redact = (text: string | null | undefined) => (text ? redacted(text) : undefined)
  const spec = {
    title: redacted(body.title).slice(0, 256),
    description: redacted(body.description).slice(0, 16_384),
    severity: body.severity,
    area: redact(body.area),
    url: redact(body.url)?.slice(0, 2_048),
    correlationId: body.correlationId ?? undefined,
    userAgent: redact(body.userAgent)?.slice(0, 512),
    reportedBy: caller.principalId,
    reportedAt: timestamp(services.clock.now()),
    state: 'Open',
    attachments: attached.map(({ fileName, mediaType, bytes }, index) => ({
      fileName: redacted(fileName).slice(0, 128),
      mediaType,
      bytes: bytes.length,
      sha256: hash('sha256', bytes),
      secretName: `${name}-${index}`,
    })),
  }
  const { object } = await services.records.create(BugReport, { namespace: SYSTEM_NAMESPACE, name, spec, caller })
  const { apiVersion, kind, metadata } = object
  const owner = { apiVersion, kind, name, uid: metadata.uid ?? '', labels: {} }
  for (const [index, file] of attached.entries()) {
    const ref = { namespace: SYSTEM_NAMESPACE, name: `${name}-${index}` }
    await services.bugReports.blobs.write(ref, file.bytes, { version: undefined, owner })
  }
  return object
}

/** Redacts text, on a worker thread so that other requests are not delayed. Images cannot be redacted. */
async function redactFile({ services, caller }: Context, { mediaType, bytes }: DecodedAttachment): Promise<Buffer> {
  if (mediaType !== 'text/plain') return bytes
  const text = await runOnWorker(
    'attachments',
    () => services.workers.run('redacted', bytes.toString('utf8'), caller.principalId),
    () => MASK,
  )
  return Buffer.from(text)
}

export const bugReportRoutes: readonly RouteDraft[] = [
  route('POST', '/bug-reports', {
    auth: authenticated,
    summary: 'Report a problem with the platform',
    errors: 'problem',
    body: SubmitBugReportRequest,
    reply: BugReportDto,
    answers: [429],
    handler: submit,
  }),
]

const ATTACHMENT_BYTES_MAX = 512 * 1024

type MediaType = (typeof BUG_MEDIA_TYPES)[number]
type SentAttachment = { readonly fileName: string; readonly mediaType: MediaType; readonly content: string }
type DecodedAttachment = { readonly fileName: string; readonly mediaType: MediaType; readonly bytes: Buffer }

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const JPEG = Buffer.from('ffd8ff', 'hex')
const beginsWith = (bytes: Buffer, magic: Buffer) => bytes.subarray(0, magic.length).equals(magic)

/** Checks that the content is what its media type says, so that opening it is safe. */
const CONTENT_CHECKS: Readonly<Record<MediaType, (bytes: Buffer) => boolean>> = {
  'image/png': (bytes) => beginsWith(bytes, PNG),
  'image/jpeg': (bytes) => beginsWith(bytes, JPEG),
  'text/plain': (bytes) => !bytes.includes(0) && Buffer.from(bytes.toString('utf8')).equals(bytes),
}

/** @throws PlatformError BAD_REQUEST */
function readAttachments(sent: readonly SentAttachment[]): DecodedAttachment[] {
  const read = sent.map(({ fileName, mediaType, content }, index) => {
    const field = `attachments.${index}.content`
    const bytes = Buffer.from(content, 'base64')
    if (bytes.toString('base64').replace(/=+$/, '') !== content.replace(/=+$/, ''))
      throw refused(field, 'is not base64')
    if (!CONTENT_CHECKS[mediaType](bytes)) throw refused(field, `is not ${mediaType}`)
    return { fileName, mediaType, bytes }
  })
  const totalBytes = read.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (totalBytes > ATTACHMENT_BYTES_MAX)
    throw refused('attachments', `have ${totalBytes} bytes together; at most ${ATTACHMENT_BYTES_MAX} are accepted`)
  return read
}

const refused = (field: string, message: string) => refusedFields([{ field, message }])
