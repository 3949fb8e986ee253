import { Readable } from 'node:stream'
import { z } from 'zod'
import { badRequest } from '../../core/errors.ts'
import { type Answer, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from './dto.ts'

const Flag = z.enum(['true', 'false']).transform((value) => value === 'true')

/** The query of every log route (records: shared answers). */
const LogQuery = z.strictObject({
  tail: z.coerce.number().int().min(0).max(10_000).default(500).describe('Lines from the end'),
  sinceSeconds: z.coerce.number().int().min(1).max(604_800).optional(),
  timestamps: Flag.default(false).describe('Each line begins with its time'),
  follow: Flag.default(false).describe('Goes on with new lines until the client or the pod goes'),
  previous: Flag.default(false).describe("The log of the container's run before this one"),
  process: z.string().max(63).optional().describe('The container; the only one if absent'),
})
export type LogRequest = z.output<typeof LogQuery> & { signal: AbortSignal }

const LogPageDto = z
  .object({
    lines: z.array(
      z.object({ timestamp: DateTime.nullable(), source: z.string(), text: z.string() }).meta({ id: 'LogLine' }),
    ),
    truncated: z.boolean().describe('Whether older lines were left out'),
  })
  .meta({ id: 'LogPage' })

/** Where lines come from: chunks of text whose lines begin with an RFC 3339 time and a space. */
export type LogSource = { process: string; chunks: AsyncIterable<Uint8Array> | undefined }
type Line = { timestamp: string | null; text: string }

/** The most text held for one response; older lines are left out. */
const MOST_CHARACTERS = 4 * 1024 * 1024

/**
 * The log route of a resource, as text or as one JSON object with its lines.
 *
 * @param open finds the log; its `process` is what lines are said to come from. No log is an empty answer.
 */
export function logRoute(
  base: string,
  auth: Authorization,
  open: (context: Context, request: LogRequest) => Promise<LogSource>,
): RouteDraft {
  return route(
    'GET',
    `${base}/logs` as string,
    {
      auth,
      summary: 'The log, oldest line first, as text or as one JSON object',
      query: LogQuery,
      reply: LogPageDto,
      replyMediaType: 'text/plain',
    },
    async (context) => {
      const request = { ...(context.query as z.output<typeof LogQuery>), signal: context.signal }
      const isJson = context.header('accept')?.includes('application/json') === true
      if (isJson && request.follow) throw badRequest('A log can only be followed as text/plain.', [])
      const { process, chunks } = await open(context, request)
      const since = request.sinceSeconds && context.services.clock.now() - request.sinceSeconds * 1000
      const lines = linesOf(chunks ?? Readable.from([]), since ?? 0)
      if (request.follow) return textOf(Readable.from(shown(lines, request.timestamps)))
      const { kept, truncated } = await lastLines(lines, request.tail)
      if (isJson) return ok({ lines: kept.map((line) => ({ ...line, source: process })), truncated })
      return textOf(Readable.from(shown(kept, request.timestamps)))
    },
  )
}

function textOf(stream: Readable): Answer<never> {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, stream }
}

async function* shown(lines: Iterable<Line> | AsyncIterable<Line>, isTimed: boolean): AsyncIterable<string> {
  for await (const { timestamp, text } of lines)
    yield isTimed && timestamp !== null ? `${timestamp} ${text}\n` : `${text}\n`
}

const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (.*)$/s

/** Lines that are not older than `since`, in milliseconds since the epoch. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, since: number): AsyncIterable<Line> {
  const decoder = new TextDecoder()
  let rest = ''
  const parse = (line: string): Line => {
    const [, timestamp = null, text = line] = TIMED.exec(line) ?? []
    return { timestamp, text }
  }
  const isWanted = ({ timestamp }: Line) => timestamp === null || Date.parse(timestamp) >= since
  for await (const chunk of chunks) {
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = pieces.pop() ?? ''
    yield* pieces.map(parse).filter(isWanted)
  }
  rest += decoder.decode()
  if (rest !== '') yield* [parse(rest)].filter(isWanted)
}

/** At most `most` lines from the end, and no more of them than an answer may hold. */
export async function lastLines(
  lines: AsyncIterable<Line>,
  most: number,
): Promise<{ kept: Line[]; truncated: boolean }> {
  const kept: Line[] = []
  let [characters, truncated] = [0, false]
  for await (const line of lines) {
    kept.push(line)
    characters += line.text.length
    while (kept.length > most || (characters > MOST_CHARACTERS && kept.length > 1)) {
      characters -= kept.shift()?.text.length ?? 0
      truncated = true
    }
  }
  return { kept, truncated }
}
