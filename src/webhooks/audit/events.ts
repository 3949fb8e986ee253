import { z } from 'zod'
import { DRY_RUN_ANNOTATION } from '../../contracts/activity.ts'

/** What is read of an event of the audit log of Kubernetes (audit.k8s.io/v1). */
const AuditEvent = z.object({
  /** The client may choose it: a bound would hide what it wrote. */
  auditID: z.string(),
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string().default(''),
  user: z.object({ username: z.string().default('') }),
  impersonatedUser: z.object({ username: z.string() }).optional(),
  sourceIPs: z.array(z.string()).default([]),
  userAgent: z.string().default(''),
  objectRef: z
    .object({
      resource: z.string().default(''),
      subresource: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
      apiGroup: z.string().default(''),
    })
    .optional(),
  responseStatus: z.object({ code: z.int().default(0), reason: z.string().optional() }).optional(),
  requestReceivedTimestamp: z.string(),
  responseObject: z.unknown().optional(),
  /** Of the API server and its admission, not of the client. */
  annotations: z.record(z.string(), z.string()).default({}),
})
export type AuditEvent = z.output<typeof AuditEvent>

const EventList = z.object({ kind: z.literal('EventList'), items: z.array(z.unknown()) })

/** Undefined for what is no list of events; an event that cannot be read is left out. */
export function readEvents(body: unknown): AuditEvent[] | undefined {
  const list = EventList.safeParse(body)
  if (!list.success) return undefined
  return list.data.items.flatMap((item) => AuditEvent.safeParse(item).data ?? [])
}

type Named = { metadata?: { name?: string; resourceVersion?: string } }

/** The objects that an event is about: one, or those of a collection that was deleted. */
export function objectsOf({ objectRef, verb, responseObject }: AuditEvent): { name: string; object: unknown }[] {
  if (verb === 'deletecollection') {
    const { items = [] } = (responseObject ?? {}) as { items?: Named[] }
    return items.flatMap((object) =>
      object.metadata?.name === undefined ? [] : [{ name: object.metadata.name, object }],
    )
  }
  const name = objectRef?.name || ((responseObject ?? {}) as Named).metadata?.name
  return name === undefined || name === '' ? [] : [{ name, object: responseObject }]
}

/**
 * Whether the request was to write: a dry run is not, and status is what controllers tell. What was refused before admission
 * counts, whatever its client says that it was.
 */
export function isWrite({ stage, objectRef, responseStatus, annotations }: AuditEvent): boolean {
  if (stage !== 'ResponseComplete' || objectRef === undefined || responseStatus === undefined) return false
  return objectRef.subresource !== 'status' && annotations[DRY_RUN_ANNOTATION] !== 'true'
}

/** The field manager of a write, as clients name it: what tells kubectl from a Git tool. */
export function managerOf({ requestURI }: AuditEvent): string | undefined {
  const mark = requestURI.indexOf('?')
  return mark < 0 ? undefined : (new URLSearchParams(requestURI.slice(mark + 1)).get('fieldManager') ?? undefined)
}
