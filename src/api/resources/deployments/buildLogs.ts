import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { BuildLogState } from '../../../adapters/buildlogs/port.ts'
import {
  BUILD_LOG_LINES_MAX,
  isFinalPhase,
  MAX_BUILD_LOG_BYTES,
  ownerLogBytes,
  sortDeploymentsNewestFirst,
} from '../../../contracts/deployments.ts'
import { notFound, PlatformError, refusedFields } from '../../../core/errors.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { buildLogOwnerOf, DeploymentRecord, deploymentPhaseOf } from '../../../crds/deployments.ts'
import { type Answer, ok } from '../../http/answer.ts'
import type { Context, Services } from '../../http/context.ts'
import { namedRecord, strictRecord } from '../../http/namedRecord.ts'
import { Flag, WholeNumber } from '../../http/query.ts'
import { type RouteDraft, route } from '../../http/route.ts'
import { findResource } from '../find.ts'
import { endLine, LogLineDto, LogQuery } from '../logs.ts'
import { badParameter } from '../queryFaults.ts'
import { linesOfBuild } from './liveLog.ts'
import { deploymentsOf, findDeployment, invalidDeploymentState, type StoredDeployment } from './record.ts'
import { type DeploymentRoutes, findOwnDeployment, findReported, reporterAuth } from './reporters.ts'

/** Reports only the first item that is no string: a body may hold millions, and their issues would fill the memory. */
const Lines = z.custom<string[]>().check(({ value, issues }) => {
  const at = Array.isArray(value) ? value.findIndex((line) => typeof line !== 'string') : undefined
  if (at === undefined) issues.push({ code: 'invalid_type', expected: 'array', input: value })
  else if (at >= 0) issues.push({ code: 'invalid_type', expected: 'string', path: [at], input: value[at] })
})

const UploadBuildLogsRequest = strictRecord('UploadBuildLogsRequest', {
  lines: Lines.nullish().describe('Exactly one of lines and text'),
  text: z.string().nullish(),
  offset: z.int().min(0).nullish().describe('Number of the first of these lines; the end if absent'),
  isFinal: z.boolean().default(false).describe('Whether nothing follows'),
})
const DocumentedRequest = strictRecord('UploadBuildLogsRequest', {
  ...UploadBuildLogsRequest.shape,
  lines: z.array(z.string()).nullish().describe('Exactly one of lines and text'),
})

const BuildLogStateDto = namedRecord('BuildLogState', { lineCount: z.int(), sizeBytes: z.int(), isFinal: z.boolean() })

/** The query of every log route. Lines of a build have no times, so options about times have no effect. */
const BuildLogQuery = LogQuery.extend({
  offset: WholeNumber(0).default(0).describe('Lines to leave out at the beginning'),
  tail: LogQuery.shape.tail.unwrap().optional().describe('Lines from the end; the whole log if absent'),
  follow: Flag.default(false).describe('Continues with new lines until the last one'),
  timestamps: Flag.default(false).describe('Without effect: lines of a build have no times'),
  sinceSeconds: LogQuery.shape.sinceSeconds.describe('Without effect: lines of a build have no times'),
  previous: Flag.default(false).describe('A build runs once: there is no earlier run, 404'),
  process: LogQuery.shape.process.describe('A build has one, which is build'),
})

const BuildLogPageDto = namedRecord('BuildLogPage', {
  lines: z.array(LogLineDto).describe('Lines of a build have no times'),
  truncated: z.boolean().describe('Whether there are more lines: continue with offset'),
  isFinal: z.boolean().describe('Whether nothing follows these lines'),
})

