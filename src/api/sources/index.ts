import { z } from 'zod'
import { SOURCE_NAMES } from '../../contracts/sources/providers.ts'
import { PlatformError } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { noContent } from '../http/answer.ts'
import { ANY_TYPE } from '../http/body.ts'
import type { Context } from '../http/context.ts'
import { action, anonymous, type RouteDraft, route, signed, withKind } from '../http/route.ts'
import { listWithConfig } from '../resources/collection/columns.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { HealthReportDto } from '../resources/dto.ts'
import { namedHolders } from '../resources/holders.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import {
  CircuitRepositoryRequest,
  CircuitSourceSettingsDto,
  CircuitSourceSettingsRequest,
  createCircuitRepository,
  putCircuit,
} from './circuit.ts'
import { CreateDeploymentSourceRequest, createSource, InitiateInstallResponse } from './create.ts'
import { FinalizeInstallResult, FinalizeQuery, finalizeInstall, ValidateQuery, validateInstall } from './install.ts'
import {
  ensureWebhook,
  InstallationDto,
  installationsOf,
  issueToken,
  listRepositories,
  RepositoriesQuery,
  RepositoryDto,
  RepositoryTokenDto,
  sourceHealth,
  WebhookStateDto,
} from './installations.ts'
import {
  DeploymentSourceDto,
  findSource,
  holdersIn,
  requireProvider,
  SOURCE_STATES,
  type SourceContext,
  type SourceTypeContext,
  sourceDto,
  sourceUsersOf,
} from './record.ts'
import {
  MaterializedRegistryDto,
  MaterializeRegistryRequest,
  materializeAuth,
  materializeRegistry,
  RegistryVerificationDto,
  VerifyRegistryRequest,
  verifyRegistry,
} from './registry.ts'
import { receiveWebhook, WebhookQuery, WebhookReceiptDto } from './webhooks.ts'

const actions = 'kernel/deployments'
const read = action(`${actions}/read`)
const write = action(`${actions}/write`)
const SOURCES = '{B}/sources'
const TYPE = `${SOURCES}/{sourceName}` as const
const ONE = `${TYPE}/{deploymentSourceId}` as const
const REPOSITORY = `${TYPE}/installations/{installationId}` as const

async function allSources(context: Context) {
  const { services, fresh } = context
  const { namespace, boundaryId } = await inBoundary(context)
  const objects = await services.records.list(DeploymentSource, { namespace }, { fresh })
  const holdersOf = holdersIn(context, boundaryId)
  return objects.map((object) => sourceDto(context, object, holdersOf))
}

/** @throws PlatformError in-use with `usedBy` */
async function removeSource(context: SourceContext) {
  const { services, caller, ifMatch } = context
  const source = await findSource(context)
  const { count, shown } = sourceUsersOf(context, source)
  if (count > 0) {
    const { usedBy, words } = namedHolders(shown, count)
    const name = source.spec.displayName
    const message = `Other resources get their code from "${name}": change or delete them first.${words}`
    throw new PlatformError('in-use', message, { usedBy })
  }
  await services.records.remove(DeploymentSource, refOf(source), { caller, ifMatch })
  return noContent()
}

