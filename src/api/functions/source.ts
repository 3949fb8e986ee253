import { randomUUID, webcrypto } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import { z } from 'zod'
import { type BlobStore, partsNeeded, readParts, withParts } from '../../adapters/blobs/port.ts'
import type { ActivatorClient } from '../../adapters/calls/port.ts'
import { MAX_SOURCE_BYTES, type SourceFile, sourceObstacle } from '../../contracts/functionSources.ts'
import { functionNames } from '../../contracts/functions.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { timestamp } from '../../core/clock.ts'
import { messageOf, notFound, PlatformError } from '../../core/errors.ts'
import { createPauser, runInSlices, type SlicedWork } from '../../core/slices.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { ShownProse } from '../../crds/fields.ts'
import { FunctionNamespace, hasServer, ServerlessFunction } from '../../crds/functions.ts'
import { isAllowedNow, resourceScope } from '../callers/visibility.ts'
import { type Answer, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf, ifMatchIncludesTag, matchesAnyVersion } from '../http/etag.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, checkedByHandler, type RouteDraft, route } from '../http/route.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { decodeContent, Encoding } from './encoding.ts'
import { type FoundFunction, findFunction, NAMESPACE_PATH } from './functions.ts'
import { listReadableSecrets } from './namespaceSecrets.ts'
import { requireFunctionCodeRights } from './record.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly functions: { readonly blobs: BlobStore; readonly calls: ActivatorClient }
  }
}

const SOURCE = `${NAMESPACE_PATH}/functions/{functionName}/source` as const

const SourceFileDto = strictRecord('SourceFile', {
  path: z.string().describe('Relative, with slashes'),
  content: z.string(),
  encoding: Encoding.nullish().describe('How content is written; Utf8 if absent'),
})
const UploadSourceRequest = strictRecord('UploadSourceRequest', {
  files: z.array(SourceFileDto).min(1).max(2000),
  message: ShownProse.max(512).nullish().describe('A text for people; it is not kept'),
})
const FunctionSourceDto = namedRecord('FunctionSourceDto', {
  hash: z.string().describe('SHA-256 of the archive'),
  sizeBytes: z.int(),
  fileCount: z.int(),
  deploymentId: Uuid,
  uploadedAt: DateTime,
  uploadedBy: z.string(),
})
const Query = z.strictObject({
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 hexadecimal digits')
    .optional()
    .describe('Only if this is the stored one'),
})

/** Bytes of a request. Base64 and JSON take more space than the files. */
const REQUEST_MAX_BYTES = 64 * 1024 * 1024
/** Bytes of all sources of a boundary, because they are stored in etcd. */
const BOUNDARY_SOURCE_MAX_BYTES = 256 * 1024 * 1024

const functionsWrite = checkedByHandler('the action `functions/write` at the namespace of functions')

export const sourceRoutes: readonly RouteDraft[] = [
  route('POST', SOURCE, {
    auth: action('functions/write'),
    further: REFERENCE_RIGHTS,
    isHeld: true,
    summary: 'Stores the files of a function and builds them',
    body: UploadSourceRequest,
    bodyLimit: REQUEST_MAX_BYTES,
    example: { files: [{ path: 'index.mjs', content: "export default () => new Response('Hello')" }] },
    reply: FunctionSourceDto,
    handler: upload,
  }),
  route('GET', SOURCE, {
    auth: functionsWrite,
    summary: 'The stored files as a zip',
    replyMediaType: 'application/zip',
    reply: z.string(),
    handler: download,
  }),
  route('DELETE', SOURCE, {
    auth: functionsWrite,
    summary: 'Deletes the stored files',
    query: Query,
    handler: removeSource,
  }),
]

