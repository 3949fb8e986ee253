import { type GitFiles, GitFilesError, type GitPlace } from '../../adapters/gitfiles/port.ts'
import { connectionTo, SourceError, type SourcePort } from '../../adapters/sources/port.ts'
import { isBehind, isSamePlace, SOURCES_MAX } from '../../contracts/blueprints/sources.ts'
import { readTemplate } from '../../contracts/blueprints/validate.ts'
import { sourceSecretName } from '../../contracts/sources/providers.ts'
import { ageOf, type KubeObject, keyOf, refOf } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { secretTexts } from '../../core/secretData.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import {
  type KeptTemplate,
  readAtOf,
  SYNC_INTERVAL,
  SYNC_RETRY,
  syncDueIn,
  templatesOf,
} from '../../desired/blueprintSources.ts'
import { absent, alreadyThere } from '../../kube/errors.ts'
import { controllerWith, type Pass, steps, type Workspace } from '../engine/controller.ts'
import { readSecret, withSecretRights } from '../workload/secrets.ts'

export type CatalogueOptions = { files: GitFiles; sources: Pick<SourcePort, 'repositories' | 'token'> }

type SourcePass = Pass<typeof BlueprintSource>
type SourceObject = BlueprintSource & KubeObject
type TemplateObject = BlueprintTemplate & KubeObject
type Connected = DeploymentSource & KubeObject
/** A place, and the name of the repository there. */
type Found = { readonly place: GitPlace; readonly fullName?: string | undefined }

/** Reads the repository of each source: when it is made or asked to, when it is pushed to, and every hour. */
export const catalogueController = controllerWith(
  BlueprintSource,
  {
    observes: [
      { resource: BlueprintTemplate.resource, keysOf: sourceOfTemplate },
      { resource: DeploymentSource.resource, keysOf: sourcesBehind },
    ],
    writes: [{ resource: BlueprintTemplate.resource, verbs: ['create', 'patch', 'delete'] }],
  },
  (options: CatalogueOptions) => ({
    reconcile: steps(function sync(pass: SourcePass): Outcome | Promise<Outcome> {
      return withSecretRights(() => syncSource(pass, options))
    }),
  }),
)

function sourceOfTemplate({ spec, metadata }: KubeObject, records: Workspace): string[] {
  const { sourceId } = spec as BlueprintTemplate['spec']
  if (sourceId === undefined) return []
  const key = { namespace: metadata.namespace, name: sourceId }
  const source = records.cache<SourceObject>(BlueprintSource.resource).get(key.namespace, key.name)
  return source === undefined ? [] : [keyOf(source)]
}

/** The sources that are read with the credentials of a deployment source. */
function sourcesBehind(changed: KubeObject, records: Workspace): string[] {
  const { namespace } = changed.metadata
  return records
    .cache<SourceObject>(BlueprintSource.resource)
    .list({ namespace })
    .filter(({ spec }) => isBehind(changed as Connected, spec))
    .map(keyOf)
}

function connectedTo({ object, records }: SourcePass): Connected | undefined {
  const { namespace } = object.metadata
  return records
    .cache<Connected>(DeploymentSource.resource)
    .list({ namespace })
    .find((source) => isBehind(source, object.spec) && source.metadata.deletionTimestamp === undefined)
}

async function syncSource(pass: SourcePass, options: CatalogueOptions): Promise<Outcome> {
  const { spec, status } = pass.object
  if (!spec.enabled) return disable(pass)
  const surplus = surplusOf(pass)
  if (surplus !== undefined) return refuse(pass, surplus)
  const connected = connectedTo(pass)
  const push = connected === undefined ? undefined : pushOf(connected, spec)
  const isWhole = status?.templateCount === templatesHere(pass).length
  const due = syncDueIn(pass.object, pass.clock.now(), { push, isWhole })
  if (due > 0) return standing(pass, due)
  if (status?.state !== 'Syncing') {
    pass.report({ state: 'Syncing' })
    return waiting('Starting', 'The repository is read.', 1)
  }
  try {
    pass.report({ heardDelivery: push?.deliveryId })
    return await readNow(pass, options, connected, isWhole)
  } catch (error) {
    if (error instanceof GitFilesError || error instanceof SourceError) return failed(pass, error)
    throw error
  }
}

/** What was last told of its branch. A source of plain Git is one repository, whatever its deliveries call it. */
function pushOf(connected: Connected, { repositoryId, ref: name }: BlueprintSource['spec']) {
  const refs = [name, `refs/heads/${name}`, `refs/tags/${name}`]
  const isOne = connected.spec.provider === 'Git'
  return connected.status?.heads?.find(
    (head) => head.kind !== 'PullRequest' && (isOne || head.repositoryId === repositoryId) && refs.includes(head.ref),
  )
}

/** Why this source is not read at all, for what REST refuses at once. */
function surplusOf({ object, records }: SourcePass): string | undefined {
  const older = records
    .cache<SourceObject>(BlueprintSource.resource)
    .list({ namespace: object.metadata.namespace })
    .filter((other) => ageOf(other) < ageOf(object as unknown as KubeObject))
  const same = older.find(({ spec }) => isSamePlace(spec, object.spec))
  if (same !== undefined) return `Source "${same.metadata.name}" reads this repository, branch and folder already.`
  return older.length < SOURCES_MAX ? undefined : `A boundary has at most ${SOURCES_MAX} sources of blueprints.`
}

