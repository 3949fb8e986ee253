import type { BlobStore } from '../../adapters/blobs/port.ts'
import { isJobFinished, JOB_CONTAINER, type JobState, jobNames } from '../../contracts/jobs.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { action, dataAction, type RouteDraft, route, withKind } from '../http/route.ts'
import { changeResource } from '../resources/change.ts'
import { createViewBuilder, findResource, locateResource, otherClusterOf } from '../resources/find.ts'
import { type FoundLog, type LogRequest, logRoute } from '../resources/logs.ts'
import { badParameter } from '../resources/queryFaults.ts'
import { resource } from '../resources/resource.ts'
import { jobFields, jobRecord } from './record.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly jobs: { readonly blobs: BlobStore }
  }
}

const BASE = '{RG}/jobs/{jobName}'

/** The five routes of jobs (interface section 4.10). */
export const jobRoutes: readonly RouteDraft[] = [
  ...resource(PlatformJob, {
    further: REFERENCE_RIGHTS,
    parameter: 'jobName',
    ...jobRecord,
    // Garbage collection deletes its dependents; for jobs on another cluster, the controller adds a finalizer.
    hasFinalizer: false,
    example: { image: 'docker.io/library/hello-world', tag: 'linux', computePlan: 'job-small' },
    fields: jobFields,
    defaultSort: '-createdAt',
  }),
  logRoute(BASE, dataAction('jobs/readLogs'), findLog),
  // Stops the job and keeps its output. Repeating it changes nothing.
  ...withKind(PlatformJob, [
    route('POST', `${BASE}/cancel`, {
      auth: action('jobs/write'),
      isHeld: true,
      summary: 'Cancels a job that has not ended',
      reply: jobRecord.dto,
      answers: [200, 202],
      handler: async (context) => {
        const { ref, location } = await locateResource(context, 'jobName')
        const { object, isChanged } = await changeResource(
          PlatformJob,
          { ref, location },
          context,
          ({ spec, status }) => {
            if (!spec.cancelled && isJobFinished(status?.state)) throw alreadyEnded(location.name, status?.state)
            return { ...spec, cancelled: true }
          },
        )
        const view = createViewBuilder<typeof PlatformJob>(context.services, location.boundaryId)(
          object,
          location.resourceGroup,
        )
        return (isChanged ? accepted : ok)(jobRecord.toDto(view) as never, { etag: etagOf(object) })
      },
    }),
  ]),
]

function alreadyEnded(name: string, state: JobState | undefined) {
  const message = `Job "${name}" has ended as ${state}: there is nothing to cancel.`
  return new PlatformError('INVALID_STATE', message, { status: state, phase: state })
}

/** Returns the log of the newest pod, or the stored log if the pod is gone. */
async function findLog(context: Context, { process = JOB_CONTAINER, previous }: LogRequest): Promise<FoundLog> {
  const { blobs } = context.services.jobs
  const { object } = await findResource(PlatformJob, context, 'jobName')
  const { namespace = '', name } = object.metadata
  if (process !== JOB_CONTAINER)
    throw badParameter('process', `There is no process "${process}"; a job has one, "${JOB_CONTAINER}".`)
  if (previous) throw notFound(`An earlier run of the container of job "${name}"`)
  const { pod, logParts = 0, state } = object.status ?? {}
  const clusterId = otherClusterOf(context.services, object.spec.clusterId)
  const sources = pod === undefined ? [] : [{ namespace, pod, container: JOB_CONTAINER, name: process, clusterId }]
  const hasEnded = isJobFinished(state)
  return { sources, hasEnded, kept: { name: process, open: () => storedLog(blobs, namespace, name, logParts) } }
}

async function* storedLog(blobs: BlobStore, namespace: string, name: string, parts: number): AsyncIterable<Uint8Array> {
  for (let part = 0; part < parts; part += 1) {
    const blob = await blobs.read({ namespace, name: jobNames(name).log(part) })
    if (blob !== undefined) yield blob.bytes
  }
}
