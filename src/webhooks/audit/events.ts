import { z } from 'zod'
import { DRY_RUN_ANNOTATION } from '../../contracts/activity.ts'

/** The fields that are read from an event of the Kubernetes audit log (audit.k8s.io/v1). */
const AuditEvent = z.object({
  /** Not bounded: clients may choose the id, and could hide a write behind a long one. */
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
  /** Set by the API server and its admission plugins, not by the client. */
  annotations: z.record(z.string(), z.string()).default({}),
})
export type AuditEvent = z.output<typeof AuditEvent>

const EventList = z.object({ kind: z.literal('EventList'), items: z.array(z.unknown()) })

/** Returns undefined if the body is not an event list. Unreadable events are skipped. */
export function readEvents(body: unknown): AuditEvent[] | undefined {
  const list = EventList.safeParse(body)
  if (!list.success) return undefined
  return list.data.items.flatMap((item) => AuditEvent.safeParse(item).data ?? [])
}

type Named = { metadata?: { name?: string; resourceVersion?: string } }

/** Returns the objects that an event is about: one, or all those of a deleted collection. */
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
 * Returns whether the request was a write by a user: not a dry run, nor of a status, which controllers write. A request
 * that was refused before admission counts even if its client says that it was a dry run.
 */
export function isWrite({ stage, objectRef, responseStatus, annotations }: AuditEvent): boolean {
  if (stage !== 'ResponseComplete' || objectRef === undefined || responseStatus === undefined) return false
  return objectRef.subresource !== 'status' && annotations[DRY_RUN_ANNOTATION] !== 'true'
}

/** Returns the field manager of a write, as named by the client. It distinguishes kubectl from Git tools. */
export function managerOf({ requestURI }: AuditEvent): string | undefined {
  const queryStart = requestURI.indexOf('?')
  return queryStart < 0
    ? undefined
    : (new URLSearchParams(requestURI.slice(queryStart + 1)).get('fieldManager') ?? undefined)
}
