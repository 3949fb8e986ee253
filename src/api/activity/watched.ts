import type { Entry } from '../../adapters/activity/port.ts'
import { messageOf } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { ACTOR_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { compareTexts } from '../../core/textOrder.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import type { CacheEvent, WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Services } from '../http/context.ts'
import type { ActivityRecorder, ObservedAction, RecorderOptions, ResourcePath } from '../records/activity/recorder.ts'
import { kindOfSegment, resourcePathOf, writtenStateOf } from '../records/activity/subjects.ts'
import { ownerOfNamespace } from '../resources/namespaceOwner.ts'

/** Milliseconds to wait for the activity entry of a REST request that made the same change. */
const REST_ENTRY_TIMEOUT_MS = 3_000
/** Milliseconds within which a REST deletion and an observed one are the same, however long finalizers took. */
const SAME_DELETION_MAX_MS = 600_000

/** The longest delay in milliseconds until a change is observed. */
const WATCH_DELAY_MAX_MS = 600_000
/** How far the clock of the API server may be ahead, in milliseconds. */
const CLOCK_SKEW_MAX_MS = 60_000

const WATCHED_NOTE = 'Seen by the watch: only the name of the client shows who it was, and changes may be missing.'

export type FollowOptions = RecorderOptions & {
  client: Pick<KubeClient, 'get'>
  caches: { get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'subscribe'> }
  records: Services['records']
  recorder: Pick<ActivityRecorder, 'write'>
}

/**
 * Records changes made outside REST from the objects themselves, for clusters whose API server sends no audit log. A
 * write shows its field manager, a deletion nothing, and failed attempts are invisible.
 * @returns a function that stops it
 */
export function followObjects(options: FollowOptions): () => void {
  const since = new Date(options.clock.now()).toISOString()
  const unsubscribes = KINDS.filter((kind) => kindOfSegment(kind.segment) === kind).map((kind) =>
    options.caches.get(kind.resource).subscribe((event) => {
      const seen = verbOfCacheEvent(event, since)
      if (seen !== undefined)
        options.clock.setTimeout(() => void recordChange(options, kind, event.object, seen), REST_ENTRY_TIMEOUT_MS)
    }),
  )
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe()
  }
}

type Verb = 'create' | 'update' | 'delete'

/** Returns the verb of a cache event, if it was not caused by REST. */
export function verbOfCacheEvent(event: CacheEvent<KubeObject>, since: string): Verb | undefined {
  const { metadata } = event.object
  if (event.type === 'removed') return 'delete'
  const [generation] = (metadata.annotations?.[ACTOR_ANNOTATION] ?? '').split(' ')
  if (generation === String(metadata.generation)) return undefined
  if (event.type === 'added') return (metadata.creationTimestamp ?? '') >= since.slice(0, 19) ? 'create' : undefined
  return event.previous.metadata.generation === metadata.generation ? undefined : 'update'
}

async function recordChange(options: FollowOptions, kind: AnyKind, object: KubeObject, verb: Verb) {
  const { recorder, store, clock, log } = options
  const resource = placeOf(options, kind, object)
  if (resource === undefined) return
  try {
    const now = clock.now()
    const askedAt = Date.parse(object.metadata.deletionTimestamp ?? '') || now
    if (verb === 'delete' && isRecordedByRest((await store.read(resource)) ?? [], askedAt)) return
    const manager = verb === 'delete' ? undefined : await managerOf(options, kind, object, now)
    await recorder.write([{ resource, observed: observedActionOf(kind, object, { verb, manager, now }) }])
  } catch (error) {
    log.warn({ resource, error: messageOf(error) }, 'A watched change could not be recorded.')
  }
}

type Observed = { verb: Verb; manager: Manager | undefined; now: number }
type Manager = { manager?: string; operation?: string; time?: string; subresource?: string }

function observedActionOf(
  kind: AnyKind,
  { metadata, ...object }: KubeObject,
  { verb, manager, now }: Observed,
): ObservedAction {
  const revision = verb === 'delete' ? 'end' : metadata.generation
  return {
    id: uuidV5(`${metadata.uid}/${revision}`),
    occurredAt: new Date(changeTime(manager?.time ?? metadata.deletionTimestamp, now)).toISOString(),
    action: `${kind.actions ?? kind.segment}/${verb === 'delete' ? 'delete' : 'write'}`,
    operation: verb,
    actor: { kubernetes: manager?.manager ?? 'unknown' },
    channel: 'Kubernetes',
    outcome: 'Succeeded',
    message: WATCHED_NOTE,
    metadata: { complete: 'false', ...(manager?.operation && { operation: manager.operation }) },
    version: metadata.resourceVersion,
    after: verb === 'delete' ? undefined : writtenStateOf({ metadata, ...object }, verb === 'create'),
  }
}

/** Writers can set the time in managedFields, so an old one is not trusted. */
function changeTime(reported: string | undefined, now: number): number {
  const time = Date.parse(reported ?? '')
  return time > now - WATCH_DELAY_MAX_MS ? Math.min(time, now) : now - REST_ENTRY_TIMEOUT_MS
}

function placeOf({ records }: FollowOptions, { segment }: AnyKind, { metadata }: KubeObject): ResourcePath | undefined {
  return resourcePathOf(segment, ownerOfNamespace({ records }, metadata.namespace ?? ''), metadata.name)
}

function isRecordedByRest(entries: readonly Entry[], askedAt: number): boolean {
  return entries.some(
    ({ channel, action, outcome, occurredAt }) =>
      channel === 'Rest' &&
      outcome === 'Succeeded' &&
      action.endsWith('/delete') &&
      Date.parse(occurredAt) > askedAt - SAME_DELETION_MAX_MS,
  )
}

/** Caches drop managedFields, so they are read from the API server, once per foreign write. */
async function managerOf({ client }: FollowOptions, kind: AnyKind, { metadata }: KubeObject, now: number) {
  const { namespace, name } = metadata
  const found = await client.get(kind.resource, { namespace, name }).catch(() => undefined)
  const fields = (found?.metadata as { managedFields?: Manager[] } | undefined)?.managedFields ?? []
  const isNotAhead = ({ time = '' }: Manager) => !(Date.parse(time) > now + CLOCK_SKEW_MAX_MS)
  const candidates = fields.filter((one) => one.subresource !== 'status' && isNotAhead(one))
  return candidates.sort((one, other) => compareTexts(other.time ?? '', one.time ?? ''))[0]
}
