import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { FilesLocation, VolumeFiles } from '../../adapters/volumefiles/port.ts'
import { quotedPath } from '../../contracts/builds/messageText.ts'
import { COMPONENT_LABEL } from '../../contracts/containerinstances.ts'
import { namesObstacle } from '../../contracts/fileNames.ts'
import {
  type FileAnswer,
  type FileEntry,
  type FileRequest,
  mayConcernVolumes,
  pathSegments,
} from '../../contracts/files.ts'
import type { ReferencedRight } from '../../contracts/references.ts'
import { PlatformError } from '../../core/errors.ts'
import type { AnyKind } from '../../crds/define.ts'
import { type Answer, created, noContent, ok } from '../http/answer.ts'
import { ANY_TYPE } from '../http/body.ts'
import type { Context } from '../http/context.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { Flag } from '../http/query.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime } from './dto.ts'
import { attachment, byteRange, downloadHeaders } from './fileHeaders.ts'
import { refusedFile } from './fileRefusals.ts'
import { isPodFinished, requireFileCodeRights, rightsOfCode } from './fileRights.ts'
import { workloadRefOf } from './find.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly volumeFiles: VolumeFiles
  }
}

/** The most bytes of one upload. */
const UPLOAD_MAX_BYTES = 512 * 1024 ** 2

/** The longest path that Linux takes. */
const PATH_MAX = 4096

const Path = z.string().min(1).max(PATH_MAX).describe('In the container, from its root')
const Component = z.string().min(1).max(63).optional().describe('The only one with a persistent volume if absent')
const PathQuery = z.strictObject({ component: Component, path: Path.default('/').describe(Path.description ?? '') })

const FileEntryDto = namedRecord('FileEntryDto', {
  name: z.string(),
  path: z.string(),
  type: z.enum(['File', 'Directory', 'Link']),
  sizeBytes: z.int(),
  modifiedAt: DateTime,
  mode: z.string().describe('Permissions in octal'),
  linkTarget: z.string().nullable(),
})
const FileListDto = namedRecord('FileListDto', {
  component: z.string(),
  path: z.string(),
  entries: z.array(FileEntryDto),
  truncated: z.boolean().describe('Whether the folder holds more'),
})
const MakeDirectoryRequest = strictRecord('MakeDirectoryRequest', {
  component: Component.nullable(),
  path: Path,
  parents: z.boolean().default(true).describe('Folders above it are made too'),
})
const MoveRequest = strictRecord('MoveRequest', {
  component: Component.nullable(),
  from: Path,
  to: Path,
  overwrite: z.boolean().default(false),
})

/** The files of one component of a resource. `hasVolumes` is false until its first volume exists. */
export type FoundFiles = FilesLocation & {
  component: string
  hasVolumes: boolean
  /** What a caller must also hold to bring code into the volumes. */
  rights: () => Promise<readonly ReferencedRight[]>
}

export type FileRoutes = {
  read: Authorization
  write: Authorization
  /** Finds the component, often by `componentWithFiles`, and its volumes. Throws 404 if the resource is missing. */
  find: (context: Context, component: string | undefined) => Promise<FoundFiles>
}

/**
 * The seven routes of files of a resource, `<base>/files...`: list, download, archive, upload, new folder, move, remove.
 * They see the persistent volumes of a component and nothing else.
 */
export function fileRoutes(base: string, { read, write, find }: FileRoutes): RouteDraft[] {
  const findToWrite: FileRoutes['find'] = async (context, component) => {
    const found = await find(context, component)
    await requireFileCodeRights(await found.rights(), context)
    return found
  }
  return [
    ...readingRoutes(`${base}/files`, read, (context, component) => fileClientOf(context, find, component)),
    ...writingRoutes(`${base}/files`, write, (context, component) => fileClientOf(context, findToWrite, component)),
  ]
}

type FileClientOf = (context: Context, component: string | null | undefined) => Promise<FileClient>

function readingRoutes(files: string, auth: Authorization, clientOf: FileClientOf): RouteDraft[] {
  return [
    route('GET', files, {
      auth,
      summary: 'What is in a folder',
      query: PathQuery,
      reply: FileListDto,
      handler: async (context) => {
        const { component, path } = context.query
        const { name, ask } = await clientOf(context, component)
        const { entries, truncated } = requireAnswer(await ask({ op: 'list', path }), 'entries')
        return ok({ component: name, path, entries, truncated })
      },
    }),
    route('GET', `${files}/download`, {
      auth,
      summary: 'A file, or the part of it that Range names',
      query: PathQuery,
      replyMediaType: 'application/octet-stream',
      answers: [200, 206],
      handler: async (context) =>
        download(context, await clientOf(context, context.query.component), context.query.path),
    }),
    route('GET', `${files}/archive`, {
      auth,
      summary: 'A folder and all below it, as a gzipped tar',
      query: PathQuery,
      replyMediaType: 'application/gzip',
      handler: async (context) => archive(await clientOf(context, context.query.component), context.query.path),
    }),
  ]
}

