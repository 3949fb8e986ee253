import { StringDecoder } from 'node:string_decoder'
import { isRecord } from '../core/isRecord.ts'
import type { Caller, CallerOptions } from './call.ts'
import { type Attempt, errorFromAnswer, errorFromContent, errorFromTransport, isKubeError } from './errors.ts'
import { isDense } from './jsonDensity.ts'
import { apiVersionOf, type KubeObject, type Resource } from './object.ts'
import { acceptOf, queryString, resourcePath } from './path.ts'
import { isWellFormedAnswer } from './wellFormedAnswer.ts'

export type WatchStreamOptions = {
  namespace?: string | undefined
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
  resourceVersion?: string | undefined
  /** Requests a streaming list: first every object, then a bookmark with `INITIAL_EVENTS_END`, then changes. */
  sendInitialEvents?: boolean | undefined
  /** The server ends the stream normally after this time. */
  timeoutSeconds?: number | undefined
  signal?: AbortSignal | undefined
  /** Called when the server has accepted the watch. */
  onOpen?: (() => void) | undefined
  /** Called when bytes arrive, before they form a line. */
  onActivity?: (() => void) | undefined
}

export type WatchEvent<T extends KubeObject = KubeObject> = {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  object: T
}

/** Annotation of the bookmark that ends a streaming list (KEP-3157). */
export const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** An object is at most 1.5 MiB in etcd; a line longer than this is not an object. */
const MAX_LINE = 4 * 1024 * 1024

/**
 * Yields the events of one watch until the server ends it normally.
 *
 * @throws KubeError for a refused open, an ERROR event (410 as Gone), a line that is not JSON, a stream cut or reset
 */
export async function* watchEvents<T extends KubeObject>(
  caller: Caller,
  resource: Resource,
  options: WatchStreamOptions,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const attempt = caller.withCluster({ verb: 'watch', resource, ref: { namespace: options.namespace } })
  const path = resourcePath(resource, { namespace: options.namespace }) + watchQuery(options)
  const headers = acceptOf(resource, 'PartialObjectMetadata')
  const body = await caller.open(attempt, { method: 'GET', path, headers, signal: options.signal })
  options.onOpen?.()
  try {
    const { share } = caller
    const { onActivity } = options
    const { left } = caller.allowance()
    let listed = options.sendInitialEvents === true ? 0 : Number.NEGATIVE_INFINITY
    for await (const line of lines(body, attempt, Math.min(left, MAX_LINE), { share, onActivity })) {
      if (left < Number.POSITIVE_INFINITY && isDense(line))
        throw errorFromContent(attempt, 'a line has more values than any object')
      const event = readEvent<T>(line, attempt, resource)
      const form = event.type === 'BOOKMARK' ? undefined : resource
      if (left < Number.POSITIVE_INFINITY && !isWellFormedAnswer(event.object, form))
        throw errorFromContent(attempt, 'a line has no object of Kubernetes')
      if (isInitialEventsEnd(event)) listed = Number.NEGATIVE_INFINITY
      listed += line.length
      if (listed > left) throw errorFromContent(attempt, 'it lists more objects than any cluster is expected to have')
      yield event
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw isKubeError(error) ? error : errorFromTransport(attempt, error, false)
  } finally {
    body.destroy()
  }
}

/** Whether this is the bookmark at the end of a streaming list. */
export function isInitialEventsEnd({ type, object }: WatchEvent): boolean {
  return type === 'BOOKMARK' && object.metadata.annotations?.[INITIAL_EVENTS_END] === 'true'
}

function watchQuery(options: WatchStreamOptions): string {
  const { labelSelector, fieldSelector, resourceVersion, sendInitialEvents, timeoutSeconds } = options
  return queryString({
    watch: 1,
    allowWatchBookmarks: true,
    labelSelector,
    fieldSelector,
    resourceVersion,
    timeoutSeconds,
    ...(sendInitialEvents === true && { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' }),
  })
}

async function* lines(
  body: AsyncIterable<Buffer>,
  attempt: Attempt,
  longest: number,
  { share, onActivity }: { share: CallerOptions['share']; onActivity: WatchStreamOptions['onActivity'] },
): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of body) {
    onActivity?.()
    const began = performance.now()
    let searched = rest.length
    rest += decoder.write(chunk)
    let start = 0
    for (let end = rest.indexOf('\n', searched); end >= 0; end = rest.indexOf('\n', searched)) {
      if (end > start) yield rest.slice(start, end)
      start = end + 1
      searched = start
    }
    rest = rest.slice(start)
    if (rest.length > longest) throw errorFromContent(attempt, 'a line is longer than any object can be')
    // What follows stays with the sender meanwhile.
    await share?.spend(performance.now() - began)
  }
  if (rest.trim() !== '') throw errorFromContent(attempt, 'the stream ended inside a line')
}

function readEvent<T extends KubeObject>(line: string, attempt: Attempt, resource: Resource): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown }
  try {
    event = JSON.parse(line) as { type?: unknown; object?: unknown }
  } catch {
    // Skipping the line could lose a change for ever. The stream is reopened from the last version that was read.
    throw errorFromContent(attempt, 'a line is not JSON')
  }
  const object = event?.object
  if (event?.type === 'ERROR') {
    const code = (object as { code?: unknown } | null)?.code
    throw errorFromAnswer(attempt, typeof code === 'number' ? code : 500, JSON.stringify(object))
  }
  if (!isEventType(event?.type) || !isRecord(object) || !hasVersion(object)) {
    throw errorFromContent(attempt, 'a line is not a watch event')
  }
  return {
    type: event.type,
    object: Object.assign(object, { apiVersion: apiVersionOf(resource), kind: resource.kind }) as T,
  }
}

function isEventType(type: unknown): type is WatchEvent['type'] {
  return type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK'
}

const hasVersion = ({ metadata }: Record<string, unknown>) =>
  isRecord(metadata) && typeof metadata.resourceVersion === 'string'
