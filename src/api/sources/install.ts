import { z } from 'zod'
import { CREDENTIAL_KEYS, sourceNameOf } from '../../contracts/sources/providers.ts'
import { timestamp } from '../../core/clock.ts'
import { goneAs, messageOf, PlatformError } from '../../core/errors.ts'
import { createdByOf } from '../../core/labels.ts'
import { readLinkToken } from '../../core/linkToken.ts'
import { boundaryIdOf, boundaryNamespace } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { escapeHtml, page } from '../../core/page.ts'
import { isSameText } from '../../core/sameText.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { LinkPages } from '../people/forms.ts'
import { Uuid } from '../resources/dto.ts'
import {
  connectionOf,
  credentialsOf,
  translateProviderErrors,
  webhookSecretOf,
  webhookUrlOf,
  writeCredentials,
} from './connection.ts'
import { newState } from './create.ts'
import { requireProvider, SOURCE_STATES, type SourceRecord, type SourceTypeContext } from './record.ts'

type Step = 'Register' | 'Install'

export const FinalizeInstallResult = namedRecord('FinalizeInstallResult', {
  deploymentSourceId: Uuid,
  status: z.enum(SOURCE_STATES),
})

export const FinalizeQuery = z.strictObject({
  installation_id: z.string().min(1).max(64).describe('Id of the installation at the Git host'),
  app_id: z.string().max(64).optional().describe('Id of the app at the Git host'),
  setup_action: z.string().max(64).optional().describe('What was done there; without effect'),
  state: z.string().max(256).optional().describe('The secret that the start of the installation gave'),
})
export const ValidateQuery = z.strictObject({
  code: z.string().max(256).optional().describe('What the Git host gives for a token'),
  error: z.string().max(256).optional().describe('Why the Git host gives none'),
  error_description: z.string().max(1024).optional().describe('The same in words'),
  state: z.string().max(256).optional().describe('The secret that the start of the sign-in gave'),
})

function stateInvalid(): PlatformError {
  const message = 'The state is unknown, used or expired, or belongs to another step: start the installation again.'
  return new PlatformError('state-invalid', message)
}

/** Returns the source that an unused state proves, bypassing the cache. @throws PlatformError state-invalid */
async function sourceOfState(services: Services, state: string | undefined, step: Step): Promise<VerifiedState> {
  const token = state === undefined ? undefined : readLinkToken(state, 2)
  const [boundaryId = '', name = ''] = token?.ids ?? []
  if (token === undefined) throw stateInvalid()
  const ref = { namespace: boundaryNamespace(boundaryId), name }
  const source = await services.records.get(DeploymentSource, ref, { fresh: true })
  if (source === undefined || !isStateValid(services, source, token.hash, step)) throw stateInvalid()
  return { source, hash: token.hash }
}

type VerifiedState = { readonly source: SourceRecord; readonly hash: string }

function isStateValid({ clock }: Services, { spec, metadata }: SourceRecord, hash: string, step: Step): boolean {
  const { install } = spec
  if (install === undefined || metadata.deletionTimestamp !== undefined) return false
  return install.step === step && isSameText(install.stateHash, hash) && install.expiresAt > timestamp(clock.now())
}

/** @throws PlatformError state-invalid if the source has another boundary or type than the path */
function requirePlace({ parameters }: SourceTypeContext, source: SourceRecord): void {
  const isInBoundary = source.metadata.namespace === boundaryNamespace(parameters.boundaryId)
  if (!isInBoundary || sourceNameOf(source.spec.provider) !== parameters.sourceName) throw stateInvalid()
}

/** Acts in the name of the person who started the installation, because the returning browser has no token. */
const actorOf = ({ metadata }: SourceRecord) => ({
  principalId: createdByOf(metadata) ?? metadata.name,
  principalType: 'User' as const,
  expiresAt: 0,
})

/**
 * Uses up the state before GitHub is asked, so that of two browsers that return with it, one is refused, whatever
 * GitHub answers. The next step has a new state, which is only disclosed if this step succeeds.
 * @throws PlatformError state-invalid
 */
async function useState(
  services: Services,
  { source, hash }: VerifiedState,
  step: Step,
  next?: NonNullable<SourceRecord['spec']['install']>,
): Promise<void> {
  await writeSpec(services, source, (stored) => {
    if (!isStateValid(services, stored, hash, step)) throw stateInvalid()
    const { install: _used, ...spec } = stored.spec
    return next === undefined ? spec : { ...spec, install: next }
  })
}

async function writeSpec(services: Services, source: SourceRecord, change: (stored: SourceRecord) => object) {
  const request = { caller: actorOf(source), fresh: true, isOnce: true, change }
  await services.records.update(DeploymentSource, refOf(source), request).catch(goneAs(stateInvalid))
}

const redirect = (location: string): Answer<never> => ({
  status: 302,
  headers: { location, ...NO_STORE },
})

function withResult(services: Services, returnUrl: string | undefined, result: Record<string, string>): string {
  const url = new URL(returnUrl ?? `${services.sources.baseUrl}/`)
  for (const [name, value] of Object.entries(result)) url.searchParams.set(name, value)
  return url.href
}

