import { z } from 'zod'
import { decodePath, PATH_NOT_PLAIN_MESSAGE, stripQuery } from '../../contracts/functionPaths.ts'
import { EVENT_HEADER, permanentFailureOf } from '../../contracts/functions.ts'
import { isReservedHeader, type TestCall, type TestCallFailure } from '../../contracts/testCalls.ts'
import { summaryOf } from '../../core/conditions.ts'
import { type FieldError, PlatformError, refusedFields } from '../../core/errors.ts'
import { pluralize } from '../../core/pluralize.ts'
import { matching } from '../../crds/fields.ts'
import { HTTP_METHODS } from '../../crds/functionFields.ts'
import { httpPaths } from '../../crds/functions.ts'
import { NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { otherClusterOf } from '../resources/find.ts'
import { invalidState } from '../resources/invalidState.ts'
import { requireReachableCluster } from '../resources/requireReachableCluster.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { decodeContent, Encoding, encodeContent } from './encoding.ts'
import { type FoundFunction, FUNCTION_PATH, findFunction } from './functions.ts'

/** Bytes of a request, which is held in memory. A test call is not meant for uploads. */
const REQUEST_MAX_BYTES = 256 * 1024
const HEADERS_MAX = 32

/** HTTP header names are case-insensitive, so only one of the values would arrive. */
function hasUniqueNames(headers: object): boolean {
  const names = Object.keys(headers)
  return new Set(names.map((name) => name.toLowerCase())).size === names.length
}

const InvokeFunctionRequest = strictRecord('InvokeFunctionRequest', {
  method: z.enum(HTTP_METHODS).nullish().describe('POST with a body, else GET if absent'),
  path: matching(2048, /^\/[!"$-~]*$/, {
    message: 'must begin with a slash, and hold visible characters of ASCII without #',
    abort: true,
  })
    .refine((path) => decodePath(stripQuery(path)) !== undefined, PATH_NOT_PLAIN_MESSAGE)
    .nullish()
    .describe('Path and query; the first path of its triggers if absent, or / if it has none'),
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of a header'),
      matching(4096, /^[\t -~]*$/, 'must hold visible characters of ASCII'),
    )
    .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, `must have at most ${HEADERS_MAX} names`)
    .refine(hasUniqueNames, 'must not have names that differ in case only')
    .meta({ maxProperties: HEADERS_MAX })
    .nullish(),
  body: z.string().nullish(),
  encoding: Encoding.nullish().describe('How body is written; Utf8 if absent'),
})
type InvokeRequest = z.output<typeof InvokeFunctionRequest>

const InvokeFunctionResult = namedRecord('InvokeFunctionResult', {
  statusCode: z.int().describe('The status that the function answered'),
  headers: z.record(z.string(), z.string()).describe('Its headers, without cookies and those of the connection'),
  body: z.string().describe('Its body; the first 256 KiB if it is longer'),
  encoding: Encoding.describe('How body is written: Base64 if it is no text'),
  isTruncated: z.boolean().describe('Whether the body was longer'),
  isColdStart: z.boolean().describe('Whether no copy ran when the call came'),
  durationMilliseconds: z.number().describe('Waiting included'),
})

/**
 * A test call. It bypasses the authentication of triggers, so it needs the right to write the function: whoever has
 * that could open the function to everybody. The right to read is not enough.
 */
export const invokeRoute: RouteDraft = route('POST', `${FUNCTION_PATH}/invoke`, {
  auth: action('functions/write'),
  summary: 'Calls the function once, and answers with what it answered',
  body: InvokeFunctionRequest,
  isBodyOptional: true,
  bodyLimit: REQUEST_MAX_BYTES,
  example: { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"you"}' },
  reply: InvokeFunctionResult,
  handler: async (context: Context<string, unknown, InvokeRequest | undefined>) => {
    const { services, whilePermitted } = context
    const found = await findFunction(context as Context)
    const call = callOf(context.body ?? {}, found)
    refuseUncallable(found)
    const clusterId = otherClusterOf(services, found.owner.spec.clusterId)
    if (clusterId !== undefined) requireReachableCluster(services, clusterId)
    const { namespace, name } = found.ref
    const answer = await services.functions.calls.call(namespace, name, call, whilePermitted)
    if (answer === undefined) throw unavailable('Calls of functions cannot be made at the moment')
    if ('refused' in answer) throw refusal(answer.refused, await findFunction(context as Context))
    const { body, isTruncated, ...rest } = answer
    const { text, encoding } = encodeContent(Buffer.from(body, 'base64'), isTruncated)
    return ok({ ...rest, body: text, encoding, isTruncated }, { headers: NO_STORE })
  },
})

