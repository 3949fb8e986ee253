import type { EventEmitter } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type Request, type Response } from 'express'
import { rateLimit } from 'express-rate-limit'
import Provider, { type Client, type errors, type KoaContextWithOIDC } from 'oidc-provider'
import { type Clock, systemClock } from '../core/clock.ts'
import { disconnectSignalOf } from '../core/disconnectSignal.ts'
import { messageOf } from '../core/errors.ts'
import { LateRefusals } from '../core/lateRefusals.ts'
import type { Log } from '../core/log.ts'
import { accountRouter, type ChangePassword, type Invitations } from './account.ts'
import { adapterFor, createSecretVerifier } from './adapter.ts'
import type { ClientStore } from './clients.ts'
import { createExternalSignIn, type ExternalSignInOptions } from './externalSignIn.ts'
import {
  DEFAULT_GUESS_LIMITS,
  type GuessLimiter,
  type GuessLimits,
  limitPasswords,
  limitSecrets,
  WRONG_SECRETS_PER_MINUTE,
} from './guessLimiter.ts'
import type { LastSeen } from './lastSeen.ts'
import { correctErrorCodes, type ErrorCauses } from './outage.ts'
import { requireOwnBrowser } from './ownBrowser.ts'
import type { PasswordVerifier } from './passwords.ts'
import { PendingSignIns } from './pendingSignIns.ts'
import { formKey, settings } from './settings.ts'
import { guardPages, refusalPage, sendPage } from './shownPages.ts'
import { returnRouter, signInRouter } from './signIn.ts'
import type { SigningKeys } from './signingKeys.ts'
import type { StateStore } from './state.ts'
import { type RequestSession, tokenIdOf } from './stateAdapter.ts'
import { userinfo } from './userinfo.ts'
import type { UserStore } from './users.ts'

export type IdentityLimits = {
  /** Requests per address to the token endpoint. */
  tokenRequestsPerMinute: number
  /** Refused secrets per address and client. */
  refusedSecretsPerMinute: number
  /** Requests per address to unauthenticated endpoints that may store something: sign-in pages, device codes. */
  signInRequestsPerMinute: number
  /** Requests per address to all other endpoints: discovery, keys, userinfo. Many clients may share an address. */
  otherRequestsPerMinute: number
  /** Sign-ins and device codes that may wait to be finished, of all addresses together. */
  pendingSignIns: number
  /** Device codes entered per address. */
  deviceCodesPerMinute: number
  /** Wrong passwords, each per five minutes. */
  passwords: GuessLimits
  /** Milliseconds by which refusals over these limits are delayed. One second if absent. */
  refusalDelay?: number
}

export type IdentityProviderOptions = {
  /** Exactly the `iss` of every token: https, ending in `/realms/<realm>`. */
  issuer: string
  realm: string
  /** The `aud` of every token. */
  audience: string
  clients: ClientStore
  users: UserStore
  passwords: PasswordVerifier
  /** The password limiter, if shared with other verifiers; otherwise one is created from `limits`. */
  guesses?: GuessLimiter
  /** The same for secrets of service accounts. */
  secretGuesses?: GuessLimiter
  /** For the account page; absent if passwords are not changed there. */
  changePassword?: ChangePassword
  /** For the account page. */
  invitations?: Invitations
  /** Identity providers of tenants; if absent, all people sign in here. */
  external?: ExternalSignInOptions
  /** Sign-ins, grants and codes, shared by all replicas. */
  state: StateStore
  keys: SigningKeys
  log: Log
  /** Told of every issued token, if present. */
  lastSeen?: LastSeen
  /** Defaults to 900. */
  tokenLifetimeSeconds?: number
  /** How long a person stays signed in; defaults to 12 hours. */
  sessionLifetimeSeconds?: number
  /** How long verifiers may cache the published keys; defaults to 31. */
  keysMaxAgeSeconds?: number
  limits?: Partial<IdentityLimits>
  /** For delayed refusals; defaults to the system clock. */
  clock?: Clock
  /** Addresses or networks whose X-Forwarded-For is trusted; none by default. */
  trustedProxies?: readonly string[]
}

