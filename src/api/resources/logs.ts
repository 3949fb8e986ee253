import { Readable } from 'node:stream'
import { z } from 'zod'
import type { FollowedPodLogs, LogSource } from '../../adapters/podlogs/port.ts'
import { isAfter, type LogLine, lastLines, logLines, mergeByArrival, mergeLogsByTime } from '../../contracts/logs.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { type Answer, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { Flag, WholeNumber } from '../http/query.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from './dto.ts'
import type { WorkloadRef } from './liveState.ts'
import { badParameter } from './queryFaults.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly podLogs: FollowedPodLogs
  }
}

/** The query of every log route (records: shared answers). */
export const LogQuery = z.strictObject({
  tail: WholeNumber(0, 10_000).default(500).describe('Lines from the end'),
  sinceSeconds: WholeNumber(1, 604_800).optional().describe('Only lines of the last so many seconds'),
  timestamps: Flag.default(false).describe('Each line begins with its time'),
  follow: Flag.default(false).describe('Continues with new lines until the client or the pod ends'),
  previous: Flag.default(false).describe("The log of the container's run before this one"),
  process: z.string().min(1).max(63).optional().describe('The container; all of them if absent'),
})
export type LogRequest = z.output<typeof LogQuery>

export const LogLineDto = namedRecord('LogLine', {
  timestamp: DateTime.nullable(),
  source: z.string(),
  text: z.string(),
})

const LogPageDto = namedRecord('LogPage', {
  lines: z.array(LogLineDto),
  truncated: z.boolean().describe('Whether older lines were left out'),
})

/** A container, and the source name of its lines. */
export type NamedLogSource = LogSource & { name: string }

/** The log of a resource: containers, or stored logs of deleted ones. */
export type FoundLog = {
  sources: readonly NamedLogSource[]
  /** Nothing more will be written, so that following the log equals reading it. */
  hasEnded?: boolean
  /** The stored log, read if no container has one any more: chunks of lines that begin with their time. */
  kept?: { name: string; open: () => AsyncIterable<Uint8Array> }
}

/** The most characters that a followed log begins with: they are in memory until the client reads them. */
const FOLLOWED_CHARACTERS_MAX = 256 * 1024

type NamedLine = LogLine & { source: string }

/**
 * The log route of a resource, `GET <base>/logs`, as text or as one JSON object with its lines.
 *
 * @param find returns the containers, often by `containersOf`; without any, the log is empty. It throws 404 for a
 *   resource that does not exist, and 400 for a process that the resource does not have.
 */
export function logRoute(
  base: string,
  auth: Authorization,
  find: (context: Context, request: LogRequest) => FoundLog | Promise<FoundLog>,
): RouteDraft {
  return route('GET', `${base}/logs` as string, {
    auth,
    summary: 'The log, oldest line first, as text or as one JSON object',
    query: LogQuery,
    reply: LogPageDto,
    replyMediaType: 'text/plain',
    handler: async (context) => {
      const request = context.query as LogRequest
      const isJson = context.mediaType === 'application/json'
      if (isJson && request.follow) throw badParameter('follow', 'A log can only be followed as text/plain.')
      const found = await find(context, request)
      const isFollowable = found.sources.length > 0 && found.hasEnded !== true && !request.previous
      if (request.follow && isFollowable) return followLog(context, found, request)
      const { kept, truncated } = await readWritten(context, found, request)
      if (isJson) return ok({ lines: kept, truncated })
      return textOf(Readable.from([shown(kept, request.timestamps)]))
    },
  })
}

/**
 * Returns the containers that a request means, in the order of the pods.
 *
 * @param workload whose pods they are; its cluster, if that is not the platform's own
 * @throws PlatformError BAD_REQUEST for a process that none of the pods has
 */