/** The routes of build logs: upload for external builds, and the stored log of any build. */
export function buildLogRoutes<K extends AnyKind>(kind: K, path: string, given: DeploymentRoutes): RouteDraft[] {
  const { collection, parameter, readLogs } = given
  return [
    route('POST', `${path}/{deploymentId}/logs` as string, {
      auth: reporterAuth(given),
      summary: 'Keeps lines of the log of a build',
      body: UploadBuildLogsRequest,
      documentedBody: DocumentedRequest,
      bodyLimit: 2 * MAX_BUILD_LOG_BYTES,
      reply: BuildLogStateDto,
      example: { lines: ['Step 1 of 4'], offset: 0 },
      handler: async (context) => {
        const found = await findReported(kind, context, given)
        const record = await findOwnDeployment(context, found, collection)
        refuseOwnBuild(record)
        const all = deploymentsOf(context as Context, { ...found.ref, collection })
        return ok(await upload(context, record, all))
      },
    }),
    route('GET', `${path}/{deploymentId}/build-logs` as string, {
      auth: readLogs,
      summary: 'The log of a build, as text or as one JSON object',
      query: BuildLogQuery,
      reply: BuildLogPageDto,
      replyMediaType: 'text/plain',
      handler: async (context): Promise<Answer<never>> => {
        const { ref } = await findResource(kind, context, parameter)
        const record = await findDeployment(context, { ...ref, collection })
        return show(context as never, record)
      },
    }),
  ]
}

/** @throws PlatformError INVALID_STATE */
function refuseOwnBuild(record: StoredDeployment): void {
  if (record.spec.strategy !== 'Build') return
  throw invalidDeploymentState(record, 'The platform itself keeps the log of a build of its own.')
}

async function upload(
  { body, services, parameters }: Context<string, unknown, z.output<typeof UploadBuildLogsRequest>>,
  record: StoredDeployment,
  all: readonly StoredDeployment[],
): Promise<BuildLogState> {
  const { lines, text, offset, isFinal } = body
  if ((lines ?? undefined) === undefined ? (text ?? undefined) === undefined : (text ?? undefined) !== undefined)
    throw refusedFields([{ field: 'lines', message: 'a log is sent as lines or as text: exactly one of them' }])
  const given = lines ?? [(text ?? '').replace(/\n$/, '')]
  refuseTooManyLines(given)
  const whole = given.flatMap((line) => line.split('\n'))
  const { logs } = services.deployments
  const maxBytes = ownerLogBytes(countOwners(services, parameters.boundaryId))
  const appended = logs.append(buildLogOwnerOf(record), whole, { offset: offset ?? undefined, isFinal, maxBytes })
  const state = await appended.catch((error: unknown) => {
    const isComplete = error instanceof PlatformError && error.code === 'INVALID_STATE'
    throw isComplete ? invalidDeploymentState(record, error.message) : error
  })
  const added = Buffer.byteLength(whole.join('\n'))
  const stepOf = (bytes: number) => Math.floor(bytes / SIZE_CHECK_BYTES)
  if (stepOf(state.sizeBytes) !== stepOf(state.sizeBytes - added)) {
    const others = all.filter(({ metadata }) => metadata.uid !== record.metadata.uid)
    await logs.forgetOldest(sortDeploymentsNewestFirst(others).map(buildLogOwnerOf), maxBytes - state.sizeBytes)
  }
  return state
}

/** Bytes: each time a log has grown by this much, the size of all logs of its owner is checked. */
const SIZE_CHECK_BYTES = 1024 ** 2

/** Returns how many resources of the boundary have deployments, and so share its room for logs. */
function countOwners({ records }: Pick<Services, 'records'>, boundaryId: string | undefined): number {
  const owners = records
    .peekAll(DeploymentRecord, { boundaryId })
    .map(({ metadata, spec }) => `${metadata.namespace}/${spec.ownerCollection}/${spec.ownerName}`)
  return new Set(owners).size
}

/** Counts lines unsplit: millions of empty ones would block the thread. @throws PlatformError BODY_TOO_LARGE */
function refuseTooManyLines(given: readonly string[]): void {
  let count = given.length
  for (const text of given)
    for (let at = text.indexOf('\n'); at >= 0 && count <= BUILD_LOG_LINES_MAX; at = text.indexOf('\n', at + 1))
      count += 1
  if (count <= BUILD_LOG_LINES_MAX) return
  const message = `The log of a build has at most ${BUILD_LOG_LINES_MAX} lines.`
  throw new PlatformError('BODY_TOO_LARGE', message, { limitLines: BUILD_LOG_LINES_MAX })
}

/** The source of the lines of a build. */
const PROCESS = 'build'

/** The most lines of one page. */
const LINES_MAX = 10_000

/** Milliseconds between two reads of a followed log. */
const POLL_INTERVAL_MS = 1_000

