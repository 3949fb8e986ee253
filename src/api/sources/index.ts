import { z } from 'zod'
import { SOURCE_NAMES } from '../../contracts/sources/providers.ts'
import { PlatformError } from '../../core/errors.ts'
import { createdByOf } from '../../core/labels.ts'
import { createdAtOf } from '../../core/object.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { noContent } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { action, anonymous, authenticated, type RouteDraft, route } from '../http/route.ts'
import { configRoute, listRoute } from '../resources/collection/columns.ts'
import { inBoundary } from '../resources/collection/homes.ts'
import { HealthReportDto } from '../resources/dto.ts'
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
import { DeploymentSourceDto, findSource, requireProvider, SOURCE_STATES, sourceDto, usersOf } from './record.ts'
import {
  MaterializedRegistryDto,
  MaterializeRegistryRequest,
  materializeRegistry,
  RegistryVerificationDto,
  VerifyRegistryRequest,
  verifyRegistry,
} from './registry.ts'
import { receiveWebhook, WebhookQuery, WebhookReceiptDto } from './webhooks.ts'

const read = action('kernel/deployments/read')
const write = action('kernel/deployments/write')
const SOURCES = '{B}/sources'
const TYPE = `${SOURCES}/{sourceName}` as const
const ONE = `${TYPE}/{deploymentSourceId}` as const
const REPOSITORY = `${TYPE}/installations/{installationId}` as const
/** Errors of the area are problem-details (interface section 7). */
const errors = 'problem' as const

// No `collection`: the path of one source names its type, which the path of the list does not, and one is made below it.
const sources = {
  dto: DeploymentSourceDto,
  auth: read,
  columns: {
    displayName: text('Name', { isSearched: true }),
    sourceName: enumeration('Type', SOURCE_NAMES),
    status: enumeration('Status', SOURCE_STATES, { isSorted: false }),
    createdAt: dateTime('Created', { isFiltered: false }),
    lastEventAt: dateTime('Last event', { isFiltered: false }),
  },
  sort: 'displayName',
  name: 'displayName',
} as const

const installations = {
  dto: InstallationDto,
  auth: read,
  columns: { accountName: text('Account', { isSearched: true }) },
  sort: 'accountName',
  name: 'accountName',
  id: 'deploymentSourceId',
} as const

async function allSources(context: Context) {
  const { services, fresh } = context
  const { boundaryId, namespace } = await inBoundary(context)
  const objects = await services.records.list(DeploymentSource, { namespace }, { fresh })
  return objects.map((object) => ({
    id: object.metadata.name,
    displayName: object.spec.displayName,
    installationId: object.spec.installationId ?? null,
    createdAt: createdAtOf(object.metadata),
    createdBy: createdByOf(object.metadata),
    ...sourceDto(object, { services, boundaryId }),
  }))
}

/** @throws PlatformError in-use with `usedBy` */
async function removeSource(context: Context<'boundaryId' | 'sourceName' | 'deploymentSourceId'>) {
  const { services, caller, ifMatch, parameters } = context
  const { source, home } = await findSource(context, parameters.deploymentSourceId)
  const usedBy = usersOf(services, home.boundaryId, source.metadata.name)
  if (usedBy.length > 0) {
    const message = `"${source.spec.displayName}" is where the code of others comes from: change or delete them first.`
    throw new PlatformError('in-use', message, { usedBy })
  }
  const { namespace, name } = source.metadata
  await services.records.remove(DeploymentSource, { namespace, name }, { caller, ifMatch })
  return noContent()
}

