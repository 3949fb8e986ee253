import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { PlainText } from '../../crds/fields.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { CircuitSettings, DeploymentSource, VISIBILITIES } from '../../crds/sources.ts'
import { created, ok } from '../http/answer.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { vetUrl } from '../resources/deployments/address.ts'
import { Uuid } from '../resources/dto.ts'
import { connectionOf, translateProviderErrors } from './connection.ts'
import {
  findSource,
  requireSourceNotDeleting,
  SOURCE_STATES,
  type SourceContext,
  type SourceRecord,
  sourceStateOf,
} from './record.ts'

export const CircuitSourceSettingsRequest = CircuitSettings.extend({ enabled: z.boolean() }).meta({
  id: 'CircuitSourceSettingsRequest',
})

export const CircuitSourceSettingsDto = namedRecord('CircuitSourceSettings', {
  ...CircuitSettings.shape,
  deploymentSourceId: Uuid,
  baseUrl: z.string(),
  repositoryCount: z.int(),
  usedMegabytes: z.int(),
  status: z.enum(SOURCE_STATES),
})

export const CircuitRepositoryRequest = strictRecord('CircuitRepositoryRequest', {
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[A-Za-z0-9._-]+$/, 'must be letters, digits, dots, hyphens and underscores')
    .refine(
      (name) => !/^\.+$/.test(name) && !/\.(git|wiki|rss|atom)$/i.test(name),
      'is a reserved name of the Git host',
    ),
  description: PlainText.max(512).nullish(),
  visibility: z.enum(VISIBILITIES).nullish().describe('Default: the visibility in the settings'),
  initialize: z.boolean().default(true).describe('With a first commit'),
  importUrl: z.string().min(1).max(2048).nullish().describe('A public repository to begin from'),
  templateSlug: z.string().min(1).max(64).nullish(),
})

/** @throws PlatformError source-unknown, not-a-circuit, INVALID_STATE while being deleted */
async function findCircuit(context: SourceContext): Promise<SourceRecord> {
  const source = await findSource(context)
  if (source.spec.provider === 'Circuit') {
    await requireSourceNotDeleting(context, source)
    return source
  }
  const message = `"${source.spec.displayName}" is of type ${source.spec.provider}, not a Git host of the platform.`
  throw new PlatformError('not-a-circuit', message)
}

const MEGABYTE = 1024

/** PUT .../circuit: replaces the settings. Asks the host first, so that nothing is written if it does not answer. */
export async function putCircuit(context: SourceContext<z.output<typeof CircuitSourceSettingsRequest>>) {
  const { services, caller, ifMatch, body, signal } = context
  const source = await findCircuit(context)
  const connection = await connectionOf(services, source)
  const { repositoryCount, kilobytes } = await answerOfHost(services.sources.port.usage(connection, signal))
  const change = ({ spec }: SourceRecord) => ({ ...spec, circuit: body })
  const { object } = await services.records.update(DeploymentSource, refOf(source), { caller, ifMatch, change })
  const dto = {
    ...withDefaults(CircuitSettings, object.spec.circuit ?? {}),
    deploymentSourceId: source.metadata.name,
    baseUrl: object.spec.baseUrl,
    repositoryCount,
    usedMegabytes: Math.ceil(kilobytes / MEGABYTE),
    status: sourceStateOf(object),
  }
  return ok(dto, { etag: etagOf(object) })
}

/** The platform issues these tokens, so an invalid one is a fault of the host, not of the caller. */
const answerOfHost = <Result>(work: Promise<Result>) =>
  translateProviderErrors(work, { CredentialRejected: 'upstream-failed', NotFound: 'upstream-failed' })

/** @throws PlatformError not-a-circuit, INVALID_STATE, QUOTA_EXCEEDED, REFERENCE_NOT_FOUND, already-exists, upstream-failed */
export async function createCircuitRepository(context: SourceContext<z.output<typeof CircuitRepositoryRequest>>) {
  const { services, body, signal } = context
  const source = await findCircuit(context)
  const settings = withDefaults(CircuitSettings, source.spec.circuit ?? {})
  if (!settings.enabled)
    throw new PlatformError('INVALID_STATE', 'The source is disabled.', { status: 'Disabled', phase: null })
  const { templateSlug, importUrl } = body
  if (templateSlug != null) {
    const extras = { field: 'templateSlug', value: templateSlug }
    throw new PlatformError('REFERENCE_NOT_FOUND', `There is no template "${templateSlug}".`, extras)
  }
  if (importUrl != null) vetUrl(importUrl, 'importUrl', services.sources.allowedHosts)
  const connection = await connectionOf(services, source)
  const { kilobytes } = await answerOfHost(services.sources.port.usage(connection, signal))
  const limit = settings.sizeLimitMegabytes
  if (kilobytes >= limit * MEGABYTE) {
    const extras = { quota: 'sizeLimitMegabytes', limit, used: Math.ceil(kilobytes / MEGABYTE), requested: 1 }
    throw new PlatformError('QUOTA_EXCEEDED', `The repositories of the source already use ${limit} MB.`, extras)
  }
  const repository = {
    name: body.name,
    description: body.description ?? '',
    // Always private: no other source may see it, whatever the requested visibility.
    isPrivate: true,
    defaultBranch: settings.defaultBranch,
    initialize: body.initialize,
    importUrl: importUrl ?? undefined,
  }
  return created(await answerOfHost(services.sources.port.createRepository(connection, repository, signal)))
}