export interface IdentityProvider {
  /** Serves everything below `/realms/<realm>`, over TLS and plain HTTP; other paths are 404. */
  handler: RequestListener
  isProxy(address: string): boolean
  readonly tokenLifetimeSeconds: number
  stop(): void
}

const DEFAULT_LIMITS: IdentityLimits = {
  tokenRequestsPerMinute: 600,
  refusedSecretsPerMinute: WRONG_SECRETS_PER_MINUTE,
  signInRequestsPerMinute: 120,
  pendingSignIns: 5_000,
  otherRequestsPerMinute: 6_000,
  deviceCodesPerMinute: 10,
  passwords: DEFAULT_GUESS_LIMITS,
}
const SESSION_LIFETIME_SECONDS = 12 * 60 * 60
const SIGN_IN = '/sign-in'
/**
 * The API server fetches keys for an unknown key id only if its copy is within 30 s of its max-age. With 31 it fetches
 * at most once a second, however many tokens have invented key ids, and learns of an emergency key replacement within
 * that time.
 */
const KEYS_MAX_AGE_SECONDS = 31

/**
 * The local identity provider, at the paths of Keycloak (interface section 5). OAuth 2.0 client_credentials for service
 * accounts (RFC 6749 section 4.4); for people the authorization code with PKCE (RFC 7636), the device flow (RFC 8628),
 * rotating refresh tokens, userinfo and logout (OpenID Connect).
 * @throws Error if the issuer is not https or does not end in the realm's path
 */
export function createIdentityProvider(options: IdentityProviderOptions): IdentityProvider {
  const mountPath = `/realms/${options.realm}`
  const issuer = new URL(options.issuer)
  if (issuer.protocol !== 'https:' || issuer.pathname !== mountPath) {
    throw new Error(`The issuer ${options.issuer} must be an https address that ends in ${mountPath}.`)
  }
  const tokenLifetimeSeconds = options.tokenLifetimeSeconds ?? 900
  const sessionLifetimeSeconds = options.sessionLifetimeSeconds ?? SESSION_LIFETIME_SECONDS
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const secrets = options.secretGuesses ?? limitSecrets(limits.refusedSecretsPerMinute)
  const guesses = options.guesses ?? limitPasswords(limits.passwords)
  const refusals = new LateRefusals(options.clock ?? systemClock, limits.refusalDelay)
  const pending = new PendingSignIns(limits.pendingSignIns, options.clock ?? systemClock)
  const signInPath = `${mountPath}${SIGN_IN}`
  const build = () => {
    const built = { ...options, tokenLifetimeSeconds, sessionLifetimeSeconds, signInPath }
    const provider = buildProvider(built, issuer, { secrets, refusals, pending })
    return { provider, serve: provider.callback() }
  }
  // oidc-provider reads its keys only when created, and holds no other state, so a new one replaces it.
  let current = build()
  const unsubscribe = options.keys.onChange(() => {
    current = build()
  })

  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', options.trustedProxies ?? false)
  app.use(refuseAbsoluteTargets)
  const protocol = `${mountPath}/protocol/openid-connect`
  const brokerPath = `${mountPath}/broker`
  const addressCounters = addressLimits(refusals)
  app.post(`${protocol}/token`, addressCounters(limits.tokenRequestsPerMinute))
  app.post(`${protocol}/revoke`, addressCounters(limits.tokenRequestsPerMinute))
  app.use(
    [`${protocol}/auth`, `${protocol}/logout`, signInPath, brokerPath, `${mountPath}/account`],
    addressCounters(limits.signInRequestsPerMinute),
  )
  app.post(`${mountPath}/device`, addressCounters(limits.deviceCodesPerMinute))
  app.use(`${mountPath}/device`, addressCounters(limits.signInRequestsPerMinute))
  app.use(addressCounters.others(limits.otherRequestsPerMinute))
  const beginning = limitBeginning(pending, refusals)
  app.get(`${protocol}/auth`, beginning)
  app.post(`${protocol}/auth/device`, beginning)
  app.all(`${protocol}/userinfo`, userinfo(options))
  const shared = { provider: () => current.provider, guesses, formKey: () => formKey(options.keys) }
  const external = options.external && createExternalSignIn(options.external, options)
  app.use(`${signInPath}/:uid`, requireOwnBrowser)
  // With GET only: programs post to `auth/device` for a code.
  app.get([`${protocol}/auth/:uid`, `${mountPath}/device/:uid`], requireOwnBrowser)
  app.use(signInPath, signInRouter({ ...options, ...shared, external, path: signInPath, sessionLifetimeSeconds }))
  app.use(`${mountPath}/account`, accountRouter({ ...options, ...shared, tokenLifetimeSeconds }))
  app.use(brokerPath, returnRouter({ path: signInPath }))
  app.use(mountPath, (request, response) => current.serve(request, response))
  app.use((_request, response) => {
    response.status(404).json({ error: 'not_found', error_description: `everything here is below ${mountPath}` })
  })
  return {
    handler: app,
    isProxy: (address) => app.get('trust proxy fn')(address, 0),
    tokenLifetimeSeconds,
    stop() {
      unsubscribe()
      pending.stop()
    },
  }
}

