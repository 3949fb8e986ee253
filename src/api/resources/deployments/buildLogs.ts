import { Readable } from 'node:stream'
import { z } from 'zod'
import type { BuildLogState, LoggedDeployment } from '../../../adapters/buildlogs/port.ts'
import { BUILD_LOG_BYTES, isEnd } from '../../../contracts/deployments.ts'
import { PlatformError } from '../../../core/errors.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { DeploymentRecord, stageOf } from '../../../crds/deployments.ts'
import { type Answer, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { Flag } from '../../http/query.ts'
import { authenticated, type RouteDraft, route } from '../../http/route.ts'
import { findResource } from '../places.ts'
import { linesOfBuild } from './liveLog.ts'
import { findDeployment, type StoredDeployment } from './record.ts'
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
    truncated: z.boolean(),
    isFinal: z.boolean(),
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
        return ok(await upload(context, record))
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
): Promise<BuildLogState> {
  const { lines, text, offset, isFinal } = body
  if ((lines ?? undefined) === undefined ? (text ?? undefined) === undefined : (text ?? undefined) !== undefined)
    throw new PlatformError('BAD_REQUEST', 'A log is sent as lines or as text: exactly one of them.', {
      errors: [{ field: 'lines', message: 'or text, and not both' }],
    })
  const given = lines ?? (text ?? '').replace(/\n$/, '').split('\n')
  const whole = given.flatMap((line) => line.split('\n'))
  return services.deployments.logs.append(loggedOf(record), whole, { offset: offset ?? undefined, isFinal })
}

/** Milliseconds between two looks at a log that is followed. */
const NEXT_LOOK = 1_000

async function show(
  context: Context<string, z.output<typeof BuildLogQuery>>,
  record: StoredDeployment,
): Promise<Answer<never>> {
  const { services, query } = context
  const read = (offset: number) => services.deployments.logs.read(loggedOf(record), offset)
  if (context.header('accept')?.includes('application/json') === true) {
    const { lines, isFinal } = await read(query.offset)
    const page = { lines: lines.map((text) => ({ timestamp: null, source: 'build', text })), truncated: false, isFinal }
    return ok(page) as Answer<never>
  }
  const signal = context.whilePermitted
  const texts = async function* () {
    let offset = query.offset
    if (record.spec.strategy === 'Build' && !(await read(0)).isFinal) {
      for await (const line of linesOfBuild(context, record, () => isKept(context, record))) {
        if (line.number < offset) continue
        offset = line.number + 1
        yield `${line.text}\n`
      }
    }
    for (;;) {
      const { lines, isFinal } = await read(offset)
      offset += lines.length
      if (lines.length > 0) yield `${lines.join('\n')}\n`
      if (!query.follow || isFinal || signal.aborted || isOver(context, record)) return
      await new Promise<void>((resolve) => services.clock.setTimeout(resolve, NEXT_LOOK))
    }
  }
  const stream = Readable.from(texts(), { highWaterMark: 1 })
  const answer = { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, stream }
  return query.follow ? { ...answer, isOpenEnded: true } : answer
}

function loggedOf({ metadata }: StoredDeployment): LoggedDeployment {
  const { namespace = '', name, uid = '' } = metadata
  return { apiVersion: DeploymentRecord.apiVersion, kind: DeploymentRecord.kind, namespace, name, uid }
}

/** Whether the log of a build of ours is the kept one from now on. */
function isKept({ services }: Pick<Context, 'services'>, { metadata }: StoredDeployment): boolean {
  const now = services.records.peek(DeploymentRecord, { namespace: metadata.namespace ?? '', name: metadata.name })
  return now === undefined || now.status?.logLines !== undefined || isEnd(stageOf(now))
}

/** Nothing more is written of a deployment that is over. */
function isOver({ services }: Pick<Context, 'services'>, { metadata }: StoredDeployment): boolean {
  const now = services.records.peek(DeploymentRecord, { namespace: metadata.namespace ?? '', name: metadata.name })
  return now === undefined || isEnd(stageOf(now))
}