/** The deployment sources of section 4.20 of the interface. */
export const sourceRoutes: readonly RouteDraft[] = [
  listRoute(SOURCES, {
    ...sources,
    errors,
    summary: 'Where code and images of the boundary come from',
    rows: allSources,
  }),
  configRoute(`${SOURCES}/config`, {
    ...sources,
    errors,
    summary: 'What the list of sources can be asked for',
    collection: 'sources',
    actionPrefix: 'kernel/deployments',
    before: inBoundary,
  }),
  route(
    'POST',
    `${TYPE}/create`,
    {
      auth: write,
      summary: 'Connect a Git host or a registry, or begin the installation of an App',
      body: CreateDeploymentSourceRequest,
      reply: InitiateInstallResponse,
      errors,
    },
    createSource,
  ),
  route(
    'GET',
    `${TYPE}/finalize`,
    {
      auth: anonymous,
      summary: 'Where the provider sends browsers after an installation',
      query: FinalizeQuery,
      ignoresUnknownQuery: true,
      reply: FinalizeInstallResult,
      errors,
    },
    finalizeInstall,
  ),
  route(
    'GET',
    `${TYPE}/validate`,
    {
      auth: anonymous,
      summary: 'Where the provider sends browsers with a code',
      query: ValidateQuery,
      ignoresUnknownQuery: true,
      errors,
    },
    validateInstall,
  ),
  route(
    'POST',
    `${TYPE}/webhooks`,
    {
      auth: anonymous,
      summary: 'Deliveries of the provider, verified by their signature',
      query: WebhookQuery,
      bodyKind: 'raw',
      reply: WebhookReceiptDto,
      errors,
    },
    receiveWebhook,
  ),
  {
    ...listRoute(`${TYPE}/installations`, {
      ...installations,
      summary: 'What the provider has let the platform into',
      rows: installationsOf,
    }),
    errors,
  },
  {
    ...configRoute(`${TYPE}/installations/config`, {
      ...installations,
      summary: 'What the list of installations can be asked for',
      collection: 'installations',
      actionPrefix: 'kernel/deployments',
      before: async (context) => {
        await inBoundary(context)
        requireProvider(context as Context<'sourceName'>)
      },
    }),
    errors,
  },
  route(
    'POST',
    `${REPOSITORY}/repositories/{repositoryId}/webhooks/ensure`,
    {
      auth: write,
      summary: 'Make the webhook of a repository, or repair it',
      opaque: ['repositoryId'],
      reply: WebhookStateDto,
      errors,
    },
    ensureWebhook,
  ),
  route(
    'POST',
    `${REPOSITORY}/token/{repositoryId}`,
    {
      auth: action('kernel/deployments/token'),
      summary: 'A token to read a repository with',
      opaque: ['repositoryId'],
      reply: RepositoryTokenDto,
      errors,
    },
    issueToken,
  ),
  route(
    'DELETE',
    ONE,
    { auth: action('kernel/deployments/delete'), summary: 'Disconnect a source', errors },
    removeSource,
  ),
  route(
    'PUT',
    `${ONE}/circuit`,
    {
      auth: write,
      summary: 'Settings of a Git host that the platform runs',
      body: CircuitSourceSettingsRequest,
      reply: CircuitSourceSettingsDto,
      errors,
    },
    putCircuit,
  ),
  route(
    'POST',
    `${ONE}/circuit/repositories`,
    {
      auth: write,
      summary: 'Make a repository at the Git host of the platform',
      body: CircuitRepositoryRequest,
      reply: RepositoryDto,
      errors,
    },
    createCircuitRepository,
  ),
  route(
    'GET',
    `${ONE}/health`,
    { auth: read, summary: 'Asks the provider whether everything works', reply: HealthReportDto, errors },
    sourceHealth,
  ),
  route(
    'POST',
    `${ONE}/materialize`,
    {
      auth: authenticated,
      summary: 'Write the pull secret of a registry into a group',
      body: MaterializeRegistryRequest,
      reply: MaterializedRegistryDto,
      errors,
    },
    materializeRegistry,
  ),
  route(
    'POST',
    `${ONE}/verify`,
    {
      auth: read,
      summary: 'Whether images can be pulled of a registry',
      body: VerifyRegistryRequest,
      reply: RegistryVerificationDto,
      errors,
    },
    verifyRegistry,
  ),
  route(
    'GET',
    `${TYPE}/{installationId}/repositories`,
    {
      auth: read,
      summary: 'Repositories that a source reaches, at most 1000',
      query: RepositoriesQuery,
      reply: z.array(RepositoryDto),
      errors,
    },
    listRepositories,
  ),
]