function writingRoutes(files: string, auth: Authorization, clientOf: FileClientOf): RouteDraft[] {
  const may = { auth, further: REFERENCE_RIGHTS }
  return [
    route('POST', `${files}/upload`, {
      ...may,
      summary: 'Writes a file: whole, or not at all',
      query: z.strictObject({
        component: Component,
        path: Path.default('/').describe('The folder'),
        name: z.string().min(1).describe('Of the file'),
        overwrite: Flag.default(true).describe('False refuses if the file is there'),
      }),
      bodyKind: 'raw',
      bodyLimit: UPLOAD_MAX_BYTES,
      // The sender of a file chooses its type.
      mediaTypes: ['application/octet-stream', ANY_TYPE],
      reply: FileEntryDto,
      handler: async (context) => {
        const { component, ...target } = context.query
        const { ask } = await clientOf(context, component)
        return entryAnswer(requireAnswer(await ask({ op: 'upload', ...target }, context.rawBody.pieces()), 'entry'))
      },
    }),
    route('POST', `${files}/directory`, {
      ...may,
      summary: 'Makes a folder',
      body: MakeDirectoryRequest,
      reply: FileEntryDto,
      handler: async (context) => {
        const { component, ...made } = context.body
        const { ask } = await clientOf(context, component)
        return entryAnswer(requireAnswer(await ask({ op: 'makeDirectory', ...made }), 'entry'))
      },
    }),
    route('POST', `${files}/move`, {
      ...may,
      summary: 'Moves or renames a file or folder',
      body: MoveRequest,
      reply: FileEntryDto,
      handler: async (context) => {
        const { component, ...moved } = context.body
        const { ask } = await clientOf(context, component)
        return ok(requireAnswer(await ask({ op: 'move', ...moved }), 'entry').entry)
      },
    }),
    route('DELETE', files, {
      ...may,
      summary: 'Removes a file or folder',
      query: z.strictObject({
        component: Component,
        path: Path,
        recursive: Flag.default(false).describe('Whether a folder goes with all that is in it'),
      }),
      handler: async (context) => {
        const { component, ...removed } = context.query
        const { ask } = await clientOf(context, component)
        requireAnswer(await ask({ op: 'remove', ...removed }), 'removed')
        return noContent()
      },
    }),
  ]
}

/**
 * Returns the component that a request means.
 *
 * @param components those with a persistent volume
 * @throws PlatformError BAD_REQUEST if it names an unknown component, or none although there are several
 */
export function componentWithFiles<Component extends { name: string }>(
  components: readonly Component[],
  wantedName: string | undefined,
): Component {
  const chosen = components.find(({ name }) => name === wantedName)
  if (chosen !== undefined) return chosen
  const [only] = components
  if (wantedName === undefined && only !== undefined && components.length === 1) return only
  const names = components.map(({ name }) => name).join(', ')
  if (names === '') throw noSuchComponent('Nothing here has a persistent volume.', 'nothing has a persistent volume')
  const message =
    wantedName === undefined
      ? `Several components have files: name one.`
      : `Component "${wantedName}" has no persistent volume.`
  throw noSuchComponent(message, `must be one of ${names}`)
}

/** The user of containers that name no other. */
const DEFAULT_USER = 65_532

/** Returns the files of a component on these volumes, on the node of its pod if one runs. */
export async function filesOf(
  { services }: Context,
  object: RecordOf<AnyKind>,
  component: string,
  {
    volumes,
    user = DEFAULT_USER,
    hasVolumes,
  }: Pick<FoundFiles, 'volumes' | 'hasVolumes'> & { user?: number | undefined },
): Promise<FoundFiles> {
  const { apiVersion, kind, metadata } = object
  const { name, namespace = '', uid = '' } = metadata
  const workload = workloadRefOf(services, object)
  const pods = await services.live.pods(workload)
  const own = pods.filter(({ metadata: { labels } }) => labels?.[COMPONENT_LABEL] === component)
  return {
    ...{ component, namespace, clusterId: workload.clusterId, volumes, hasVolumes },
    rights: () => rightsOfCode(services, object, pods),
    isStopped: (object.spec as { running?: boolean }).running === false,
    owner: { apiVersion, kind, name, uid },
    identity: { user, fsGroup: user },
    node: nodeOf(own),
  }
}

