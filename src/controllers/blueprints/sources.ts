import { setImmediate } from 'node:timers/promises'
import { type GitFile, type GitFiles, GitFilesError, type GitLocation } from '../../adapters/gitfiles/port.ts'
import { basicAuthHeader } from '../../adapters/sources/calls.ts'
import { connectionTo, SourceError, type SourcePort } from '../../adapters/sources/port.ts'
import {
  isCredentialSourceOf,
  isSameTemplateFolder,
  normalizeFolder,
  SOURCES_MAX,
  TOO_MANY_SOURCES,
} from '../../contracts/blueprints/sources.ts'
import type { ParsedTemplate } from '../../contracts/blueprints/validate.ts'
import type { RecordedHead } from '../../contracts/sources/journal.ts'
import { isDisabled, secretNameOf } from '../../contracts/sources/providers.ts'
import { isOfRepository, repositoryNameOf } from '../../contracts/sources/repositories.ts'
import { ageOf, type KubeObject, keyOf } from '../../core/object.ts'
import { degraded, done, type Outcome, REQUEUE_NOW, stalled, waiting } from '../../core/outcome.ts'
import { secretTexts } from '../../core/secretData.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import {
  describeStaleTemplate,
  failuresOf,
  type KeptTemplate,
  mergeTemplates,
  SYNC_BACKOFF_MS,
  SYNC_INTERVAL_MS,
  syncBackoff,
  syncDueIn,
  syncLocationOf,
} from '../../desired/blueprintSources.ts'
import { secretMetadata } from '../../kube/builtin.ts'
import { controllerWith, type Pass, steps, type Workspace } from '../engine/controller.ts'
import { readSecret, withSecretRights } from '../workload/secrets.ts'

export type CatalogueOptions = {
  files: GitFiles
  sources: Pick<SourcePort, 'token'>
  /** Reads a template as POST .../templates does. */
  read: TemplateReader
}
/** Reads a template, yielding to other work in between. */
export type TemplateReader = (content: string) => Promise<ParsedTemplate>

type SourcePass = Pass<typeof BlueprintSource>
type TemplateObject = BlueprintTemplate & KubeObject
type Invalid = NonNullable<NonNullable<BlueprintSource['status']>['invalidTemplates']>[number]
type CredentialSource = DeploymentSource & KubeObject

/** Syncs the repository of each source: on creation, on request, on a push, and hourly. */
export const catalogueController = controllerWith(
  BlueprintSource,
  {
    observes: [
      BlueprintTemplate.resource,
      {
        resource: DeploymentSource.resource,
        keysOf: sourcesAffectedBy,
        relevant: ({ metadata, spec, status }) => [
          metadata.deletionTimestamp,
          spec,
          (status as CredentialSource['status'])?.heads,
        ],
      },
      { resource: secretMetadata, keysOf: sourcesWith },
    ],
    writes: [{ resource: BlueprintTemplate.resource, verbs: ['create', 'patch', 'delete'] }],
  },
  (options: CatalogueOptions) => ({
    childrenIn: 'records',
    reconcile: steps(function sync(pass: SourcePass): Outcome | Promise<Outcome> {
      return withSecretRights(() => syncSource(pass, options))
    }),
  }),
)

/** Returns the sources that use a deployment source's credentials, or whose URL may receive its pushes. */
function sourcesAffectedBy(changed: KubeObject, records: Workspace): string[] {
  const { namespace } = changed.metadata
  return records
    .cache(BlueprintSource)
    .list({ namespace })
    .filter(({ spec }) => spec.repositoryUrl !== undefined || isCredentialSourceOf(changed as CredentialSource, spec))
    .map(keyOf)
}

/** Returns the sources that use the credentials in a Secret. */
function sourcesWith({ metadata: { name, namespace } }: KubeObject, records: Workspace): string[] {
  const connections = records.cache(DeploymentSource).list({ namespace })
  return connections.filter((one) => secretNameOf(one) === name).flatMap((one) => sourcesAffectedBy(one, records))
}

/** Identifies the credentials' Secret and its version. Needed only while a source fails, and when it is read. */
async function versionOfCredentials(
  pass: SourcePass,
  connected: CredentialSource | undefined,
): Promise<string | undefined> {
  if (connected === undefined) return undefined
  const { namespace = '' } = connected.metadata
  pass.records.watchSecretMetadata(namespace)
  const { metadata } = (await readSecret({ workloads: pass.records }, namespace, secretNameOf(connected))) ?? {}
  return metadata && `${metadata.uid}/${metadata.resourceVersion}`
}

function credentialSourceOf({ object, records }: SourcePass): CredentialSource | undefined {
  const { namespace } = object.metadata
  return records
    .cache(DeploymentSource)
    .list({ namespace })
    .find((source) => isCredentialSourceOf(source, object.spec) && source.metadata.deletionTimestamp === undefined)
}

