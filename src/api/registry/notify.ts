import { z } from 'zod'
import {
  NOTIFY_HEADER,
  nextAnnouncement,
  PLATFORM_READER,
  repositoryObjectName,
} from '../../contracts/registry/names.ts'
import { PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { parseStrictJson, unwrapStrictJson } from '../../core/json.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { boundaryNamespace, isUuid, sha256 } from '../../core/names.ts'
import { isSameText } from '../../core/sameText.ts'
import { DIGESTS_MAX, Digest, RegistryRepository } from '../../crds/registry.ts'
import { isKubeError } from '../../kube/errors.ts'
import { accepted } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { readModel } from '../http/model.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { anonymous, type RouteDraft, route } from '../http/route.ts'
import { knownRepository } from './rights.ts'
import { auditAction, registryOf } from './service.ts'

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

/** The caller in whose name events of the registry are recorded. */
const CALLER: Caller = {
  principalId: '00000000-0000-0000-0000-000000000000',
  principalType: 'ServicePrincipal',
  displayName: 'Registry',
  expiresAt: Number.POSITIVE_INFINITY,
}

const ACTIONS = { push: 'Push', pull: 'Pull', delete: 'Delete' } as const

function requireSecret(context: Context): void {
  const { notifySecret } = registryOf(context.services)
  if (isSameText(sha256(context.header(NOTIFY_HEADER) ?? ''), sha256(notifySecret))) return
  throw new PlatformError('UNAUTHORIZED', `The header ${NOTIFY_HEADER} is missing or wrong.`)
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
  await auditAction(context, action, {
    id: uuidV5(`registry-event/${event.id}`),
    timestamp: at,
    correlationId: isUuid(requestId) ? requestId : context.correlationId,
    ...{ actor, repository, tag, digest, remoteAddress },
  })
  const ref = { namespace: boundaryNamespace(name.boundaryId), name: repositoryObjectName(repository) }
  await announce(services, ref, repository, { digest, action, at }).catch(unlessRefused)
}

type Ref = { namespace: string; name: string }
type Announcement = { digest: string; action: (typeof ACTIONS)[keyof typeof ACTIONS]; at: string }
type Spec = RegistryRepository['spec']

const HOUR_MS = 3_600_000

/** Stores what the registry does not keep itself. `announcedAt` triggers a new read of the repository. */
async function announce(
  { records }: Services,
  ref: Ref,
  repository: string,
  announcement: Announcement,
): Promise<void> {
  if (records.peek(RegistryRepository, ref) === undefined) {
    const spec = nextSpec({ repository, announcedAt: announcement.at, digests: {} }, announcement)
    const { isNew } = await records.create(RegistryRepository, { ...ref, spec, caller: CALLER, isSame: () => true })
    if (isNew) return
  }
  await records.update(RegistryRepository, ref, { caller: CALLER, change: ({ spec }) => nextSpec(spec, announcement) })
}

/**
 * If the API server refuses the write, because the boundary is full or being deleted, retention will read the
 * repository itself. An error would make the registry resend this event forever, and block all others.
 */
function unlessRefused(error: unknown): void {
  if (!isKubeError(error, 'Forbidden', 'NotFound', 'Invalid')) throw error
}

function nextSpec(spec: Spec, { digest, action, at }: Announcement): Spec {
  const known = spec.digests[digest]
  const announcedAt = nextAnnouncement(spec.announcedAt, Date.parse(at))
  if (action === 'Delete') return { ...spec, announcedAt }
  if (
    action === 'Pull' &&
    known?.lastPulledAt !== undefined &&
    Date.parse(at) - Date.parse(known.lastPulledAt) < HOUR_MS
  )
    return spec
  const isFull = known === undefined && Object.keys(spec.digests).length >= DIGESTS_MAX
  const digestTimes =
    action === 'Pull' ? { pushedAt: known?.pushedAt ?? at, lastPulledAt: at } : { ...known, pushedAt: at }
  const digests = isFull ? spec.digests : { ...spec.digests, [digest]: digestTimes }
  return { ...spec, digests, ...(action === 'Push' || known === undefined ? { announcedAt } : {}) }
}

export const notifyRoutes: readonly RouteDraft[] = [
  route('POST', '/v1/internal/registries/notify', {
    auth: anonymous,
    summary: 'Report events of the registry; called by the registry',
    bodyKind: 'raw',
    documentedBody: Envelope,
    mediaTypes: ['application/vnd.docker.distribution.events.v2+json', 'application/json'],
    reply: RegistryNotifyResult,
    answers: [401],
    handler: notify,
  }),
]
