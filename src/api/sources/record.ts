import { z } from 'zod'
import type { CircuitPort, SourcePort } from '../../adapters/sources/port.ts'
import { isCredentialSourceOf } from '../../contracts/blueprints/sources.ts'
import {
  isDisabled,
  type Provider,
  providerNamed,
  SOURCE_NAMES,
  secretNameOf,
  sourceNameOf,
  sourceSecretName,
} from '../../contracts/sources/providers.ts'
import { summaryOf } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { createdByOf } from '../../core/labels.ts'
import { boundaryIdOf, boundaryNamespace, isUuid } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'
import { type BoundaryParent, inBoundary } from '../resources/collection/parents.ts'
import { type GroupResource, resourcesOfBoundary } from '../resources/contents.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { shownHolders } from '../resources/holders.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import type { kubeJournal } from './journal.ts'
import type { kubePullSecrets } from './pullSecrets.ts'

export type SourceServices = {
  readonly port: SourcePort
  readonly circuit: Pick<CircuitPort, 'baseUrl'>
  readonly secrets: SecretReader & SecretWriter
  readonly pullSecrets: ReturnType<typeof kubePullSecrets>
  readonly journal: ReturnType<typeof kubeJournal>
  /** Hosts that may be called at any address. */
  readonly allowedHosts: readonly string[]
  /** The external URL of the facade, without a trailing slash. */
  readonly baseUrl: string
}

declare module '../http/context.ts' {
  interface Services {
    readonly sources: SourceServices
  }
}

/** Contexts by path parameters. */
export type SourceTypeContext<Query = unknown, Body = unknown> = Context<'boundaryId' | 'sourceName', Query, Body>
export type SourceContext<Body = unknown> = Context<'boundaryId' | 'sourceName' | 'deploymentSourceId', unknown, Body>
export type InstallationContext<Query = unknown> = Context<'boundaryId' | 'sourceName' | 'installationId', Query>

export type SourceRecord = RecordOf<typeof DeploymentSource>

export const SOURCE_STATES = ['Pending', 'AwaitingInstall', 'Ready', 'Failing', 'Disabled'] as const

const ResourceReference = namedRecord('SourceUser', {
  collection: z.string(),
  resourceGroup: z.string(),
  name: z.string(),
})
export type ResourceReference = z.output<typeof ResourceReference>

export const DeploymentSourceDto = namedRecord('DeploymentSourceDto', {
  id: Uuid,
  sourceName: z.enum(SOURCE_NAMES),
  displayName: z.string(),
  boundaryId: Uuid,
  status: z.enum(SOURCE_STATES),
  statusMessage: z.string().nullable(),
  baseUrl: z.string(),
  accountName: z.string().nullable(),
  accountType: z.enum(['User', 'Organization']).nullable(),
  installationId: z.string().nullable(),
  repositoryCount: z.int().nullable().describe('Counted up to 1000'),
  usedBy: z.array(ResourceReference).describe('Those that the caller may read'),
  hasWebhookSecret: z.boolean(),
  lastEventAt: DateTime.nullable(),
  lastCheckedAt: DateTime.nullable(),
  createdAt: DateTime,
  createdBy: z.string().nullable(),
})
export type DeploymentSourceDto = z.output<typeof DeploymentSourceDto>

export function sourceStateOf(source: SourceRecord): (typeof SOURCE_STATES)[number] {
  const { spec } = source
  if (isDisabled(source)) return 'Disabled'
  if (spec.provider === 'GitHub' && spec.installationId === undefined) return 'AwaitingInstall'
  const { status: state } = summaryOf(source)
  if (state === 'Running') return 'Ready'
  return state === 'Failed' || state === 'Degraded' ? 'Failing' : 'Pending'
}

type Holders = { resources: readonly GroupResource[]; catalogues: readonly RecordOf<typeof BlueprintSource>[] }
type HoldersOf = (source: SourceRecord) => Holders

/** Returns a lookup of what gets code from sources of the boundary, computed once for all of them. */
export function holdersIn({ services }: Pick<Context, 'services'>, boundaryId: string): HoldersOf {
  const namespace = boundaryNamespace(boundaryId)
  const idIn = ({ object }: GroupResource) => (object.spec as { deploymentSourceId?: string }).deploymentSourceId
  const resources = Map.groupBy(resourcesOfBoundary(services, boundaryId), idIn)
  const catalogues = Map.groupBy(services.records.peekAll(BlueprintSource, { namespace }), ({ spec }) =>
    spec.installationId?.toLowerCase(),
  )
  return ({ metadata, spec }) => {
    const names = new Set([metadata.name, spec.installationId?.toLowerCase() ?? metadata.name])
    const candidates = [...names].flatMap((name) => catalogues.get(name) ?? [])
    return {
      resources: resources.get(metadata.name) ?? [],
      catalogues: candidates.filter((catalogue) => isCredentialSourceOf({ metadata, spec }, catalogue.spec)),
    }
  }
}