/** The deletion of the older one wakes nobody, so it is looked for again. */
function refuse(pass: SourcePass, message: string): Outcome {
  pass.report({ state: 'Failing', message })
  return stalled('NameOccupied', message, SYNC_RETRY)
}

/** What stands since the last look. */
function standing({ object: { status } }: SourcePass, due: number): Outcome {
  if (status?.state !== 'Failing') return done({ after: due })
  return degraded('PartiallyAvailable', status.message ?? 'The repository could not be read.', due)
}

async function readNow(
  pass: SourcePass,
  { files, sources }: CatalogueOptions,
  connected: Connected | undefined,
  isWhole: boolean,
): Promise<Outcome> {
  const { object, now } = pass
  const { spec, status, metadata } = object
  if (spec.installationId !== undefined && connected === undefined)
    return failed(
      pass,
      new GitFilesError('NotFound', `The boundary has no deployment source "${spec.installationId}".`),
    )
  const { place, fullName } = await placeOf(pass, sources, connected)
  const isKnown = isWhole && status?.readAt === readAtOf(object)
  const found = await files.read(place, isKnown ? status?.revision : undefined)
  const common = { triedAt: now, lastSyncAt: now, syncedAt: spec.requests.syncAt, repositoryFullName: fullName }
  const ready = {
    ...common,
    state: 'Ready' as const,
    message: undefined,
    revision: found.revision,
    readAt: readAtOf(object),
  }
  if (found.files === undefined) {
    pass.report(ready)
    return done({ after: SYNC_INTERVAL })
  }
  const read = (content: string) => readTemplate(content, BLUEPRINT_COLLECTIONS)
  const { templates, invalid, invalidCount } = templatesOf(metadata.name, found.files, read)
  await keep(pass, templates)
  pass.report({ ...ready, templateCount: templates.length, invalidCount, invalidTemplates: invalid })
  return done({ after: SYNC_INTERVAL })
}

/** @throws SourceError, GitFilesError */
async function placeOf(
  pass: SourcePass,
  sources: CatalogueOptions['sources'],
  connected: Connected | undefined,
): Promise<Found> {
  const { repositoryUrl = '', repositoryId = '', ref, path } = pass.object.spec
  if (connected === undefined) {
    const fullName = URL.parse(repositoryUrl)?.pathname.replace(/^\/+|(\.git)?\/*$/g, '')
    return { place: { url: repositoryUrl, ref, path }, fullName }
  }
  const { metadata, spec } = connected
  const name = spec.credentials?.secretName ?? sourceSecretName(metadata.name)
  const stored = await readSecret({ workloads: pass.records }, metadata.namespace ?? '', name)
  const connection = connectionTo(connected, secretTexts(stored?.data))
  const { token, username, cloneUrl } = await sources.token(connection, repositoryId)
  const authorization = `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
  const fullName = URL.parse(cloneUrl)?.pathname.replace(/^\/+|(\.git)?\/*$/g, '')
  return { place: { url: cloneUrl, ref, path, authorization }, fullName }
}

function failed(pass: SourcePass, { message }: Error): Outcome {
  pass.report({ state: 'Failing', message, triedAt: pass.now, syncedAt: pass.object.spec.requests.syncAt })
  return degraded('PartiallyAvailable', message, SYNC_RETRY)
}

/** Its templates stay, and are not offered. */
function disable(pass: SourcePass): Outcome {
  pass.report({ state: 'Disabled', message: undefined })
  return done({ reason: 'Stopped' })
}

function templatesHere({ object: { metadata }, records }: SourcePass): readonly TemplateObject[] {
  const { namespace, name } = metadata
  return records
    .cache<TemplateObject>(BlueprintTemplate.resource)
    .list({ namespace })
    .filter(({ spec, metadata: { deletionTimestamp } }) => spec.sourceId === name && deletionTimestamp === undefined)
}

/** Makes these templates and no others; those of people are left alone. */
async function keep(pass: SourcePass, wanted: readonly KeptTemplate[]): Promise<void> {
  const { client } = pass.records
  const { resource } = BlueprintTemplate
  const stored = new Map(templatesHere(pass).map((template) => [template.metadata.name, template]))
  for (const { name, slug, content } of wanted) {
    const before = stored.get(name)
    stored.delete(name)
    if (before === undefined)
      await client.create(resource, templateObject(pass, { name, slug, content })).catch(alreadyThere)
    else if (before.spec.content !== content) {
      const { uid, resourceVersion } = before.metadata
      await client.mergePatch(resource, refOf(before), { spec: { content } }, { uid, resourceVersion })
    }
  }
  for (const gone of stored.values())
    await client.remove(resource, refOf(gone), { uid: gone.metadata.uid }).catch(absent)
}

/** Kubernetes removes it with its source. */
function templateObject({ object: { metadata } }: SourcePass, { name, slug, content }: KeptTemplate): KubeObject {
  const { apiVersion, kind } = BlueprintSource
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }
  return {
    apiVersion: BlueprintTemplate.apiVersion,
    kind: BlueprintTemplate.kind,
    metadata: { namespace: metadata.namespace ?? '', name, ownerReferences: [owner] },
    spec: { slug, content, sourceId: metadata.name },
  } as KubeObject
}
