import { z } from 'zod'
import { REGISTRY_TOKEN_TTL_SECONDS } from '../../contracts/registry/audit.ts'
import { parseRepository, type RepositoryName } from '../../contracts/registry/names.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { isRunActing, RetentionRun } from '../../crds/registry.ts'
import { type Answer, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { anonymous, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import {
  type AuthenticatedClient,
  authenticateClient,
  authenticateCredential,
  boundaryOrGroupAt,
} from './credentials.ts'
import { knownRepository, rightsNow } from './rights.ts'
import { isRepositoryWithin, parseScopes, type RequestedScope, scopesText } from './scopes.ts'
import { auditAction, auditRefusal, registryOf } from './service.ts'

/** The maximum lifetime of a refresh token, which also ends with the credential that it was obtained with. */
const REFRESH_TTL_MAX_MS = 8 * 3_600_000
/** Less than the 15 s or more that clients such as Docker wait for a token. */
const REMOVAL_TIMEOUT_MS = 12_000
const FORM_MAX_BYTES = 64 * 1024
const FORM_MEDIA_TYPE = 'application/x-www-form-urlencoded'

const RegistryTokenDto = namedRecord('RegistryTokenDto', {
  token: z.string(),
  access_token: z.string().describe('The same as token'),
  expires_in: z.int().describe('Seconds'),
  issued_at: DateTime,
  scope: z.string().nullable().describe('The granted part of the requested scope'),
  refresh_token: z.string().nullable(),
})

type TokenRequest = { scopes: readonly RequestedScope[]; service: string | undefined; isOffline: boolean }

/** @throws PlatformError UNAUTHORIZED in the format of registry clients */
async function refuseCredentials(context: Context, user: string | undefined, { scopes }: TokenRequest): Promise<never> {
  const message = 'The credentials for the registry are missing or wrong.'
  const detail = ['wrong credentials', scopesText(scopes)].filter(Boolean).join(', for ')
  if (user !== undefined) await auditRefusal(context, { actor: 'anonymous', detail })
  throw new PlatformError('UNAUTHORIZED', message, {
    errors: [{ code: 'UNAUTHORIZED', message }],
    challenge: `Basic realm="${registryOf(context.services).service}", charset="UTF-8"`,
  })
}

/** @param user the presented user name */
function respond(
  context: Context,
  user: string,
  bearer: AuthenticatedClient | undefined,
  request: TokenRequest,
): Promise<Answer<never>> {
  return bearer === undefined ? refuseCredentials(context, user, request) : issue(context, bearer, request)
}

/** Issues a token for what was requested, limited to what the bearer may do now. */
async function issue(
  context: Context,
  bearer: AuthenticatedClient | undefined,
  request: TokenRequest,
): Promise<Answer<never>> {
  const { services } = context
  const { keys, service, space } = registryOf(services)
  if (request.service !== undefined && request.service !== service) {
    throw new PlatformError('BAD_REQUEST', 'The parameter service names another registry.', { parameter: 'service' })
  }
  const decided =
    bearer === undefined ? [] : await Promise.all(request.scopes.map((one) => decide(services, bearer, one)))
  const access = decided.flatMap(({ repository: name, granted: actions }) =>
    actions.length === 0 ? [] : [{ type: 'repository', name, actions }],
  )
  const pushed = access.filter(({ actions }) => actions.includes('push')).map(({ name }) => name)
  for (const boundaryId of new Set(pushed.map(boundaryOf))) await space.refuseIfFull(boundaryId)
  if (pushed.length > 0) await waitWhileRemoving(context)
  const actor = bearer?.principalId ?? 'anonymous'
  const auditFields = access.map(({ name: repository, actions: granted }) => {
    return { actor, repository, detail: granted.join(','), granted }
  })
  await auditAction(context, 'Token', ...auditFields)
  await recordNotGranted(context, actor, decided)
  const now = services.clock.now()
  const token = await keys.token(actor, access, { now, seconds: REGISTRY_TOKEN_TTL_SECONDS })
  const latest = now + REFRESH_TTL_MAX_MS
  const expiresAt = Math.min(latest, bearer?.expiresAt ?? latest)
  const body = {
    token,
    access_token: token,
    expires_in: REGISTRY_TOKEN_TTL_SECONDS,
    issued_at: timestamp(now),
    scope: access.map(({ name, actions }) => `repository:${name}:${actions.join(',')}`).join(' ') || null,
    refresh_token:
      bearer !== undefined && request.isOffline ? await keys.issue({ ...bearer, kind: 'Refresh', expiresAt }) : null,
  }
  return ok(body as never)
}

const boundaryOf = (repository: string) => repository.split('/')[0] ?? ''

/** A request for one repository, and the part that the bearer may do now. */
type Decided = RequestedScope & { readonly granted: readonly string[] }

async function decide(services: Services, bearer: AuthenticatedClient, wanted: RequestedScope): Promise<Decided> {
  const { principalId, principalType, limit } = bearer
  const { repository, actions } = wanted
  if (limit !== undefined && !isRepositoryWithin(limit.repositories, repository)) return { ...wanted, granted: [] }
  const name = await knownRepository(services, principalId, repository)
  if (name === undefined) return { ...wanted, granted: [] }
  // The platform's own credential for a group has exactly the rights of its limit.
  const rights: ReadonlySet<string> =
    principalType === 'Platform' ? new Set(limit?.actions) : await rightsNow(services, principalId, name, actions)
  const isGranted = (one: string) => rights.has(one) && limit?.actions.includes(one) !== false
  return {
    ...wanted,
    granted: actions.filter((one) => isGranted(one) && !(one === 'push' && isDeleting(services, name))),
  }
}

/** Nothing may be pushed into what is being deleted; workloads that still run there may pull. */
function isDeleting(services: Services, { boundaryId, resourceGroup }: RepositoryName): boolean {
  const places = [boundaryId, `${boundaryId}/${resourceGroup}`].map((place) => boundaryOrGroupAt(services, place))
  return places.some((place) => place?.metadata.deletionTimestamp !== undefined)
}

/**
 * Delays pushes while retention runs, so that an image that is about to be removed does not become needed. A run takes
 * seconds, and clients give up after a few refusals, so the request waits for as long as the least patient client does.
 */
async function waitWhileRemoving(context: Context): Promise<void> {
  const { records } = context.services
  const hasEnded = async () =>
    !records
      .peekAll(RetentionRun, { namespace: SYSTEM_NAMESPACE })
      .some(({ spec, status }) => !spec.dryRun && isRunActing(status?.state))
  if (await pollUntilChanged(context, hasEnded, REMOVAL_TIMEOUT_MS)) return
  const message = 'Retention is removing images: push again in a moment.'
  throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}

/** Audits one refusal per request, so that nobody can fill the audit log with refused scopes. */
async function recordNotGranted(context: Context, actor: string, decided: readonly Decided[]): Promise<void> {
  const notGranted = decided
    .map(({ granted, actions, ...rest }) => ({ ...rest, actions: actions.filter((one) => !granted.includes(one)) }))
    .filter(({ repository, actions }) => actions.length > 0 && parseRepository(repository) !== undefined)
  const [first] = notGranted
  if (first === undefined) return
  await auditRefusal(context, { actor, repository: first.repository, detail: `not granted: ${scopesText(notGranted)}` })
}

async function answerBasic(context: Context<string, z.output<typeof TokenQuery>>): Promise<Answer<never>> {
  const { services, query } = context
  registryOf(services)
  const request = {
    scopes: parseScopes(query.scope),
    service: query.service,
    isOffline: query.offline_token === 'true',
  }
  const header = context.header('authorization')
  if (header === undefined) {
    // Without credentials, a client gets a token without access, because nothing here is public.
    return query.scope.length > 0 ? issue(context, undefined, request) : refuseCredentials(context, undefined, request)
  }
  const encoded = /^Basic ([A-Za-z0-9+/=_-]+)$/i.exec(header)?.[1] ?? ''
  const [user = '', ...password] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return respond(context, user, await authenticateClient(context, user, password.join(':')), request)
}

async function answerForm(context: Context): Promise<Answer<never>> {
  const { services } = context
  registryOf(services)
  const form = await readForm(context)
  const one = (name: string) => form.get(name) ?? undefined
  const scopes = parseScopes(form.getAll('scope'))
  const request = { scopes, service: one('service'), isOffline: one('access_type') === 'offline' }
  const grant = one('grant_type')
  if (grant === 'password') {
    const user = one('username') ?? ''
    return respond(context, user, await authenticateClient(context, user, one('password') ?? ''), request)
  }
  if (grant === 'refresh_token')
    return respond(
      context,
      'refresh',
      await authenticateCredential(services, one('refresh_token') ?? '', ['Refresh']),
      request,
    )
  const message = 'The form needs a grant_type: password or refresh_token.'
  throw new PlatformError('BAD_REQUEST', message, { parameter: 'grant_type' })
}

/** @throws PlatformError MODEL_BINDING_FAILED, BODY_TOO_LARGE */
async function readForm(context: Context): Promise<URLSearchParams> {
  const type = context.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== FORM_MEDIA_TYPE) {
    const message = `The body must be sent as ${FORM_MEDIA_TYPE}.`
    throw new PlatformError('MODEL_BINDING_FAILED', message, { errors: [{ field: '', message }] })
  }
  const bytes = await context.rawBody.whole()
  return new URLSearchParams(Buffer.from(bytes).toString('utf8'))
}

const TokenQuery = z.object({
  service: z.string().max(255).optional().describe('Name of this registry, as its challenge says it'),
  scope: z
    .array(z.string().max(1024))
    .max(100)
    .default([])
    .describe('`repository:<name>:pull,push`; may be given several times'),
  account: z.string().max(255).optional().describe('Without effect: the credentials say who asks'),
  client_id: z.string().max(255).optional().describe('Without effect'),
  offline_token: z.string().max(16).optional().describe('true asks for a refresh token too'),
})

const TokenForm = z.object({
  grant_type: z.enum(['password', 'refresh_token']).describe('Which credentials the form brings'),
  service: TokenQuery.shape.service,
  scope: z
    .string()
    .max(FORM_MAX_BYTES)
    .optional()
    .describe('`repository:<name>:pull,push`; several with blanks between'),
  username: z.string().optional().describe('With grant_type password'),
  password: z.string().optional().describe('With grant_type password'),
  refresh_token: z.string().optional().describe('With grant_type refresh_token'),
  access_type: z.enum(['online', 'offline']).optional().describe('offline asks for a refresh token too'),
  client_id: TokenQuery.shape.client_id,
})

const tokenRoute = { auth: anonymous, ignoresUnknownQuery: true, reply: RegistryTokenDto, answers: [422, 429] }

export const tokenRoutes: readonly RouteDraft[] = [
  route('GET', '/registry/auth/token', {
    ...tokenRoute,
    summary: 'A token for the registry, for Basic credentials',
    query: TokenQuery,
    takesBasic: true,
    handler: answerBasic,
  }),
  route('POST', '/registry/auth/token', {
    ...tokenRoute,
    summary: 'A token for the registry, for credentials in a form or a refresh token',
    bodyKind: 'raw',
    documentedBody: TokenForm,
    bodyLimit: FORM_MAX_BYTES,
    mediaTypes: [FORM_MEDIA_TYPE],
    handler: answerForm,
  }),
]
