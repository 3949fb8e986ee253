import type { BlobStore } from '../../adapters/blobs/port.ts'
import { isFinished, JOB_CONTAINER, jobNames } from '../../contracts/jobs.ts'
import { badRequest, notFound } from '../../core/errors.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import type { Context } from '../http/context.ts'
import { dataAction, type RouteDraft } from '../http/route.ts'
import { type FoundLog, type LogRequest, logRoute } from '../resources/logs.ts'
import { findResource, otherClusterOf } from '../resources/places.ts'
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
    segment: 'jobs',
    actionPrefix: 'jobs',
    parameter: 'jobName',
    ...jobRecord,
    // The garbage collector takes what belongs to it; its controller holds those that run on another cluster.
    hasFinalizer: false,
    example: { image: 'docker.io/library/hello-world', tag: 'linux', computePlan: 'job-small' },
    fields: jobFields,
    defaultSort: '-createdAt',
  }),
  logRoute(BASE, dataAction('jobs/readLogs'), findLog),
]

/** The log of the newest pod; once the pod is gone, what was kept of it. */
async function findLog(context: Context, { process = JOB_CONTAINER, previous }: LogRequest): Promise<FoundLog> {
  const { blobs } = context.services.jobs
  const { object } = await findResource(PlatformJob, context, 'jobName', { segment: 'jobs' })
  const { namespace = '', name } = object.metadata
  if (process !== JOB_CONTAINER) throw unknownProcess(process)
  if (previous) throw notFound(`An earlier run of the container of job "${name}"`)
  const { pod, logParts = 0, state } = object.status ?? {}
  const clusterId = otherClusterOf(context.services, object.spec.clusterId)
  const sources = pod === undefined ? [] : [{ namespace, pod, container: JOB_CONTAINER, name: process, clusterId }]
  const hasEnded = isFinished(state)
  return { sources, hasEnded, kept: { name: process, open: () => keptLog(blobs, namespace, name, logParts) } }
}

function unknownProcess(process: string) {
  const message = `There is no process "${process}"; a job has one, "${JOB_CONTAINER}".`
  return badRequest(message, [{ field: 'process', message: `must be ${JOB_CONTAINER}` }])
}

async function* keptLog(blobs: BlobStore, namespace: string, name: string, parts: number): AsyncIterable<Uint8Array> {
  for (let part = 0; part < parts; part += 1) {
    const blob = await blobs.read({ namespace, name: jobNames(name).log(part) })
    if (blob !== undefined) yield blob.bytes
  }
}
