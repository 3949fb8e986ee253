import { Readable } from 'node:stream'
import { ReaderGone } from '../../../adapters/builds/reading/port.ts'
import { isRegistryError } from '../../../adapters/registry/port.ts'
import { ArchiveRefusedError } from '../../../contracts/builds/archive.ts'
import { type DeployedCollection, isFinalPhase, newestDeployment } from '../../../contracts/deployments.ts'
import { formatRepository } from '../../../contracts/registry/names.ts'
import { badRequest, notFound, PlatformError } from '../../../core/errors.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { deploymentPhaseOf } from '../../../crds/deployments.ts'
import type { Context, Services } from '../../http/context.ts'
import { REFERENCE_RIGHTS } from '../../http/furtherRights.ts'
import { type Authorization, type RouteDraft, route } from '../../http/route.ts'
import { findResource, type ResourceLocation } from '../find.ts'
import { refuseWhileDeleting } from '../writes.ts'
import { type DeployedObject, DeploymentLogEntryDto, deploymentsOf, type StoredDeployment } from './record.ts'
import { answerWith, startBuild } from './start.ts'

/** The most bytes of one upload, as it is sent. */
const UPLOAD_MAX_BYTES = 512 * 1024 ** 2

export type SourceRoute = {
  parameter: string
  auth: Authorization
  /** Refuses a resource that is not deployed by uploads, or whose code would see what the caller may not. */
  refuse: (object: DeployedObject, context: Context, location: ResourceLocation) => void
}

/** `PUT <base>/source`: stores a source, builds and serves it. Repeating the newest one returns the same deployment. */
export function sourceRoute(kind: AnyKind, base: string, given: SourceRoute): RouteDraft {
  const { parameter, auth, refuse } = given
  const collection = kind.segment as DeployedCollection
  return route('PUT', `${base}/source` as string, {
    auth,
    further: REFERENCE_RIGHTS,
    summary: 'Takes a source as a gzipped tar, builds it and serves it',
    bodyKind: 'raw',
    bodyLimit: UPLOAD_MAX_BYTES,
    mediaTypes: ['application/gzip'],
    reply: DeploymentLogEntryDto,
    answers: [200, 202],
    handler: async (context) => {
      const { object: found, location, ref } = await findResource(kind, context as Context, parameter)
      const check = (each: typeof found) => {
        refuseWhileDeleting(each)
        refuse(each as DeployedObject, context as Context, location)
      }
      check(found)
      const { reference } = await store(context as Context, { ...location, collection })
      // The upload took a while: the resource may now refer to what the caller may not read, or be another one.
      const object = await context.services.records.get(kind, ref, { fresh: true })
      if (object === undefined || object.metadata.uid !== found.metadata.uid)
        throw notFound(`"${location.name}" of ${collection} in group "${location.resourceGroup}"`)
      check(object)
      const history = deploymentsOf(context as Context, { ...ref, collection })
      const deployed = { object: object as DeployedObject, location, ref, collection, history }
      const newest = newestDeployment(history)
      if (newest?.spec.archive === reference && !hasFailed(newest)) return answerWith(deployed, newest)
      const spec = { archive: reference, provider: 'Upload', source: 'upload' }
      return startBuild(context, deployed, { cause: ['upload', reference], spec })
    },
  })
}

function hasFailed(record: StoredDeployment): boolean {
  const phase = deploymentPhaseOf(record)
  return isFinalPhase(phase) && phase !== 'Succeeded'
}

/** @throws PlatformError BAD_REQUEST, BODY_TOO_LARGE, UPSTREAM_FAILED, ENGINE_MISSING, SERVICE_UNAVAILABLE */
async function store({ services, rawBody, caller }: Context, { boundaryId, resourceGroup, collection, name }: Target) {
  const archives = archivesOf(services)
  const repository = formatRepository({ boundaryId, resourceGroup, collection, name })
  try {
    return await archives.keep(repository, Readable.from(rawBody.pieces()), { sender: caller.principalId })
  } catch (error) {
    if (error instanceof ArchiveRefusedError) throw badRequest(`The source is refused: ${error.message}`, [])
    if (error instanceof ReaderGone) {
      const message = 'The reader of uploaded sources stopped: send this one again.'
      throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 }, { cause: error })
    }
    if (!isRegistryError(error)) throw error
    throw new PlatformError('UPSTREAM_FAILED', 'The registry did not keep the source.', {}, { cause: error })
  }
}

type Target = ResourceLocation & { collection: DeployedCollection }

function archivesOf({ deployments: { archives } }: Services) {
  if (archives !== undefined) return archives
  const message = 'This platform has no registry to keep a source in: an administrator must set registryUrl.'
  throw new PlatformError('ENGINE_MISSING', message, { engine: 'registry' })
}