/**
 * GET {B}/sources/{sourceName}/validate: GitHub has created the App from our manifest, and its code is exchanged for
 * the App's key. Then the person grants the App access to repositories, with a new state.
 * @throws PlatformError source-unknown, state-invalid
 */
export async function validateInstall(
  context: SourceTypeContext<z.output<typeof ValidateQuery>>,
): Promise<Answer<never>> {
  requireProvider(context)
  const { services, query, signal, log } = context
  const verified = await sourceOfState(services, query.state, 'Register')
  const { source } = verified
  requirePlace(context, source)
  const { baseUrl, install } = source.spec
  const { boundaryId } = context.parameters
  const id = source.metadata.name
  const url = webhookUrlOf(services, source)
  const secret = webhookSecretOf(await credentialsOf(services, source))
  const { token, hash: stateHash, expiresAt } = newState(services, boundaryId, id)
  await useState(services, verified, 'Register', { ...install, step: 'Install', stateHash, expiresAt })
  const failed = () => redirect(withResult(services, install?.returnUrl, { result: 'failed' }))
  if (query.error !== undefined || query.code === undefined) return failed()
  try {
    const app = await translateProviderErrors(
      services.sources.port.makeApp(baseUrl, query.code, { url, secret }, signal),
    )
    await writeCredentials(context as Context, source, app.credentials)
    const installUrl = `${pageOfApp(baseUrl, app)}/installations/new?state=${token}`
    if (install?.returnUrl === undefined) return redirect(installUrl)
    return redirect(withResult(services, install.returnUrl, { result: 'ok', installUrl }))
  } catch (error) {
    log.warn({ source: id, reason: messageOf(error) }, 'A GitHub App could not be created.')
    return failed()
  }
}

/** Returns the page that GitHub names, unless it is on another host. */
function pageOfApp(baseUrl: string, { slug, htmlUrl }: { slug: string; htmlUrl: string }): string {
  const isSameOrigin = URL.parse(htmlUrl)?.origin === new URL(baseUrl).origin
  return isSameOrigin ? htmlUrl.replace(/\/+$/, '') : `${baseUrl}/apps/${encodeURIComponent(slug)}`
}

/**
 * GET {B}/sources/{sourceName}/finalize: the App was granted repositories. Asks GitHub, with the App's key, whether the
 * installation belongs to this App, because anybody can put a number into the URL.
 * @throws PlatformError source-unknown, state-invalid, upstream-failed
 */
export async function finalizeInstall(
  context: SourceTypeContext<z.output<typeof FinalizeQuery>>,
): Promise<Answer<z.input<typeof FinalizeInstallResult>>> {
  requireProvider(context)
  const { services, query, signal } = context
  const { installation_id: installationId, app_id: appId, state } = query
  const verified = await sourceOfState(services, state, 'Install')
  const { source } = verified
  requirePlace(context, source)
  const connection = await connectionOf(services, source)
  await useState(services, verified, 'Install')
  if (appId !== undefined && appId !== connection.credentials[CREDENTIAL_KEYS.appId]) throw stateInvalid()
  const codes = { NotFound: 'state-invalid', CredentialRejected: 'state-invalid' } as const
  await translateProviderErrors(services.sources.port.check({ ...connection, installationId }, signal), codes)
  await writeSpec(services, source, ({ spec }) => ({ ...spec, installationId }))
  const { returnUrl } = source.spec.install ?? {}
  if (returnUrl !== undefined) return redirect(withResult(services, returnUrl, { result: 'ok' }))
  return ok({ deploymentSourceId: source.metadata.name, status: 'Ready' as const })
}

/** GitHub accepts a manifest only as a form from a browser. */
export const installPages: LinkPages = {
  path: '/sources/install/:token',
  async show(services, token) {
    const { source } = await sourceOfState(services, token, 'Register')
    const { baseUrl, organization, displayName } = source.spec
    const owner = organization === undefined ? '' : `/organizations/${encodeURIComponent(organization)}`
    const action = `${baseUrl}${owner}/settings/apps/new?state=${token}`
    const manifest = escapeHtml(JSON.stringify(manifestOf(services, source)))
    const body = `<p>GitHub creates an App for <strong>${escapeHtml(displayName)}</strong>. It reads the repositories that you choose, and reports pushes to this platform.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="manifest" value="${manifest}">
<button>Go on to GitHub</button>
</form>`
    return page('Connect GitHub', body, { targets: [new URL(baseUrl).origin] })
  },
  async submit(services, token, _fields, browser) {
    return installPages.show(services, token, browser)
  },
}

/** GitHub's limit for App names. */
const APP_NAME_MAX = 34

function manifestOf(services: Services, source: SourceRecord): object {
  const { metadata, spec } = source
  const boundaryId = boundaryIdOf(metadata)
  const base = `${services.sources.baseUrl}/boundaries/${boundaryId}/sources/github`
  return {
    name: `${spec.displayName.slice(0, APP_NAME_MAX - 9)} ${metadata.name.slice(0, 8)}`,
    url: services.sources.baseUrl,
    hook_attributes: { url: webhookUrlOf(services, source), active: true },
    redirect_url: `${base}/validate`,
    setup_url: `${base}/finalize`,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', pull_requests: 'read' },
    default_events: ['push', 'pull_request'],
  }
}
