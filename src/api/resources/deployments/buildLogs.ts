import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { BuildLogState } from '../../../adapters/buildlogs/port.ts'
import {
  BUILD_LOG_BYTES,
  BUILD_LOG_LINES,
  isEnd,
  newestFirst,
  OWNER_LOG_BYTES,
} from '../../../contracts/deployments.ts'
import { PlatformError } from '../../../core/errors.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { DeploymentRecord, loggedOf, stageOf } from '../../../crds/deployments.ts'
import { type Answer, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { Flag } from '../../http/query.ts'
import { authenticated, type RouteDraft, route } from '../../http/route.ts'
import { findResource } from '../places.ts'
import { linesOfBuild } from './liveLog.ts'
import { deploymentsOf, findDeployment, type StoredDeployment } from './record.ts'
import { type DeploymentRoutes, findOwnDeployment, findReported } from './reporters.ts'

const UploadBuildLogsRequest = z
  .strictObject({
    lines: z.array(z.string()).nullish().describe('Exactly one of lines and text'),
    text: z.string().nullish(),
    offset: z.int().min(0).nullish().describe('Number of the first of these lines; the end if absent'),
    isFinal: z.boolean().default(false).describe('Whether nothing follows'),
  })
  .meta({ id: 'UploadBuildLogsRequest' })

const BuildLogStateDto = z
  .object({ lineCount: z.int(), sizeBytes: z.int(), isFinal: z.boolean() })
  .meta({ id: 'BuildLogState' })

const BuildLogQuery = z.strictObject({
  offset: z.coerce.number().int().min(0).default(0).describe('Lines to leave out at the beginning'),
  follow: Flag.default(false).describe('Goes on with new lines until the last one'),
})

const BuildLogPageDto = z
  .object({
    lines: z.array(z.object({ timestamp: z.null(), source: z.string(), text: z.string() })),
    truncated: z.boolean().describe('Whether there are more lines: offset goes on'),
    isFinal: z.boolean().describe('Whether nothing follows these lines'),
  })
  .meta({ id: 'BuildLogPage' })

/** What is uploaded of a build that runs elsewhere, and what was kept of any. */
export function buildLogRoutes<K extends AnyKind>(kind: K, path: string, given: DeploymentRoutes): RouteDraft[] {
  const { collection, parameter, readLogs } = given
  return [
    route(
      'POST',
      `${path}/{deploymentId}/logs` as string,
      {
        auth: authenticated,
        summary: 'Keeps lines of the log of a build',
        body: UploadBuildLogsRequest,
        bodyLimit: 2 * BUILD_LOG_BYTES,
        reply: BuildLogStateDto,
        example: { lines: ['Step 1 of 4'], offset: 0 },
      },
      async (context) => {
        const found = await findReported(kind, context, given)
        const record = await findOwnDeployment(context, found, collection)
        const all = deploymentsOf(context as Context, { ...found.ref, collection })
        return ok(await upload(context, record, all))
      },
    ),
    route(
      'GET',
      `${path}/{deploymentId}/build-logs` as string,
      {
        auth: readLogs,
        summary: 'The log of a build, as text or as one JSON object',
        query: BuildLogQuery,
        reply: BuildLogPageDto,
        replyMediaType: 'text/plain',
      },
      async (context): Promise<Answer<never>> => {
        const { ref } = await findResource(kind, context, parameter)
        const record = await findDeployment(context, { ...ref, collection })
        return show(context as never, record)
      },
    ),
  ]
}

async function upload(
  { body, services }: Context<string, unknown, z.output<typeof UploadBuildLogsRequest>>,
  record: StoredDeployment,
  all: readonly StoredDeployment[],
): Promise<BuildLogState> {
  const { lines, text, offset, isFinal } = body
  if ((lines ?? undefined) === undefined ? (text ?? undefined) === undefined : (text ?? undefined) !== undefined)
    throw new PlatformError('BAD_REQUEST', 'A log is sent as lines or as text: exactly one of them.', {
      errors: [{ field: 'lines', message: 'or text, and not both' }],
    })
  const given = lines ?? [(text ?? '').replace(/\n$/, '')]
  refuseTooManyLines(given)
  const whole = given.flatMap((line) => line.split('\n'))
  const { logs } = services.deployments
  const state = await logs.append(loggedOf(record), whole, { offset: offset ?? undefined, isFinal })
  const added = Buffer.byteLength(whole.join('\n'))
  const stepOf = (bytes: number) => Math.floor(bytes / LOOK_BYTES)
  if (stepOf(state.sizeBytes) !== stepOf(state.sizeBytes - added)) {
    const others = all.filter(({ metadata }) => metadata.uid !== record.metadata.uid)
    await logs.forgetOldest(newestFirst(others).map(loggedOf), OWNER_LOG_BYTES - state.sizeBytes)
  }
  return state
}

/** Bytes of a log that has grown so far: then it is looked what all logs of the owner take. */
const LOOK_BYTES = 1024 ** 2

/** Before they are cut: millions of empty lines would keep the thread from everybody else. @throws PlatformError BODY_TOO_LARGE */
function refuseTooManyLines(given: readonly string[]): void {
  let count = given.length
  for (const text of given)
    for (let at = text.indexOf('\n'); at >= 0 && count <= BUILD_LOG_LINES; at = text.indexOf('\n', at + 1)) count += 1
  if (count <= BUILD_LOG_LINES) return
  const message = `The log of a build has at most ${BUILD_LOG_LINES} lines.`
  throw new PlatformError('BODY_TOO_LARGE', message, { limitLines: BUILD_LOG_LINES })
}

/** Lines of one page. */
const MOST_LINES = 10_000

/** Milliseconds between two looks at a log that is followed. */
const NEXT_LOOK = 1_000

type LogContext = Context<string, z.output<typeof BuildLogQuery>>

async function show(context: LogContext, record: StoredDeployment): Promise<Answer<never>> {
  const { services, query } = context
  if (context.header('accept')?.includes('application/json') === true) {
    const found = await services.deployments.logs.read(loggedOf(record), query.offset, MOST_LINES)
    const lines = found.lines.map((text) => ({ timestamp: null, source: 'build', text }))
    return ok({ lines, truncated: !found.isEnd, isFinal: found.isFinal && found.isEnd }) as Answer<never>
  }
  const stream = Readable.from(textOf(context, record), { highWaterMark: 1 })
  const answer = { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, stream }
  return query.follow ? { ...answer, isOpenEnded: true } : answer
}

/** First what a build of ours writes now, then what is kept, page by page; others have their turn between two pages. */
async function* textOf(context: LogContext, record: StoredDeployment): AsyncGenerator<string> {
  const { services, query, whilePermitted: signal } = context
  const read = (from: number, most: number) => services.deployments.logs.read(loggedOf(record), from, most)
  let offset = query.offset
  if (record.spec.strategy === 'Build' && !(await read(0, 0)).isFinal) {
    for await (const { number, lines } of linesOfBuild(context, record, () => isKept(context, record))) {
      const fresh = lines.slice(Math.max(0, offset - number))
      offset = Math.max(offset, number + lines.length)
      if (fresh.length > 0) yield shown(fresh)
    }
  }
  while (!signal.aborted) {
    const { lines, isEnd: isRead, isFinal } = await read(offset, MOST_LINES)
    offset += lines.length
    if (lines.length > 0) yield shown(lines)
    if (isRead && (!query.follow || isFinal || isOver(context, record))) return
    if (isRead) await new Promise<void>((resolve) => services.clock.setTimeout(resolve, NEXT_LOOK))
    else await setImmediate()
  }
}

const shown = (lines: readonly string[]) => `${lines.join('\n')}\n`

const stored = ({ services }: Pick<Context, 'services'>, { metadata: { namespace = '', name } }: StoredDeployment) =>
  services.records.peek(DeploymentRecord, { namespace, name })

/** Whether the log of a build of ours is the kept one from now on. */
function isKept(context: Pick<Context, 'services'>, record: StoredDeployment): boolean {
  const now = stored(context, record)
  return now === undefined || now.status?.logLines !== undefined || isEnd(stageOf(now))
}

/** Nothing more is written of a deployment that is over. */
function isOver(context: Pick<Context, 'services'>, record: StoredDeployment): boolean {
  const now = stored(context, record)
  return now === undefined || isEnd(stageOf(now))
}
