import { z } from 'zod'
import { NOTIFY_HEADER, PLATFORM_READER } from '../../contracts/registry/names.ts'
import { PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { parseStrictJson, unwrapStrictJson } from '../../core/json.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { isUuid, sha256 } from '../../core/names.ts'
import { isSameText } from '../../core/sameText.ts'
import { Digest } from '../../crds/registry.ts'
import { accepted } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { readModel } from '../http/model.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { type RouteDraft, route, signed } from '../http/route.ts'
import { announcementsOf } from './announcements.ts'
import { knownRepository } from './rights.ts'
import { auditAction, isShareUsedUp, registryOf } from './service.ts'

const Event = z.object({
  id: z.string().min(1).max(128),
  action: z.string().max(32),
  target: z.object({
    mediaType: z.string().max(255).optional(),
    digest: z.string().max(128).optional(),
    repository: z.string().max(255),
    tag: z.string().max(128).optional(),
  }),
  request: z.object({ id: z.string().max(128).optional(), addr: z.string().max(128).optional() }).optional(),
  actor: z.object({ name: z.string().max(128).optional() }).optional(),
})
type Event = z.output<typeof Event>
/** A notification of the registry; other fields are ignored. */
const Envelope = namedRecord('RegistryNotification', { events: z.array(Event).max(1000) })

const RegistryNotifyResult = namedRecord('RegistryNotifyResult', { accepted: z.int(), duplicates: z.int() })

/** Ids of processed events. If another replica processes one again, it writes the same. */
const processedEvents = createLruCache<string, true>(10_000)

const ACTIONS = { push: 'Push', pull: 'Pull', delete: 'Delete' } as const

function requireSecret(context: Context): void {
  const { notifySecret } = registryOf(context.services)
  if (!isSameText(sha256(context.header(NOTIFY_HEADER) ?? ''), sha256(notifySecret)))
    throw new PlatformError('UNAUTHORIZED', `The header ${NOTIFY_HEADER} is missing or wrong.`)
  // All tenants share the queue of the registry, so its requests have no limit, but what one boundary causes has.
  context.prove()
}

/** Anybody can send a body here, so it is read only once the sender has shown the secret of the registry. */
async function notify(context: Context) {
  requireSecret(context)
  const { events } = readModel(Envelope, unwrapStrictJson(parseStrictJson(await context.rawBody.whole())))
  let duplicates = 0
  for (const event of events) {
    if (processedEvents.has(event.id)) duplicates += 1
    else await processEvent(context, event)
    // After the writes, so that an event whose write failed is processed when the registry resends it.
    processedEvents.set(event.id, true)
  }
  return accepted({ accepted: events.length - duplicates, duplicates })
}

/** Processes events about manifests in our repositories, except those caused by the platform's own reads. */
async function processEvent(context: Context, event: Event): Promise<void> {
  const { services } = context
  const { repository, digest, tag, mediaType } = event.target
  const action = ACTIONS[event.action as keyof typeof ACTIONS]
  const actor = event.actor?.name ?? ''
  const isOfManifest = event.action === 'delete' || /manifest|image\.index/.test(mediaType ?? '')
  if (action === undefined || !isOfManifest || actor === PLATFORM_READER) return
  const name = await knownRepository(services, isUuid(actor) ? actor : '', repository)
  if (name === undefined || !Digest.safeParse(digest).success || digest === undefined) return
  const { id: requestId = '', addr: remoteAddress } = event.request ?? {}
  const at = new Date(services.clock.now()).toISOString()
  const entry = {
    id: uuidV5(`registry-event/${event.id}`),
    timestamp: at,
    correlationId: isUuid(requestId) ? requestId : context.correlationId,
    ...{ actor, repository, tag, digest, remoteAddress },
  }
  // It has happened already, and a refusal would make the registry resend it until the next day, before those of others.
  await auditAction(context, action, entry).catch((error: unknown) => {
    if (!isShareUsedUp(error)) throw error
    context.log.warn({ repository, action, digest }, 'An action at the registry is missing in its audit.')
  })
  await announcementsOf(services).tell(name.boundaryId, repository, { digest, action, tag, at })
}

export const notifyRoutes: readonly RouteDraft[] = [
  route('POST', '/v1/internal/registries/notify', {
    auth: signed,
    summary: 'Report events of the registry; called by the registry',
    bodyKind: 'raw',
    documentedBody: Envelope,
    mediaTypes: ['application/vnd.docker.distribution.events.v2+json', 'application/json'],
    reply: RegistryNotifyResult,
    answers: [401],
    handler: notify,
  }),
]