/** @throws PlatformError BAD_REQUEST, MODEL_BINDING_FAILED */
function callOf(
  { method, path, headers, body, encoding }: InvokeRequest,
  { object, owner, at }: FoundFunction,
): TestCall {
  const given = Object.entries(headers ?? {})
  const errors: FieldError[] = given
    .filter(([name]) => isReservedHeader(name))
    .map(([name]) => ({ field: `headers.${name}`, message: 'must be left out: the platform sets it' }))
  const bytes = decodeContent(body ?? '', encoding, 'body')
  const effectiveMethod = method ?? (bytes.length > 0 ? 'POST' : 'GET')
  if (bytes.length > 0 && ['GET', 'HEAD'].includes(effectiveMethod))
    errors.push({ field: 'body', message: `must be left out: ${effectiveMethod} has none` })
  if (errors.length > 0) throw refusedFields(errors)
  const host = owner.status?.publicHost ?? 'function'
  return {
    boundaryId: at.boundaryId,
    method: effectiveMethod,
    path: path ?? httpPaths(object.spec)[0] ?? '/',
    headers: { ...Object.fromEntries(given), host, [EVENT_HEADER]: 'invoke' },
    body: bytes.toString('base64'),
  }
}

/** Refuses calls that cannot succeed at once, instead of after the timeout. @throws PlatformError INVALID_STATE */
function refuseUncallable({ object, owner, at }: FoundFunction): void {
  refuseWhileDeleting(object)
  if (owner.spec.running === false)
    throw invalidState(object, `Function namespace "${at.namespaceName}" is stopped: start it first.`)
  if (!object.spec.enabled) throw invalidState(object, `Function "${at.name}" is disabled: enable it first.`)
  refuseUnstartable(object, at.name)
  if (object.status?.image !== undefined) return
  const { buildStatus = 'NoSource' } = object.status ?? {}
  const problem = {
    NoSource: 'has no source yet: upload one first',
    Queued: 'is not built yet: try again when its build has succeeded',
    Building: 'is not built yet: try again when its build has succeeded',
    Succeeded: 'is not built yet: try again when its build has succeeded',
    Failed: 'could not be built: see the log of its deployment',
  }[buildStatus]
  throw invalidState(object, `Function "${at.name}" ${problem}.`)
}

/** @throws PlatformError INVALID_STATE if there is no copy, and none can start before somebody fixes the cause */
function refuseUnstartable(object: FoundFunction['object'], name: string): void {
  const { phase, statusMessage } = summaryOf(object)
  if (object.status?.image === undefined || permanentFailureOf(object) === undefined) return
  throw invalidState(object, `Function "${name}" has no copy, and cannot start one: ${statusMessage ?? phase}`)
}

const unavailable = (message: string, retryAfterSeconds = 5) =>
  new PlatformError('SERVICE_UNAVAILABLE', `${message}: try again.`, { retryAfterSeconds })

function describeNoCopies(object: FoundFunction['object']): string {
  const { status, statusMessage } = summaryOf(object)
  return status === 'Failed' && statusMessage !== null ? statusMessage : 'see its status.'
}

function refusal(failure: TestCallFailure, { object, at }: FoundFunction): PlatformError {
  const subject = `Function "${at.name}"`
  const within = `within ${pluralize(object.spec.timeoutSeconds, 'second')}`
  const failed = (message: string) => new PlatformError('UPSTREAM_FAILED', message)
  switch (failure) {
    case 'Gone':
      return unavailable(`${subject} cannot be called yet`, 1)
    case 'Disabled':
      return invalidState(object, `${subject} or its namespace was switched off.`)
    case 'Full':
      return new PlatformError('TOO_MANY_REQUESTS', `Too many calls of function "${at.name}" wait.`, {
        retryAfterSeconds: 1,
      })
    case 'NoCopy':
      return failed(`No copy of function "${at.name}" had room for the call ${within}: ${describeNoCopies(object)}`)
    case 'TooSlow':
      return failed(`${subject} did not answer ${within}.`)
    case 'Broken':
      return failed(`${subject} broke the connection before it had answered: see its log.`)
    case 'Simulated':
      return new PlatformError(
        'SERVICE_UNAVAILABLE',
        'Pods are simulated on this platform: no code runs that could answer.',
      )
  }
}
