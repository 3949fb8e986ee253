import type { Entry } from '../../adapters/activity/port.ts'
import { messageOf } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { ACTOR_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import type { CacheEvent, WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Services } from '../http/context.ts'
import type { ActivityRecorder, RecorderOptions, ResourcePath, Sighting } from '../records/activity/recorder.ts'
import { afterOf, kindOfSegment, recordOf } from '../records/activity/subjects.ts'
import { ownerOfNamespace } from '../resources/namespaceOwner.ts'

/** Milliseconds until a request of REST that did the same has been written. */
const PATIENCE = 3_000
/** Within it, a deletion by REST and one that is seen are the same, however long the object then stayed. */
const SAME_DELETION = 600_000

/** A change is seen that much later at most. */
const LATE_MAX = 600_000
/** How far the clock of the API server may be ahead. */
const AHEAD = 60_000

const INCOMPLETE = 'Seen by the watch: only the name of the client shows who it was, and changes may be missing.'

export type FollowOptions = RecorderOptions & {
  client: Pick<KubeClient, 'get'>
  caches: { get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'subscribe'> }
  records: Services['records']
  recorder: Pick<ActivityRecorder, 'write'>
}

/**
 * Tells what others than REST did from the objects themselves, for clusters whose API server sends no audit log. Of a
 * write the client's name is known, of a deletion nothing; what came to nothing, nobody sees.
 *
 * @returns ends it
 */
export function followObjects(options: FollowOptions): () => void {
  const since = new Date(options.clock.now()).toISOString()
  const ends = KINDS.filter((kind) => kindOfSegment(kind.segment) === kind).map((kind) =>
    options.caches.get(kind.resource).subscribe((event) => {
      const seen = seenBy(event, since)
      if (seen !== undefined) options.clock.setTimeout(() => void tell(options, kind, event.object, seen), PATIENCE)
    }),
  )
  return () => {
    for (const end of ends) end()
  }
}

type Verb = 'create' | 'update' | 'delete'

/** What an event of the cache says that somebody did who is not REST. */
export function seenBy(event: CacheEvent<KubeObject>, since: string): Verb | undefined {
  const { metadata } = event.object
  if (event.type === 'removed') return 'delete'
  const [generation] = (metadata.annotations?.[ACTOR_ANNOTATION] ?? '').split(' ')
  if (generation === String(metadata.generation)) return undefined
  if (event.type === 'added') return (metadata.creationTimestamp ?? '') >= since.slice(0, 19) ? 'create' : undefined
  return event.previous.metadata.generation === metadata.generation ? undefined : 'update'
}

async function tell(options: FollowOptions, kind: AnyKind, object: KubeObject, verb: Verb) {
  const { recorder, store, clock, log } = options
  const resource = placeOf(options, kind, object)
  if (resource === undefined) return
  try {
    const now = clock.now()
    const askedAt = Date.parse(object.metadata.deletionTimestamp ?? '') || now
    if (verb === 'delete' && isToldByRest((await store.read(resource)) ?? [], askedAt)) return
    const manager = verb === 'delete' ? undefined : await managerOf(options, kind, object, now)
    await recorder.write([{ resource, sighting: sightingOf(kind, object, { verb, manager, now }) }])
  } catch (error) {
    log.warn({ resource, error: messageOf(error) }, 'A watched change could not be recorded.')
  }
}

type Seen = { verb: Verb; manager: Manager | undefined; now: number }
type Manager = { manager?: string; operation?: string; time?: string; subresource?: string }

function sightingOf(kind: AnyKind, { metadata, ...object }: KubeObject, { verb, manager, now }: Seen): Sighting {
  const life = verb === 'delete' ? 'end' : metadata.generation
  return {
    id: uuidV5(`${metadata.uid}/${life}`),
    occurredAt: new Date(momentOf(manager?.time ?? metadata.deletionTimestamp, now)).toISOString(),
    action: `${kind.actions ?? kind.segment}/${verb === 'delete' ? 'delete' : 'write'}`,
    operation: verb,
    actor: { kubernetes: manager?.manager ?? 'unknown' },
    channel: 'Kubernetes',
    outcome: 'Succeeded',
    message: INCOMPLETE,
    metadata: { complete: 'false', ...(manager?.operation && { operation: manager.operation }) },
    version: metadata.resourceVersion,
    after: verb === 'delete' ? undefined : afterOf({ metadata, ...object }, verb === 'create'),
  }
}

/** Whoever writes an object may write into it when it was written: of long ago it is not believed. */
function momentOf(told: string | undefined, now: number): number {
  const time = Date.parse(told ?? '')
  return time > now - LATE_MAX ? Math.min(time, now) : now - PATIENCE
}

function placeOf({ records }: FollowOptions, { segment }: AnyKind, { metadata }: KubeObject): ResourcePath | undefined {
  return recordOf(segment, ownerOfNamespace({ records }, metadata.namespace ?? ''), metadata.name)
}

function isToldByRest(entries: readonly Entry[], askedAt: number): boolean {
  return entries.some(
    ({ channel, action, outcome, occurredAt }) =>
      channel === 'Rest' &&
      outcome === 'Succeeded' &&
      action.endsWith('/delete') &&
      Date.parse(occurredAt) > askedAt - SAME_DELETION,
  )
}

/** Caches keep no managed fields, so they are asked for: once for each write of others. */
async function managerOf({ client }: FollowOptions, kind: AnyKind, { metadata }: KubeObject, now: number) {
  const { namespace, name } = metadata
  const found = await client.get(kind.resource, { namespace, name }).catch(() => undefined)
  const fields = (found?.metadata as { managedFields?: Manager[] } | undefined)?.managedFields ?? []
  const isNotAhead = ({ time = '' }: Manager) => !(Date.parse(time) > now + AHEAD)
  const writers = fields.filter((one) => one.subresource !== 'status' && isNotAhead(one))
  return writers.sort((one, other) => ((one.time ?? '') < (other.time ?? '') ? 1 : -1))[0]
}