async function upload(context: Context<string, unknown, z.output<typeof UploadSourceRequest>>) {
  const { services, caller, body, ifMatch } = context
  const found = await findFunction(context as Context)
  refuseWhileDeleting(found.object)
  const runtime = runtimeOf(context as Context, found)
  if (runtime !== undefined && !hasServer(runtime)) throw buildsUnsupported(runtime)
  const requireRights = (spec: FoundFunction['object']['spec']) =>
    requireFunctionCodeRights(spec, { ...found.at, services, context: context as Context })
  requireRights(found.object.spec)
  const files = await runInSlices(decodeFiles(body.files))
  const { bytes, hash } = await archiveOf(files)
  refuseOverQuota(context as Context, found, bytes.length)
  const { blobs } = services.functions
  const source = {
    hash,
    sizeBytes: bytes.length,
    fileCount: files.length,
    parts: partsNeeded(blobs, bytes.length),
    deploymentId: randomUUID(),
    uploadedAt: timestamp(services.clock.now()),
    uploadedBy: caller.principalId,
  }
  const write = (isKept: boolean) =>
    services.records.update(ServerlessFunction, found.ref, {
      caller,
      ifMatch,
      change: (stored) => {
        refuseWhileDeleting(stored)
        // Packing and storing take time, in which a secret may have been added to the function.
        requireRights(stored.spec)
        // A source that is unchanged has been built already.
        if (!isKept || stored.spec.source?.hash === hash) return stored.spec
        const target = { ...found.at, services, context: context as Context }
        return {
          ...stored.spec,
          source,
          namespaceSecrets: listReadableSecrets(stored.spec.namespaceSecrets, target),
        }
      },
    })
  // Writes nothing, but refuses a stale If-Match before anything is stored.
  await write(false)
  const { apiVersion, kind, metadata } = found.object
  const labels = ownerSelector(kind, found.ref.name)
  const owner = { apiVersion, kind, name: found.ref.name, uid: metadata.uid ?? '', labels }
  const archive = { bytes, refOf: partRef(found.ref, hash), owner }
  const writeCounted = () => withinQuota(context as Context, found, bytes.length, () => write(true))
  const { object } = await withParts(blobs, archive, writeCounted, {
    async isReferenced() {
      const stored = await services.records.get(ServerlessFunction, found.ref, { fresh: true })
      return stored?.metadata.uid === metadata.uid && stored?.spec.source?.hash === hash
    },
    onOrphaned: (failure) =>
      services.log.warn({ ...found.ref, hash, error: messageOf(failure) }, 'Parts of a refused source were left.'),
  })
  const { parts: _, ...shown } = object.spec.source ?? source
  return ok(shown, { etag: etagOf(object) })
}

const partRef =
  ({ namespace, name }: FoundFunction['ref'], hash: string) =>
  (part: number) => ({
    namespace,
    name: functionNames(name).source(hash, part),
  })

function buildsUnsupported(runtime: string): PlatformError {
  const extras = { feature: 'builds', field: 'runtime', value: runtime }
  return new PlatformError('FEATURE_UNSUPPORTED', `Sources of runtime ${runtime} cannot be built yet.`, extras)
}

function runtimeOf({ services }: Context, { ref, at }: FoundFunction) {
  return services.records.peek(FunctionNamespace, { namespace: ref.namespace, name: at.namespaceName })?.spec.runtime
}

/** @throws PlatformError PATH_NOT_ALLOWED, BODY_TOO_LARGE, MODEL_BINDING_FAILED */
function* decodeFiles(given: z.output<typeof SourceFileDto>[]): SlicedWork<SourceFile[]> {
  const obstacle = sourceObstacle(given.map(({ path }) => path))
  if (obstacle !== undefined) {
    const field = `files.${obstacle.at}.path`
    throw new PlatformError('PATH_NOT_ALLOWED', `${obstacle.message}.`, { field })
  }
  const files: SourceFile[] = []
  for (const [at, { path, content, encoding }] of given.entries()) {
    files.push({ path, content: decodeContent(content, encoding, `files.${at}.content`) })
    yield
  }
  const sum = files.reduce((bytes, { content }) => bytes + content.length, 0)
  if (sum > MAX_SOURCE_BYTES) {
    const message = `The files have ${sum} bytes together; at most ${MAX_SOURCE_BYTES} are accepted.`
    throw new PlatformError('BODY_TOO_LARGE', message, { limitBytes: MAX_SOURCE_BYTES })
  }
  return files
}

/** Serializes uploads into one boundary, so that each is counted. @throws PlatformError QUOTA_EXCEEDED */
function withinQuota<Result>(context: Context, found: FoundFunction, bytes: number, write: () => Promise<Result>) {
  const { boundaryId } = found.at
  const lock = { key: `function sources of ${boundaryId}`, sees: [{ kind: ServerlessFunction, boundaryId }] }
  return withChangeLock(context.services, lock, () => {
    refuseOverQuota(context, found, bytes)
    return write()
  })
}

