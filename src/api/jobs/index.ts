import type { BlobStore } from '../../adapters/blobs/port.ts'
import type { PodLogs } from '../../adapters/podlogs/port.ts'
import { JOB_CONTAINER, jobNames } from '../../contracts/jobs.ts'
import { badRequest, notFound } from '../../core/errors.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import type { Context } from '../http/context.ts'
import { dataAction, type RouteDraft } from '../http/route.ts'
import { type LogRequest, logRoute } from '../resources/logs.ts'
import { findResource } from '../resources/places.ts'
import { resource } from '../resources/resource.ts'
import { jobFields, jobRecord } from './record.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly jobs: { readonly logs: PodLogs; readonly blobs: BlobStore }
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
    fields: jobFields,
    defaultSort: '-createdAt',
  }),
  logRoute(BASE, dataAction('jobs/readLogs'), openLog),
]

/** The log of the newest pod; once the pod is gone, what was kept of it. */
async function openLog(context: Context, { process = JOB_CONTAINER, previous, ...window }: LogRequest) {
  const { jobs } = context.services
  const { object } = await findResource(PlatformJob, context, 'jobName', { segment: 'jobs' })
  const { namespace = '', name } = object.metadata
  if (process !== JOB_CONTAINER) throw unknownProcess(process)
  if (previous) throw notFound(`An earlier run of the container of job "${name}"`)
  const { pod, logParts = 0 } = object.status ?? {}
  const source = { namespace, pod: pod ?? '', container: JOB_CONTAINER }
  const { tail, follow, signal, sinceSeconds } = window
  const live =
    pod === undefined
      ? undefined
      : await jobs.logs.open(source, { tailLines: tail, timestamps: true, follow, signal, sinceSeconds })
  return { process, chunks: live ?? keptLog(jobs.blobs, namespace, name, logParts) }
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