/** Returns the number of users of the source, and those that the caller may read. */
export function sourceUsersOf(
  context: Pick<Context, 'services' | 'caller'>,
  source: SourceRecord,
  holdersOf: HoldersOf = holdersIn(context, boundaryIdOf(source.metadata)),
): { count: number; shown: ResourceReference[] } {
  const { services, caller } = context
  const boundaryId = boundaryIdOf(source.metadata)
  const { resources, catalogues } = holdersOf(source)
  const mayReadCatalogues = services.access.isAllowed(caller.principalId, 'blueprints/read', boundaryScope(boundaryId))
  const namedCatalogues = catalogues.map(({ metadata: { name } }) => ({
    collection: 'blueprintsources',
    resourceGroup: '',
    name,
  }))
  return {
    count: resources.length + catalogues.length,
    shown: [...shownHolders(context, boundaryId, resources), ...(mayReadCatalogues ? namedCatalogues : [])],
  }
}

export function sourceDto(context: Pick<Context, 'services' | 'caller'>, source: SourceRecord, holdersOf?: HoldersOf) {
  const { metadata, spec, status } = source
  return wholeRecord(DeploymentSourceDto, {
    ...status,
    id: metadata.name,
    sourceName: sourceNameOf(spec.provider),
    displayName: spec.displayName,
    boundaryId: boundaryIdOf(source.metadata),
    status: sourceStateOf(source),
    baseUrl: spec.baseUrl,
    accountName: status?.accountName ?? spec.organization,
    installationId: spec.installationId,
    usedBy: sourceUsersOf(context, source, holdersOf).shown,
    hasWebhookSecret: status?.hasWebhookSecret ?? secretNameOf(source) === sourceSecretName(metadata.name),
    createdAt: createdAtOf(metadata),
    createdBy: createdByOf(metadata),
  })
}

export function sourceUnknown(subject: string): PlatformError {
  return new PlatformError('source-unknown', `${subject} was not found.`)
}

/** @throws PlatformError source-unknown */
export function requireProvider({ parameters }: SourceTypeContext): Provider {
  const provider = providerNamed(parameters.sourceName)
  if (provider !== undefined) return provider
  const type = parameters.sourceName.slice(0, 64)
  throw new PlatformError(
    'source-unknown',
    `There is no type of sources "${type}": say one of ${SOURCE_NAMES.join(', ')}.`,
  )
}

/** Finds the source in the path. @throws PlatformError NOT_FOUND for the boundary, source-unknown */
export async function findSource(context: SourceContext, parent?: BoundaryParent): Promise<SourceRecord> {
  const { namespace } = parent ?? (await inBoundary(context as Context))
  return sourceIn(context, namespace, context.parameters.deploymentSourceId)
}

/** Returns the sources of the type in the path. @throws PlatformError NOT_FOUND for the boundary, source-unknown */
export async function sourcesOfType(context: SourceTypeContext): Promise<readonly SourceRecord[]> {
  return sourcesIn(context, (await inBoundary(context as Context)).namespace)
}

/** Does not require the namespace to exist. @throws PlatformError source-unknown */
export async function sourceIn(context: SourceTypeContext, namespace: string, id: string): Promise<SourceRecord> {
  const provider = requireProvider(context)
  const ref = { namespace, name: id }
  const source = isUuid(id)
    ? await context.services.records.get(DeploymentSource, ref, { fresh: context.fresh })
    : undefined
  if (source === undefined || source.spec.provider !== provider)
    throw sourceUnknown(`Source "${id.slice(0, 64)}" of type ${provider}`)
  return source
}

/** Does not require the namespace to exist. @throws PlatformError source-unknown */
export async function sourcesIn(context: SourceTypeContext, namespace: string): Promise<readonly SourceRecord[]> {
  const provider = requireProvider(context)
  const all = await context.services.records.list(DeploymentSource, { namespace }, { fresh: context.fresh })
  return all.filter(({ spec }) => spec.provider === provider)
}

/** By the provider's id, or the source's if it has no installations. @throws PlatformError source-unknown */
export async function findInstallation(context: InstallationContext): Promise<SourceRecord> {
  const { installationId, sourceName } = context.parameters
  const isInstallation = ({ metadata, spec }: SourceRecord) =>
    installationId === (spec.provider === 'GitHub' ? spec.installationId : metadata.name)
  const found = (await sourcesOfType(context)).find(isInstallation)
  if (found !== undefined) return found
  throw sourceUnknown(`Installation "${installationId.slice(0, 64)}" of type ${providerNamed(sourceName)}`)
}

/**
 * Refuses to issue anything for a source or boundary that is being deleted, because it would outlive them.
 * @throws PlatformError INVALID_STATE
 */
export async function requireSourceNotDeleting(context: Context<'boundaryId'>, source: SourceRecord): Promise<void> {
  refuseWhileDeleting(source)
  refuseWhileDeleting(await findBoundary(context, context.parameters.boundaryId))
}