export function containersOf(
  pods: readonly KubeObject[],
  { process }: Pick<LogRequest, 'process'>,
  { clusterId }: Pick<WorkloadRef, 'clusterId'> = {},
): NamedLogSource[] {
  const all = pods.flatMap(({ metadata: { namespace = '', name: pod }, spec }) =>
    ((spec as { containers?: { name: string }[] } | undefined)?.containers ?? []).map(({ name: container }) => ({
      namespace,
      pod,
      container,
      ...(clusterId !== undefined && { clusterId }),
      name: pods.length === 1 ? container : `${pod}/${container}`,
    })),
  )
  const chosen = process === undefined ? all : all.filter(({ container }) => container === process)
  if (process === undefined || pods.length === 0 || chosen.length > 0) return chosen
  const names = [...new Set(all.map(({ container }) => container))]
  throw badParameter('process', `There is no process "${process}", only ${names.join(', ')}.`)
}

/** Reads what all containers have written so far, as one log. */
async function readWritten(context: Context, { sources, kept }: FoundLog, request: LogRequest) {
  const { podLogs } = context.services
  const { tail, previous, sinceSeconds } = request
  // Request one line more than is shown, to know whether there are more.
  const window = { tailLines: tail + 1, timestamps: true, signal: context.signal, previous, sinceSeconds }
  const opened = await Promise.all(
    sources.map(async (source) => ({ name: source.name, chunks: await podLogs.open(source, window) })),
  )
  const logs = opened.flatMap(({ name, chunks }) => (chunks === undefined ? [] : withSource(logLines(chunks), name)))
  if (previous && logs.length === 0 && sources.length > 0) throw notFound('An earlier run of the container')
  if (logs.length === 0 && kept !== undefined && !previous) logs.push(withSource(logLines(kept.open()), kept.name))
  return lastLines(linesSince(mergeLogsByTime(logs), sinceOf(context, sinceSeconds)), tail)
}

/** Sends the end of what was written, merged by time, then new lines as they arrive, while the caller may see them. */
async function followLog(context: Context, { sources }: FoundLog, request: LogRequest): Promise<Answer<never>> {
  const { tail, sinceSeconds, timestamps } = request
  const signal = context.whilePermitted
  const since = sinceOf(context, sinceSeconds)
  const streams = sources.map((source) => context.services.podLogs.follow(source, { tailLines: tail, signal }))
  // Streams that are not read to their end must be ended: the client may be gone before the first line is sent.
  const end = () => void Promise.allSettled(streams.map((stream) => stream.return(undefined)))
  signal.addEventListener('abort', end, { once: true })
  try {
    const ends = await Promise.all(streams.map((stream) => stream.next()))
    const logs = ends.map(({ done, value }) => iterate(done === true ? [] : value))
    const { kept } = await lastLines(linesSince(mergeLogsByTime(logs), since), tail, FOLLOWED_CHARACTERS_MAX)
    const later = mergeByArrival(streams)
    const text = async function* () {
      if (kept.length > 0) yield shown(kept, timestamps)
      for await (const lines of later) yield shown(lines, timestamps)
      yield endLine(signal)
    }
    return { ...textOf(Readable.from(text(), { highWaterMark: 1 }).once('close', end)), isOpenEnded: true }
  } catch (error) {
    end()
    throw error
  }
}

/** The last line of a log that ended because its caller may not read on: it must not look like the end of the pod. */
export function endLine({ reason }: AbortSignal): string {
  return reason instanceof PlatformError ? `This log is no longer followed: ${reason.message}\n` : ''
}

function sinceOf({ services }: Context, seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined
  return new Date(services.clock.now() - seconds * 1000).toISOString().replace('Z', '000000Z')
}

async function* withSource(lines: AsyncIterable<LogLine>, source: string): AsyncGenerator<NamedLine> {
  for await (const line of lines) yield { ...line, source }
}

async function* linesSince<Line extends LogLine>(lines: AsyncIterable<Line>, since: string | undefined) {
  for await (const line of lines) if (isAfter(line, since)) yield line
}

async function* iterate<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

function textOf(stream: Readable): Answer<never> {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, stream }
}

function shown(lines: readonly LogLine[], isTimed: boolean): string {
  return lines
    .map(({ timestamp, text }) => (isTimed && timestamp !== null ? `${timestamp} ${text}\n` : `${text}\n`))
    .join('')
}
