import { z } from 'zod'
import {
  CATALOGUE_PROVIDERS,
  CATALOGUE_STATES,
  isCredentialSourceOf,
  isSameTemplateFolder,
  isSyncRequested,
  normalizeFolder,
  providerOf,
  SOURCES_MAX,
  TOO_MANY_SOURCES,
} from '../../contracts/blueprints/sources.ts'
import { repositoryNameOf } from '../../contracts/sources/repositories.ts'
import { asSentence, PlatformError, refusedFields } from '../../core/errors.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { PlainText } from '../../crds/fields.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import type { Context } from '../http/context.ts'
import { BUILD_RIGHTS } from '../http/furtherRights.ts'
import { readModel } from '../http/model.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { type BoundaryParent, inBoundary } from '../resources/collection/parents.ts'
import { vetSourceUrl } from '../resources/deployments/address.ts'
import { requireUseOfSources } from '../resources/deployments/owner.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { TemplateProblemDto } from './catalogue.ts'

export type CatalogueSource = RecordOf<typeof BlueprintSource>

export const CatalogSourceDto = namedRecord('CatalogSourceDto', {
  id: Uuid,
  provider: z.enum(CATALOGUE_PROVIDERS),
  repositoryUrl: z.string().nullable(),
  repositoryFullName: z.string().nullable(),
  repositoryId: z.string().nullable(),
  installationId: z.string().nullable(),
  ref: z.string(),
  path: z.string(),
  enabled: z.boolean(),
  status: z.enum(CATALOGUE_STATES),
  message: z.string().nullable(),
  revision: z.string().nullable(),
  templateCount: z.int(),
  invalidTemplates: z.array(z.object({ path: z.string(), errors: z.array(TemplateProblemDto) })),
  lastSyncAt: DateTime.nullable(),
  createdAt: DateTime,
})

const fields = BlueprintSource.spec.shape
const [ref, path] = [fields.ref.unwrap(), fields.path.unwrap()]
const CreateCatalogSourceRequest = strictRecord('CreateCatalogSourceRequest', {
  provider: z.enum(CATALOGUE_PROVIDERS).nullish().describe('Derived from the address or the installation if null'),
  repositoryUrl: z.string().max(2048).nullish().describe('A repository that everybody may read'),
  installationId: fields.installationId
    .nullish()
    .describe('Deployment source of the boundary, by its id or its installation'),
  repositoryId: fields.repositoryId.nullish().describe('Repository of that source'),
  repositoryFullName: PlainText.max(512).nullish().describe('Its name as known; what is shown is what its host says'),
  ref: ref.nullish().describe('Branch or tag; main when absent'),
  path: path.nullish().describe('Folder of the templates, those below it too; the root when absent'),
  enabled: z.boolean().nullish(),
})
type Creation = z.output<typeof CreateCatalogSourceRequest>

const UpdateCatalogSourceRequest = strictRecord('UpdateCatalogSourceRequest', {
  ref: ref.nullish().describe('Null leaves it as it is'),
  path: path.nullish().describe('Null leaves it as it is'),
  enabled: z.boolean().nullish().describe('Null leaves it as it is'),
})
type Change = z.output<typeof UpdateCatalogSourceRequest>

type Invalid = NonNullable<NonNullable<CatalogueSource['status']>['invalidTemplates']>[number]

function invalidDto({ path, errors, keeps }: Invalid) {
  const shown = errors.map(({ line = null, column = null, severity, ...rest }) => ({
    ...rest,
    severity: severity as 'Error',
    line,
    column,
  }))
  if (keeps === undefined) return { path, errors: shown }
  const message = `blueprint "${keeps}" stays as it was until this file is fixed or deleted`
  const warning = { severity: 'Warning' as const, code: 'SpecInvalid', path: '', line: null, column: null, message }
  return { path, errors: [...shown, warning] }
}

/** Returns the derived fields. `ref` and `path` are validated with the spec, in the same words as for kubectl. */
export function catalogueSourceDto({ metadata, spec, status = {} }: CatalogueSource) {
  const { invalidTemplates = [] } = status
  return {
    repositoryFullName: (status.repositoryFullName ?? repositoryNameOf(spec.repositoryUrl ?? '')) || null,
    status: catalogueSourceStateOf({ metadata, spec, status } as CatalogueSource),
    message: messageOf(status),
    templateCount: status.templateCount ?? 0,
    invalidTemplates: invalidTemplates.map(invalidDto),
  }
}

function messageOf({ message, state, nextAttemptAt }: NonNullable<CatalogueSource['status']>): string | null {
  if (message === undefined) return null
  return state === 'Failing' && nextAttemptAt !== undefined
    ? `${asSentence(message)} The next attempt is at ${nextAttemptAt}.`
    : message
}

/** A sync that was just requested counts, even if the controller has not seen it yet. */
export function catalogueSourceStateOf({ metadata, spec, status }: CatalogueSource): (typeof CATALOGUE_STATES)[number] {
  if (!spec.enabled) return 'Disabled'
  if (
    isSyncRequested({ spec, status }) ||
    (status?.state !== undefined && status.syncedGeneration !== metadata.generation)
  )
    return 'Syncing'
  return status?.state === 'Disabled' ? 'Pending' : (status?.state ?? 'Pending')
}