type LogContext = Context<string, z.output<typeof BuildLogQuery>>

async function show(context: LogContext, record: StoredDeployment): Promise<Answer<never>> {
  const { services, query } = context
  const { process = PROCESS } = query
  if (process !== PROCESS) throw badParameter('process', `There is no process "${process}", only ${PROCESS}.`)
  if (query.previous) throw notFound('An earlier run of the build')
  if (context.mediaType === 'application/json') {
    const kept = (offset: number) => storedLines(context, record, offset)
    const found = await services.deployments.logs.read(
      buildLogOwnerOf(record),
      await firstLineNumber(query, kept),
      LINES_MAX,
    )
    const lines = found.lines.map((text) => ({ timestamp: null, source: PROCESS, text }))
    return ok({ lines, truncated: !found.isEnd, isFinal: found.isFinal && found.isEnd }) as Answer<never>
  }
  const { whilePermitted } = context
  const reading = { services, whilePermitted, query } as LogContext
  const now = (offset: number) => linesFrom({ ...reading, query: { ...query, follow: false } }, record, offset)
  const lines = linesFrom(reading, record, await firstLineNumber(query, now))
  const stream = Readable.from(textOf(lines, whilePermitted), { highWaterMark: 1 })
  const answer = { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, stream }
  return query.follow ? { ...answer, isOpenEnded: true } : answer
}

/** Returns the number of the first line to show: `tail` counts from the end of what there is now. */
async function firstLineNumber(
  { offset, tail }: LogContext['query'],
  linesNow: (offset: number) => AsyncIterable<readonly string[]>,
): Promise<number> {
  if (tail === undefined) return offset
  let count = offset
  for await (const lines of linesNow(offset)) count += lines.length
  return Math.max(offset, count - tail)
}

async function* storedLines(
  { services }: LogContext,
  record: StoredDeployment,
  from: number,
): AsyncGenerator<string[]> {
  for (let offset = from; ; ) {
    const { lines, isEnd: isRead } = await services.deployments.logs.read(buildLogOwnerOf(record), offset, LINES_MAX)
    yield lines
    offset += lines.length
    if (isRead || lines.length === 0) return
    await setImmediate()
  }
}

async function* textOf(found: AsyncIterable<readonly string[]>, signal: AbortSignal): AsyncGenerator<string> {
  for await (const lines of found) yield `${lines.join('\n')}\n`
  yield endLine(signal)
}

/** Yields what a running build writes, then stored lines page by page, with turns for others between two pages. */
async function* linesFrom(
  context: LogContext,
  record: StoredDeployment,
  from: number,
): AsyncGenerator<readonly string[]> {
  const { services, query, whilePermitted: signal } = context
  const read = (from: number, most: number) => services.deployments.logs.read(buildLogOwnerOf(record), from, most)
  let offset = from
  if (record.spec.strategy === 'Build' && !(await read(0, 0)).isFinal) {
    for await (const { number, lines } of linesOfBuild(context, record, () => isKept(stored(context, record)))) {
      const fresh = lines.slice(Math.max(0, offset - number))
      offset = Math.max(offset, number + lines.length)
      if (fresh.length > 0) yield fresh
    }
  }
  while (!signal.aborted) {
    const { lines, isEnd: isRead, isFinal } = await read(offset, LINES_MAX)
    offset += lines.length
    if (lines.length > 0) yield lines
    if (isRead && (!query.follow || isFinal || isOver(stored(context, record)))) return
    if (isRead) await new Promise<void>((resolve) => services.clock.setTimeout(resolve, POLL_INTERVAL_MS))
    else await setImmediate()
  }
}

const stored = ({ services }: Pick<Context, 'services'>, { metadata: { namespace = '', name } }: StoredDeployment) =>
  services.records.peek(DeploymentRecord, { namespace, name })

/** Whether a deployment is over, so that nothing more is written to its log. */
const isOver = (now: StoredDeployment | undefined) => now === undefined || isFinalPhase(deploymentPhaseOf(now))

/** Whether the stored log has taken the place of the live log of a build. */
const isKept = (now: StoredDeployment | undefined) => isOver(now) || now?.status?.logLines !== undefined