/** Refuses absolute targets (`GET http://elsewhere/...`), whose host would be copied into the URLs of discovery. */
function refuseAbsoluteTargets(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  if (request.url?.startsWith('/') === true) {
    next()
    return
  }
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: 'invalid_request', error_description: 'the request target must be a path' }))
}

type OAuthError = { error: string; error_description: string }
const TOO_LONG = { error: 'invalid_request', error_description: 'the parameters are longer than 4096 bytes' }
const TOO_MANY = { error: 'temporarily_unavailable', error_description: 'too many sign-ins were begun' }
const TOO_MANY_REQUESTS = {
  error: 'temporarily_unavailable',
  error_description: 'too many requests from this address',
}

function refuse(request: Request, response: Response, status: number, reason: OAuthError): void {
  if (request.accepts('json', 'html') === 'html') sendPage(response, status, refusalPage(reason.error))
  else response.status(status).json(reason)
}

async function refuseLate(refusals: LateRefusals, request: Request, response: Response, reason: OAuthError) {
  await refusals.wait(disconnectSignalOf(response))
  refuse(request, response, 429, reason)
}

const limitBeginning = (pending: PendingSignIns, refusals: LateRefusals) =>
  pending.limit({
    tooLong: (request, response) => refuse(request, response, 400, TOO_LONG),
    tooMany: (request, response) => void refuseLate(refusals, request, response, TOO_MANY),
  })

/** Rate limits by address. Each request counts against the limits of its path; `others` is for requests without one. */
function addressLimits(refusals: LateRefusals) {
  const isCounted = new WeakSet<IncomingMessage>()
  const limit = (perMinute: number, skip: (request: IncomingMessage) => boolean) =>
    rateLimit({
      windowMs: 60_000,
      limit: perMinute,
      skip,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      // No warnings on the console: X-Forwarded-For counts behind `trustedProxies` only, and is ignored elsewhere.
      validate: { xForwardedForHeader: false, forwardedHeader: false },
      handler: (request, response) => refuseLate(refusals, request, response, TOO_MANY_REQUESTS),
    })
  const ofPath = (perMinute: number) =>
    limit(perMinute, (request) => {
      isCounted.add(request)
      return false
    })
  return Object.assign(ofPath, {
    others: (perMinute: number) => limit(perMinute, (request) => isCounted.has(request)),
  })
}

type BuildOptions = IdentityProviderOptions & {
  tokenLifetimeSeconds: number
  sessionLifetimeSeconds: number
  signInPath: string
}

/** The supported routes on which a client presents its secret. */
const SECRET_ROUTES = ['token', 'revocation', 'device_authorization']

type Guards = { secrets: GuessLimiter; refusals: LateRefusals; pending: PendingSignIns }

