import { z } from 'zod'
import {
  NOTIFY_HEADER,
  nextAnnouncement,
  PLATFORM_READER,
  repositoryObjectName,
} from '../../contracts/registry/names.ts'
import type { Timer } from '../../core/clock.ts'
import { messageOf, PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { parseStrictJson, unwrapStrictJson } from '../../core/json.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { boundaryNamespace, isUuid, sha256 } from '../../core/names.ts'
import { onBehalfOf } from '../../core/origin.ts'
import { isSameText } from '../../core/sameText.ts'
import { CHANGED_TAGS_MAX, DIGESTS_MAX, Digest, RegistryRepository } from '../../crds/registry.ts'
import { isKubeError } from '../../kube/errors.ts'
import { accepted } from '../http/answer.ts'
import type { Caller, Context, Services } from '../http/context.ts'
import { type Rate, TokenBucket } from '../http/limits.ts'
import { readModel } from '../http/model.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { type RouteDraft, route, signed } from '../http/route.ts'
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
  if (!isSameText(sha256(context.header(NOTIFY_HEADER) ?? ''), sha256(notifySecret())))
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

/** What the registry said about a manifest. */
type Announcement = {
  digest: string
  action: 'Push' | 'Pull' | 'Delete'
  tag: string | undefined
  at: string
}
type Repository = Pick<RegistryRepository, 'spec' | 'status'>
type Spec = RegistryRepository['spec']

/** The caller in whose name events of the registry are recorded. */
const CALLER: Caller = {
  principalId: '00000000-0000-0000-0000-000000000000',
  principalType: 'ServicePrincipal',
  displayName: 'Registry',
  expiresAt: Number.POSITIVE_INFINITY,
}
const HOUR_MS = 3_600_000
/** Writes of one boundary at once, and then a second. */
const WRITES: Rate = { perSecond: 2, burst: 50 }
/** Repositories of one boundary that wait, and announcements of each. Retention finds what exceeds this. */
const WAITING_MAX = 1_000

/** The repositories of a boundary whose announcements wait for the next write. */
type Waiting = { readonly repositories: Map<string, Announcement[]>; timer: Timer | undefined }

/**
 * Stores what the registry does not keep itself. `announcedAt` triggers a new read of the repository.
 *
 * The registry sends one notification after the other, of all boundaries. So only as many writes as a boundary may cause
 * are waited for; further announcements are answered at once, and gathered into one write for each repository.
 */
class Announcements {
  readonly #services: Pick<Services, 'records' | 'clock' | 'log'>
  readonly #writes = new TokenBucket(WRITES)
  readonly #waiting = new Map<string, Waiting>()

  constructor(services: Pick<Services, 'records' | 'clock' | 'log'>) {
    this.#services = services
  }

  async tell(boundaryId: string, repository: string, announcement: Announcement): Promise<void> {
    const waiting = this.#waiting.get(boundaryId)
    const isFree = waiting === undefined && this.#takeWrite(boundaryId) === undefined
    if (isFree) return this.#write(boundaryId, repository, [announcement])
    this.#gather(boundaryId, repository, announcement, waiting)
  }

  #takeWrite(boundaryId: string): number | undefined {
    return this.#writes.take(boundaryId, 1, this.#services.clock.monotonic())
  }

  #gather(boundaryId: string, repository: string, announcement: Announcement, known: Waiting | undefined): void {
    const waiting = known ?? { repositories: new Map<string, Announcement[]>(), timer: undefined }
    const gathered = waiting.repositories.get(repository) ?? []
    const isFull = gathered.length === 0 ? waiting.repositories.size >= WAITING_MAX : gathered.length >= WAITING_MAX
    if (isFull) return
    waiting.repositories.set(repository, [...gathered, announcement])
    this.#waiting.set(boundaryId, waiting)
    waiting.timer ??= this.#later(boundaryId, waiting)
  }

  #later(boundaryId: string, waiting: Waiting): Timer {
    const { clock, log } = this.#services
    const wait = this.#writes.until(boundaryId, 1, clock.monotonic()) ?? 0
    return clock.setTimeout(async () => {
      const [next] = waiting.repositories
      if (next === undefined) return void this.#waiting.delete(boundaryId)
      const [repository, gathered] = next
      waiting.repositories.delete(repository)
      this.#writes.owe(boundaryId, 1, clock.monotonic())
      await this.#write(boundaryId, repository, gathered).catch((error: unknown) =>
        log.warn({ repository, error: messageOf(error) }, 'A push is not known before the next retention run.'),
      )
      waiting.timer = this.#later(boundaryId, waiting)
    }, wait)
  }

  async #write(boundaryId: string, repository: string, all: readonly Announcement[]): Promise<void> {
    const { records } = this.#services
    const ref = { namespace: boundaryNamespace(boundaryId), name: repositoryObjectName(repository) }
    const after = (before: Repository) => all.reduce((spec, one) => nextSpec({ ...before, spec }, one), before.spec)
    // Not of the registry, whose notifications are of all boundaries.
    const store = async () => {
      if (records.peek(RegistryRepository, ref) === undefined) {
        const announcedAt = all[0]?.at ?? ''
        const spec = after({ spec: { repository, announcedAt, digests: {} } })
        const { isNew } = await records.create(RegistryRepository, { ...ref, spec, caller: CALLER, isSame: () => true })
        if (isNew) return
      }
      await records.update(RegistryRepository, ref, { caller: CALLER, change: after })
    }
    await onBehalfOf({ caller: boundaryId }, store).catch(unlessRefused)
  }
}

const announcements = new WeakMap<object, Announcements>()

/** Returns the announcements of a facade. */
function announcementsOf(services: Services): Announcements {
  const found = announcements.get(services) ?? new Announcements(services)
  announcements.set(services, found)
  return found
}

/**
 * If the API server refuses the write, because the boundary is full or being deleted, retention will read the
 * repository itself. An error would make the registry resend this event forever, and block all others.
 */
function unlessRefused(error: unknown): void {
  if (!isKubeError(error, 'Forbidden', 'NotFound', 'Invalid')) throw error
}

function nextSpec(before: Repository, { digest, action, tag, at }: Announcement): Spec {
  const { changedTags, ...spec } = before.spec
  const known = spec.digests[digest]
  const announcedAt = nextAnnouncement(spec.announcedAt, Date.parse(at))
  if (action === 'Delete') return { ...spec, announcedAt }
  if (
    action === 'Pull' &&
    known?.lastPulledAt !== undefined &&
    Date.parse(at) - Date.parse(known.lastPulledAt) < HOUR_MS
  )
    return before.spec
  const isFull = known === undefined && Object.keys(spec.digests).length >= DIGESTS_MAX
  const digestTimes =
    action === 'Pull' ? { pushedAt: known?.pushedAt ?? at, lastPulledAt: at } : { ...known, pushedAt: at }
  const digests = isFull ? spec.digests : { ...spec.digests, [digest]: digestTimes }
  if (action === 'Pull' && known !== undefined) return { ...before.spec, digests }
  return { ...spec, digests, announcedAt, ...tagsToRead(before, tag) }
}

/** Returns the tags that must be read after a push, or nothing if all must. */
function tagsToRead({ spec, status }: Repository, tag: string | undefined): Pick<Spec, 'changedTags'> {
  const unread = status?.readAt === spec.announcedAt ? [] : spec.changedTags
  const changedTags = unread && [...new Set([...unread, ...(tag === undefined ? [] : [tag])])]
  return changedTags === undefined || changedTags.length > CHANGED_TAGS_MAX ? {} : { changedTags }
}