type Placed = { metadata: { deletionTimestamp?: string | undefined }; spec?: unknown; status?: unknown }

/** Returns the node that has the volumes mounted: that of a pod that stays, otherwise of one that is terminating. */
function nodeOf(pods: readonly Placed[]): string | undefined {
  const placed = pods.flatMap(({ metadata, spec, status }) => {
    const { nodeName } = (spec ?? {}) as { nodeName?: string }
    return nodeName === undefined || isPodFinished({ status })
      ? []
      : [{ nodeName, isEnding: metadata.deletionTimestamp !== undefined }]
  })
  return (placed.find(({ isEnding }) => !isEnding) ?? placed[0])?.nodeName
}

/** Names parameter and field, because some routes take the component in the query, others in the body. */
function noSuchComponent(sentence: string, message: string): PlatformError {
  return new PlatformError('BAD_REQUEST', sentence, {
    parameter: 'component',
    errors: [{ field: 'component', message }],
  })
}

type Answered = { answer: FileAnswer; bytes: Readable; path: string }
type FileClient = {
  name: string
  ask(request: FileRequest, body?: AsyncIterable<Uint8Array>): Promise<Answered>
}

async function fileClientOf(
  context: Context,
  find: FileRoutes['find'],
  component: string | null | undefined,
): Promise<FileClient> {
  const { component: name, hasVolumes, ...location } = await find(context, component ?? undefined)
  const mounts = location.volumes.map(({ path }) => path)
  return {
    name,
    async ask(request, body) {
      const path = 'from' in request ? request.from : request.path
      if (!mayConcernVolumes(request, mounts)) throw refusedFile({ refused: 'NotAllowed' }, path)
      const why = namesObstacle(newNamesIn(request))
      if (why !== undefined)
        throw new PlatformError('PATH_NOT_ALLOWED', `The path ${quotedPath(targetOf(request))} ${why}.`)
      if (!hasVolumes) throw new PlatformError('INSTANCE_STOPPED', `"${location.owner.name}" has no volume yet.`)
      const signal = context.whilePermitted
      const answer = await context.services.volumeFiles.ask(location, request, { body, signal })
      return { ...answer, path }
    },
  }
}

/** Returns the names that a request creates. Existing files of any name can be read, renamed and removed. */
function newNamesIn(request: FileRequest): readonly string[] {
  if (request.op === 'upload') return [request.name]
  if (request.op === 'move') return (pathSegments(request.to) ?? []).slice(-1)
  if (request.op !== 'makeDirectory') return []
  const segments = pathSegments(request.path) ?? []
  return request.parents ? segments : segments.slice(-1)
}

function targetOf(request: FileRequest): string {
  if (request.op === 'upload') return `${request.path}/${request.name}`
  return request.op === 'move' ? request.to : request.path
}

/** Returns the answer if it is of the expected kind. @throws PlatformError for a refusal */
function requireAnswer<Key extends 'entries' | 'entry' | 'removed' | 'file' | 'archive'>(answered: Answered, key: Key) {
  const { answer, bytes, path } = answered
  if (key in answer) return answer as Extract<FileAnswer, Record<Key, unknown>>
  bytes.destroy()
  if ('refused' in answer) throw refusedFile(answer, path)
  throw new TypeError(`The answer about files has no ${key}.`)
}

function entryAnswer({ entry, isNew }: { entry: FileEntry; isNew: boolean }): Answer<FileEntry> {
  return isNew ? created(entry) : ok(entry)
}

async function download(context: Context, { ask }: FileClient, path: string): Promise<Answer<never>> {
  const range = byteRange(context.header('range'), context.header('if-range'))
  const answered = await ask({ op: 'download', path, range })
  const { file, first, last } = requireAnswer(answered, 'file')
  const headers = downloadHeaders(file, range === undefined ? undefined : { first, last }, last - first + 1)
  return { status: range === undefined ? 200 : 206, headers, stream: answered.bytes }
}

async function archive({ name, ask }: FileClient, path: string): Promise<Answer<never>> {
  const answered = await ask({ op: 'archive', path })
  const { archive: base } = requireAnswer(answered, 'archive')
  const headers = { 'content-type': 'application/gzip', ...attachment(`${base === '' ? name : base}.tar.gz`) }
  return { status: 200, headers, stream: answered.bytes }
}