const routes: readonly RouteDraft[] = [
  // Not a `collection`: the path of one source contains its type, and sources are created below it.
  ...listWithConfig(SOURCES, {
    dto: DeploymentSourceDto,
    auth: read,
    summary: 'The sources of code and images of the boundary',
    rows: allSources,
    columns: {
      displayName: text('Name', { isSearched: true }),
      sourceName: enumeration('Type', SOURCE_NAMES),
      status: enumeration('Status', SOURCE_STATES, { isSorted: false }),
      createdAt: dateTime('Created', { isFiltered: false }),
      lastEventAt: dateTime('Last event', { isFiltered: false }),
    },
    sort: 'displayName',
    name: 'displayName',
    collection: 'sources',
    actionPrefix: actions,
    before: inBoundary,
  }),
  route('POST', `${TYPE}/create`, {
    auth: write,
    summary: 'Connect a Git host or a registry, or begin the installation of an App',
    body: CreateDeploymentSourceRequest,
    reply: InitiateInstallResponse,
    handler: createSource,
  }),
  route('GET', `${TYPE}/finalize`, {
    auth: anonymous,
    summary: 'Where the provider sends browsers after an installation',
    query: FinalizeQuery,
    ignoresUnknownQuery: true,
    reply: FinalizeInstallResult,
    handler: finalizeInstall,
  }),
  route('GET', `${TYPE}/validate`, {
    auth: anonymous,
    summary: 'Where the provider sends browsers with a code',
    query: ValidateQuery,
    ignoresUnknownQuery: true,
    handler: validateInstall,
  }),
  route('POST', `${TYPE}/webhooks`, {
    auth: signed,
    summary: 'Deliveries of the provider, verified by their signature',
    query: WebhookQuery,
    bodyKind: 'raw',
    // Any type, because the signature must be checked first.
    mediaTypes: ['application/json', ANY_TYPE],
    reply: WebhookReceiptDto,
    handler: receiveWebhook,
  }),
  ...listWithConfig(`${TYPE}/installations`, {
    dto: InstallationDto,
    auth: read,
    summary: 'The installations of Apps at the provider',
    rows: (context) => installationsOf(context as SourceTypeContext),
    columns: { accountName: text('Account', { isSearched: true }) },
    sort: 'accountName',
    name: 'accountName',
    id: 'deploymentSourceId',
    collection: 'installations',
    actionPrefix: actions,
    before: async (context) => {
      await inBoundary(context)
      requireProvider(context as SourceTypeContext)
    },
  }),
  route('POST', `${REPOSITORY}/repositories/{repositoryId}/webhooks/ensure`, {
    auth: write,
    summary: 'Create or repair the webhook of a repository',
    opaque: ['repositoryId'],
    reply: WebhookStateDto,
    handler: ensureWebhook,
  }),
  route('POST', `${REPOSITORY}/token/{repositoryId}`, {
    auth: action(`${actions}/token`),
    summary: 'A token that reads a repository',
    opaque: ['repositoryId'],
    reply: RepositoryTokenDto,
    handler: issueToken,
  }),
  ...withKind(DeploymentSource, [
    route('DELETE', ONE, { auth: action(`${actions}/delete`), summary: 'Disconnect a source', handler: removeSource }),
  ]),
  route('PUT', `${ONE}/circuit`, {
    auth: write,
    summary: 'Settings of a Git host that the platform runs',
    body: CircuitSourceSettingsRequest,
    reply: CircuitSourceSettingsDto,
    handler: putCircuit,
  }),
  route('POST', `${ONE}/circuit/repositories`, {
    auth: write,
    summary: 'Create a repository at the Git host of the platform',
    body: CircuitRepositoryRequest,
    reply: RepositoryDto,
    handler: createCircuitRepository,
  }),
  route('GET', `${ONE}/health`, {
    auth: read,
    summary: 'Ask the provider whether everything works',
    reply: HealthReportDto,
    handler: sourceHealth,
  }),
  route('POST', `${ONE}/materialize`, {
    auth: materializeAuth,
    summary: 'Write the pull secret of a registry into a group',
    body: MaterializeRegistryRequest,
    reply: MaterializedRegistryDto,
    handler: materializeRegistry,
  }),
  route('POST', `${ONE}/verify`, {
    auth: read,
    summary: 'Check whether images can be pulled from a registry',
    body: VerifyRegistryRequest,
    reply: RegistryVerificationDto,
    handler: verifyRegistry,
  }),
  route('GET', `${TYPE}/{installationId}/repositories`, {
    auth: read,
    summary: 'Repositories that a source reaches, at most 1000',
    query: RepositoriesQuery,
    reply: z.array(RepositoryDto),
    handler: listRepositories,
  }),
]

/** The deployment sources of section 4.20 of the interface; their errors are problem details (its section 7). */
export const sourceRoutes = routes.map((draft): RouteDraft => ({ ...draft, errors: 'problem' }))
