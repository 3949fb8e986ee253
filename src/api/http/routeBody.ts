import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { hasBody } from '../../core/framing.ts'
import { JSON_LIMIT_BYTES, readJsonBody } from './body.ts'
import { type CallerLimits, rateLimitKeyOf } from './callerLimits.ts'
import type { Caller, Services } from './context.ts'
import { readModel } from './model.ts'
import type { Route } from './route.ts'
import { runOnWorker } from './runOnWorker.ts'

/** For routes without a body: a body would be ignored, so a non-empty one is refused. */
const NOTHING = z.strictObject({})
const ANY_JSON = ['application/json', 'application/merge-patch+json']

type Sent = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller | undefined
  readonly address: string | undefined
  readonly route: Route
  /** Whose limits count: a boundary's, or the sender's. */
  readonly scope: string
  /** Names the route that replaces a field which the body does not take, if there is one. */
  readonly replacing: (field: string) => string | undefined
}

/** Reads the JSON body of a request as its route declares it; undefined without a body. @throws PlatformError */
export async function readRouteBody(
  sent: Sent,
  limits: Pick<CallerLimits, 'takeBody' | 'bodyHeld'>,
  { clock, workers }: Pick<Services, 'clock' | 'workers'>,
): Promise<unknown> {
  const { request, response, route, replacing, scope } = sent
  const limitKey = rateLimitKeyOf(sent)
  const hold = limits.bodyHeld(limitKey, scope, response)
  const costs = {
    spend: (bytes: number) => {
      hold(bytes)
      limits.takeBody(limitKey, bytes)
    },
    readLarge: (bytes: Uint8Array) =>
      runOnWorker(
        'large bodies',
        () => workers.run('readJson', bytes, limitKey.key),
        () => ({ refusal: 'it takes too long to read' }),
      ),
  }
  if (route.bodyKind === 'none' && route.method !== 'GET' && hasBody(request)) {
    const rules = { mediaTypes: ANY_JSON, isOptional: true, limitBytes: JSON_LIMIT_BYTES, ...costs }
    const value = await readJsonBody(request, response, rules, clock)
    if (value !== undefined) readModel(NOTHING, value)
  }
  if (route.bodyKind !== 'json') return undefined
  const { mediaTypes, isBodyOptional: isOptional, bodyLimit: limitBytes = JSON_LIMIT_BYTES } = route
  const value = await readJsonBody(request, response, { mediaTypes, isOptional, limitBytes, ...costs }, clock)
  if (route.body === undefined || (value === undefined && isOptional)) return value
  return readModel(route.body, value, replacing)
}