async function syncSource(pass: SourcePass, options: CatalogueOptions): Promise<Outcome> {
  const { spec, status } = pass.object
  if (!spec.enabled) return disable(pass)
  const refusal = findSyncRefusal(pass)
  if (refusal !== undefined) return refuse(pass, refusal)
  const connected = credentialSourceOf(pass)
  const push = pushOf(pass, connected)
  const hasAllTemplates = status?.templateCount === templatesHere(pass).length
  const isFailing = status?.failures !== undefined
  const triedWith = isFailing ? await versionOfCredentials(pass, connected) : undefined
  const hasNewCredentials = isFailing && triedWith !== status.triedWith
  const due = syncDueIn(pass.object, pass.clock.now(), { push, hasAllTemplates, hasNewCredentials })
  if (due > 0) return outcomeSinceSync(pass, due)
  if (status?.state !== 'Syncing') {
    pass.report({ state: 'Syncing' })
    return waiting('Starting', 'The repository is being read.', REQUEUE_NOW)
  }
  try {
    pass.report({ heardDelivery: push?.deliveryId, syncedGeneration: pass.object.metadata.generation })
    return await readRepository(pass, options, connected, hasAllTemplates)
  } catch (error) {
    if (!(error instanceof GitFilesError || error instanceof SourceError)) throw error
    return failSync(pass, error, {
      triedWith: triedWith ?? (await versionOfCredentials(pass, connected)),
      hasNewCredentials,
    })
  }
}

/**
 * Returns the latest known push to the source's branch: from its deployment source, or for a URL from any in the
 * boundary. A plain Git source is a single repository, whatever its deliveries call it.
 */
function pushOf({ object, records }: SourcePass, connected: CredentialSource | undefined) {
  const { repositoryId, repositoryUrl, ref: name } = object.spec
  const refs = [name, `refs/heads/${name}`, `refs/tags/${name}`]
  const all = records.cache(DeploymentSource).list({ namespace: object.metadata.namespace })
  const isMeant = ({ spec }: CredentialSource, head: RecordedHead) =>
    repositoryUrl !== undefined
      ? isOfRepository(spec, head, repositoryUrl)
      : spec.provider === 'Git' || head.repositoryId === repositoryId
  const reported = (repositoryUrl !== undefined ? all : connected === undefined ? [] : [connected]).flatMap((source) =>
    (source.status?.heads ?? []).filter((head) => isMeant(source, head as RecordedHead)),
  )
  return reported
    .filter(({ kind, ref }) => kind !== 'PullRequest' && refs.includes(ref))
    .toSorted((one, other) => compareTexts(other.receivedAt, one.receivedAt))[0]
}

/** Returns why this source is not read at all, for cases that REST refuses at once. */
function findSyncRefusal({ object, records }: SourcePass): Parameters<typeof stalled> | undefined {
  const older = records
    .cache(BlueprintSource)
    .list({ namespace: object.metadata.namespace })
    .filter((other) => ageOf(other) < ageOf(object as unknown as KubeObject))
  const same = older.find(({ spec }) => isSameTemplateFolder(spec, object.spec))
  if (same !== undefined)
    return ['NameOccupied', `Source "${same.metadata.name}" already reads this repository, branch and folder.`]
  if (older.length < SOURCES_MAX) return undefined
  return ['QuotaExceeded', TOO_MANY_SOURCES]
}

/** Retries, because deleting the older source does not wake this one. */
function refuse(pass: SourcePass, [reason, message]: Parameters<typeof stalled>): Outcome {
  pass.report({ state: 'Failing', message, syncedGeneration: pass.object.metadata.generation, ...NO_FAILURES })
  return stalled(reason, message, SYNC_BACKOFF_MS)
}

/** Outcome after a successful sync: degraded while a broken template is served in an older version. */
function syncedOutcome(invalid: Invalid[] | undefined, after: number): Outcome {
  const stale = describeStaleTemplate(invalid ?? [])
  return stale === undefined ? done({ after }) : degraded('PartiallyAvailable', stale, after)
}

/** Outcome since the last sync. */
function outcomeSinceSync({ object: { status } }: SourcePass, due: number): Outcome {
  if (status?.state !== 'Failing') return syncedOutcome(status?.invalidTemplates, due)
  return degraded('PartiallyAvailable', status.message ?? 'The repository could not be read.', due)
}