/** @throws PlatformError QUOTA_EXCEEDED */
function refuseOverQuota({ services }: Context, { object, at }: FoundFunction, bytes: number): void {
  const others = services.records
    .peekAll(ServerlessFunction, { boundaryId: at.boundaryId })
    .filter(({ metadata }) => metadata.uid !== object.metadata.uid)
  const used = others.reduce((sum, { spec }) => sum + (spec.source?.sizeBytes ?? 0), 0)
  if (used + bytes <= BOUNDARY_SOURCE_MAX_BYTES) return
  const message = `The sources of the boundary use ${used} of ${BOUNDARY_SOURCE_MAX_BYTES} bytes; this one has ${bytes}.`
  const extras = { quota: 'functionSources', limit: BOUNDARY_SOURCE_MAX_BYTES, used, requested: bytes }
  throw new PlatformError('QUOTA_EXCEEDED', message, extras)
}

/**
 * Finds the function if the caller may write it; others learn nothing about it.
 * @throws PlatformError NOT_FOUND
 */
async function findWritableFunction(context: Context): Promise<FoundFunction> {
  const { boundaryId = '', namespaceName = '' } = context.parameters
  const group = context.parameters.resourceGroupName ?? context.parameters.resourceGroup ?? ''
  const scope = resourceScope(boundaryId, group, 'functionnamespaces', namespaceName)
  const { principalId } = context.caller
  if (await isAllowedNow(context.services, principalId, 'functions/write', scope)) return findFunction(context)
  throw notFound(`Function "${context.parameters.functionName}"`)
}

async function download(context: Context): Promise<Answer<never>> {
  const { object, ref } = await findWritableFunction(context)
  const { source } = object.spec
  const { blobs } = context.services.functions
  const parts = source && (await readParts(blobs, partRef(ref, source.hash), source.parts))
  if (source === undefined || parts === undefined)
    throw notFound(`A stored source of function "${object.spec.functionName}"`)
  const headers = {
    'content-type': 'application/zip',
    'content-length': String(source.sizeBytes),
    'content-disposition': `attachment; filename="${object.spec.functionName}.zip"`,
    etag: tagOfFiles(source),
  }
  return { status: 200, headers, stream: Readable.from(parts), held: source.sizeBytes }
}

/** An ETag of the stored files: equal files have equal tags. */
const tagOfFiles = ({ hash }: { hash: string }) => `"${hash}"`

async function removeSource(context: Context<string, z.output<typeof Query>>): Promise<Answer<never>> {
  const { ref } = await findWritableFunction(context as Context)
  const { services, caller, query, ifMatch } = context
  // If-Match may name the version of the files or that of the function.
  const isNamed = (stored: FoundFunction['object'], source: { hash: string }) =>
    (query.hash ?? source.hash) === source.hash &&
    (ifMatch === undefined ||
      matchesAnyVersion(ifMatch, stored) ||
      ifMatchIncludesTag(context.header('if-match'), tagOfFiles(source)))
  await services.records.update(ServerlessFunction, ref, {
    caller,
    change: (stored) => {
      const { source, ...rest } = stored.spec
      if (source !== undefined && !isNamed(stored, source))
        throw new PlatformError('CONFLICT', 'Another source was uploaded meanwhile.', { currentVersion: source.hash })
      return rest
    },
  })
  return noContent()
}

/** A fixed modification time, so that the same files give the same archive and hash. */
const FIXED_MTIME = new Date('2000-01-01T00:00:00Z')

/** Returns the files as a zip, ordered by path. Compression runs on other threads, CRC on this one. */
async function archiveOf(files: readonly SourceFile[]): Promise<{ bytes: Buffer; hash: string }> {
  const zip = new ZipFile()
  const pause = createPauser()
  for (const { path, content } of files.toSorted((one, other) => compareTexts(one.path, other.path))) {
    await pause()
    zip.addBuffer(content, path, { mtime: FIXED_MTIME, mode: 0o100644, forceDosTimestamp: true })
  }
  zip.end()
  const bytes = await buffer(zip.outputStream)
  const sum = await webcrypto.subtle.digest('SHA-256', bytes)
  return { bytes, hash: Buffer.from(sum).toString('hex') }
}