/** @throws PlatformError URL_NOT_ALLOWED, FORBIDDEN, REFERENCE_NOT_FOUND, ALREADY_EXISTS, QUOTA_EXCEEDED, BAD_REQUEST */
function creationSpec(context: Context<string, unknown, Creation>, { namespace, boundaryId }: BoundaryParent): object {
  const { services, body } = context
  const present = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== undefined))
  const { repositoryFullName, ...given } = present as Creation
  const { repositoryUrl, installationId, repositoryId } = given
  const hasUrl = repositoryUrl != null
  if (
    hasUrl === (installationId != null && repositoryId != null) ||
    (installationId == null) !== (repositoryId == null)
  ) {
    const message = 'is required, or installationId with repositoryId, but not both'
    throw refusedFields([{ field: 'repositoryUrl', message }])
  }
  if (hasUrl) {
    vetSourceUrl(services, repositoryUrl, 'repositoryUrl')
    refuseOtherName(repositoryFullName, repositoryUrl)
  } else requireUseOfSources(context as Context, boundaryId)
  const derivedProvider = hasUrl ? providerOf(repositoryUrl) : requireProvider(context, namespace, installationId ?? '')
  const provider = body.provider ?? derivedProvider
  const read = readModel(BlueprintSource.spec, { ...given, provider, requests: {} })
  const spec = { ...read, path: normalizeFolder(read.path) }
  const all = services.records.peekAll(BlueprintSource, { namespace })
  refuseSame(all, spec)
  if (all.length >= SOURCES_MAX) {
    const extras = { quota: 'blueprintSources', limit: SOURCES_MAX, used: all.length, requested: 1 }
    throw new PlatformError('QUOTA_EXCEEDED', TOO_MANY_SOURCES, extras)
  }
  return spec
}

/** @throws PlatformError BAD_REQUEST */
function refuseOtherName(repositoryFullName: string | null | undefined, repositoryUrl: string): void {
  const name = repositoryNameOf(repositoryUrl)
  if (name === undefined || repositoryFullName == null || name.toLowerCase() === repositoryFullName.toLowerCase())
    return
  throw refusedFields([{ field: 'repositoryFullName', message: `must be "${name}", as in repositoryUrl` }])
}

/** @throws PlatformError ALREADY_EXISTS */
function refuseSame(others: readonly CatalogueSource[], next: CatalogueSource['spec']): void {
  if (!others.some(({ spec }) => isSameTemplateFolder(spec, next))) return
  throw new PlatformError(
    'ALREADY_EXISTS',
    `A source already reads "${next.path}" at "${next.ref}" of this repository.`,
  )
}

function applyChange(spec: CatalogueSource['spec'], { ref, path, enabled }: Change): CatalogueSource['spec'] {
  // An invalid path is refused with the rest of the spec.
  const folder = path ? normalizeFolder(path) : (path ?? spec.path)
  return { ...spec, ref: ref ?? spec.ref, path: folder, enabled: enabled ?? spec.enabled }
}

/** @throws PlatformError REFERENCE_NOT_FOUND */
function requireProvider({ services }: Context<string, unknown, unknown>, namespace: string, installationId: string) {
  const found = services.records
    .peekAll(DeploymentSource, { namespace })
    .find((source) => isCredentialSourceOf(source, { installationId }))
  const provider = found?.spec.provider
  if (provider !== undefined && provider !== 'Registry') return provider === 'Circuit' ? 'Gitea' : provider
  const message = `The boundary has no Git host connected as "${installationId}".`
  throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'installationId', value: installationId })
}

export const CATALOGUE_SOURCES_PATH = '{B}/resources/blueprints/sources'

const sourcesLock = ({ namespace }: BoundaryParent) => ({
  key: `blueprint sources ${namespace}`,
  sees: [{ kind: BlueprintSource, namespace }],
})

/** Six routes of the interface (section 4.18). */
export const catalogueSources = collection(BlueprintSource, {
  path: CATALOGUE_SOURCES_PATH,
  item: 'sourceId',
  noun: 'Source',
  parent: inBoundary,
  may: { read: action('blueprints/read'), write: action('blueprints/templates/write') },
  dto: CatalogSourceDto,
  toDto: (source) => catalogueSourceDto(source),
  columns: {
    repositoryUrl: text('Repository', { isSearched: true, isSorted: false }),
    provider: enumeration('Provider', CATALOGUE_PROVIDERS, { isSorted: false }),
    status: enumeration('Status', CATALOGUE_STATES),
    createdAt: dateTime('Created'),
  },
  sort: '-createdAt',
  name: 'repositoryUrl',
  list: { summary: 'Repositories that templates of the boundary are read from' },
  create: {
    summary: 'Read templates from a folder of a Git repository',
    further: BUILD_RIGHTS,
    body: CreateCatalogSourceRequest,
    toSpec: creationSpec,
    lock: sourcesLock,
  },
  patch: {
    summary: 'Change the branch or folder, or stop offering its templates',
    further: BUILD_RIGHTS,
    body: UpdateCatalogSourceRequest,
    lock: sourcesLock,
    before: (context, { metadata, spec }, { boundaryId, namespace }) => {
      const next = applyChange(spec, context.body)
      if (isSameTemplateFolder(next, spec)) return
      if (spec.installationId !== undefined) requireUseOfSources(context as Context, boundaryId)
      const all = context.services.records.peekAll(BlueprintSource, { namespace })
      refuseSame(
        all.filter((other) => other.metadata.name !== metadata.name),
        next,
      )
    },
    toSpec: ({ spec }, { body }) => applyChange(spec, body),
  },
  remove: { summary: 'Remove a repository and its templates; what was deployed from them stays' },
})