async function readRepository(
  pass: SourcePass,
  options: CatalogueOptions,
  connected: CredentialSource | undefined,
  hasAllTemplates: boolean,
): Promise<Outcome> {
  const { object, now } = pass
  const { spec, status, metadata } = object
  if (spec.installationId !== undefined && connected === undefined)
    throw new GitFilesError('NotFound', `The boundary has no deployment source "${spec.installationId}".`)
  const place = await gitLocationOf(pass, options, connected)
  const isKnown = hasAllTemplates && status?.readAt === syncLocationOf(object)
  const found = await options.files.read(place, isKnown ? status?.revision : undefined)
  const ready = {
    ...{ triedAt: now, lastSyncAt: now, syncedAt: spec.requests.syncAt },
    ...{ state: 'Ready' as const, message: undefined, revision: found.revision, readAt: syncLocationOf(object) },
    repositoryFullName: repositoryNameOf(place.url),
    ...NO_FAILURES,
  }
  if (found.files === undefined) {
    pass.report(ready)
    return syncedOutcome(status?.invalidTemplates, SYNC_INTERVAL_MS)
  }
  const read = await readEach(found.files, options.read)
  // Nothing is kept from another branch or folder.
  const before = status?.readAt === syncLocationOf(object) ? templatesHere(pass).map(storedOf) : []
  const { templates, invalid, invalidCount } = mergeTemplates(metadata.name, found.files, read, before)
  await keepTemplates(pass, templates)
  pass.report({ ...ready, templateCount: templates.length, invalidCount, invalidTemplates: invalid })
  return syncedOutcome(invalid, SYNC_INTERVAL_MS)
}

/** Reads each file in turn, yielding to other work in between. */
async function readEach(files: readonly GitFile[], read: TemplateReader): Promise<(content: string) => ParsedTemplate> {
  const known = new Map<string, ParsedTemplate>()
  for (const { text } of files) {
    if (text === undefined || known.has(text)) continue
    await setImmediate()
    known.set(text, await read(text))
  }
  return (content) => {
    const found = known.get(content)
    if (found === undefined) throw new TypeError('A text is judged that is in no file.')
    return found
  }
}

/** @throws SourceError, GitFilesError */
async function gitLocationOf(
  pass: SourcePass,
  { sources }: Pick<CatalogueOptions, 'sources'>,
  connected: CredentialSource | undefined,
): Promise<GitLocation> {
  const { repositoryUrl = '', repositoryId = '', ref } = pass.object.spec
  const path = normalizeFolder(pass.object.spec.path)
  if (connected === undefined) return { url: repositoryUrl, ref, path }
  const { namespace = '' } = connected.metadata
  if (isDisabled(connected)) throw new GitFilesError('NotAllowed', 'The deployment source is disabled.')
  const stored = await readSecret({ workloads: pass.records }, namespace, secretNameOf(connected))
  const connection = connectionTo(connected, secretTexts(stored?.data))
  const { token, username, cloneUrl } = await sources.token(connection, repositoryId)
  return { url: cloneUrl, ref, path, authorization: basicAuthHeader(username, token) }
}

type SyncAttempt = { readonly triedWith: string | undefined; readonly hasNewCredentials: boolean }

function failSync(pass: SourcePass, { message }: Error, { triedWith, hasNewCredentials }: SyncAttempt): Outcome {
  const { object, now, clock } = pass
  const failures = failuresOf(object, hasNewCredentials)
  const after = syncBackoff(failures)
  const nextAttemptAt = new Date(clock.now() + after).toISOString()
  const tried = { triedAt: now, syncedAt: object.spec.requests.syncAt }
  pass.report({ state: 'Failing', message, ...tried, triedWith, failures, nextAttemptAt })
  return degraded('PartiallyAvailable', message, after)
}

const NO_FAILURES = { triedWith: undefined, failures: undefined, nextAttemptAt: undefined }

/** Its templates stay but are not offered. */
function disable(pass: SourcePass): Outcome {
  pass.report({ state: 'Disabled', message: undefined, ...NO_FAILURES })
  return done({ reason: 'Stopped' })
}

function templatesHere({ children }: SourcePass): readonly TemplateObject[] {
  return children
    .owned<TemplateObject>(BlueprintTemplate.resource)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

const storedOf = ({ spec: { slug, content, sourcePath } }: TemplateObject) => ({ slug, content, path: sourcePath })

/** Writes these templates and deletes others of the source. Users' own templates stay. */
async function keepTemplates(
  { children, object: { metadata } }: SourcePass,
  wanted: readonly KeptTemplate[],
): Promise<void> {
  const { apiVersion, kind, resource } = BlueprintTemplate
  const { namespace = '', name: sourceId } = metadata
  for (const { name, slug, content, path: sourcePath } of wanted) {
    const spec = { slug, content, sourcePath, sourceId }
    await children.ensure({ apiVersion, kind, metadata: { namespace, name }, spec } as KubeObject, { resource })
  }
  await children.prune(
    resource,
    wanted.map(({ name }) => name),
  )
}