function buildProvider(options: BuildOptions, issuer: URL, { secrets, refusals, pending }: Guards): Provider {
  const current = () => ({
    address: addressOf(Provider.ctx),
    retryAfter: (seconds: number) => void Provider.ctx?.set('retry-after', String(seconds)),
    signal: Provider.ctx && disconnectSignalOf(Provider.ctx.res),
  })
  const judgeSecret = createSecretVerifier(secrets, current, refusals)
  const provider = new Provider(options.issuer, {
    ...settings({ ...options, signInPath: (uid) => `${options.signInPath}/${uid}` }),
    adapter: adapterFor({
      issuer: options.issuer,
      clients: options.clients,
      state: options.state,
      judgeSecret,
      showsSecret: () => SECRET_ROUTES.includes(Provider.ctx?.oidc?.route ?? ''),
      revokesOne: () => Provider.ctx?.oidc?.route === 'revocation',
      pending: {
        begin: (id, seconds) => pending.begin(id, addressOf(Provider.ctx), seconds),
        end: (id) => pending.end(id),
      },
      session: () => Provider.ctx?.oidc?.session as RequestSession | undefined,
    }),
  })
  // URLs in discovery use the issuer's host and https, whatever Host the request has and however it arrived.
  Object.defineProperties(provider.request, {
    protocol: { get: () => 'https' },
    host: { get: () => issuer.host },
  })
  // Ids of codes and tokens contain the grant, because everything of one grant is stored in one object.
  for (const model of [provider.AuthorizationCode, provider.RefreshToken]) {
    Object.assign(model.prototype, {
      generateTokenId(this: { grantId: string; expiration: number }) {
        return tokenIdOf(this.grantId, this.expiration)
      },
    })
  }
  // All comparisons of client secrets go through the limiter.
  const { compareClientSecret } = provider.Client.prototype
  Object.assign(provider.Client.prototype, {
    compareClientSecret(this: Client, given: string) {
      return judgeSecret(this.clientId, () => compareClientSecret.call(this, given))
    },
  })
  const causes: ErrorCauses = new WeakMap()
  provider.use(correctErrorCodes(causes))
  provider.use(guardPages)
  provider.use(cacheHeaders(options.keysMaxAgeSeconds ?? KEYS_MAX_AGE_SECONDS))
  provider.on('server_error', (context, error) => causes.set(context, error))
  listen(provider, options.log, options.lastSeen)
  return provider
}

function cacheHeaders(maxAgeSeconds: number) {
  return async (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    const route = (context.oidc as { route?: string } | undefined)?.route
    if (context.status !== 200 || (route !== 'jwks' && route !== 'discovery')) return
    context.set('cache-control', `public, max-age=${maxAgeSeconds}`)
  }
}

function listen(provider: Provider, log: Log, lastSeen: LastSeen | undefined): void {
  provider.on('grant.success', (context) => {
    noteSeen(context, lastSeen)
    log.debug({ clientId: clientIdOf(context), address: addressOf(context) }, 'An access token was issued.')
  })
  provider.on('grant.error', (context, error) => {
    const clientId = clientIdOf(context)
    log.info({ clientId, address: addressOf(context), error: codeOf(error) }, 'An access token was refused.')
  })
  provider.on('server_error', (context, error) => {
    log.error({ path: context.path, error: messageOf(error) }, 'The identity provider failed on a request.')
  })
  // Without a listener, Koa prints errors to the console.
  const events: EventEmitter = provider
  events.on('error', (error) => {
    log.warn({ error: messageOf(error) }, 'The identity provider could not finish an answer.')
  })
}

/** A refresh does not count as a sign-in, because it only shows that a program is running. */
function noteSeen({ oidc }: KoaContextWithOIDC, lastSeen: LastSeen | undefined): void {
  const grant = oidc.params?.grant_type
  const userId = oidc.entities.Account?.accountId
  const clientId = oidc.client?.clientId
  if (grant === 'client_credentials') {
    if (clientId !== undefined) lastSeen?.gotToken(clientId)
  } else if (grant !== 'refresh_token' && userId !== undefined) lastSeen?.signedIn(userId)
}

function codeOf(error: Error): string {
  return (error as Partial<errors.OIDCProviderError>).error ?? 'server_error'
}

/** Returns the client id for logs. Client ids are public, but callers may send anything instead, so it is truncated. */
function clientIdOf(context: KoaContextWithOIDC): string {
  const claimed = context.oidc.client?.clientId ?? context.oidc.params?.client_id
  return typeof claimed === 'string' ? claimed.slice(0, 64) : ''
}

function addressOf(context: { req: IncomingMessage } | undefined): string {
  const request = context?.req as (IncomingMessage & { ip?: string }) | undefined
  return request?.ip ?? request?.socket.remoteAddress ?? '::'
}
