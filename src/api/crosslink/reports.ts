import { type CrosslinkReport, type KnownReport, type StoredReport, withReport } from '../../contracts/crosslink.ts'
import { pauseAfterConflict } from '../../core/conflicts.ts'
import { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { Turns } from '../../core/turns.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** Where reports of agents are written down, in the status of the links. */
export interface CrosslinkReports {
  /** What is known then. @throws PlatformError SERVICE_UNAVAILABLE, CROSSLINK_DISABLED */
  record(ref: { namespace: string; name: string }, report: CrosslinkReport): Promise<KnownReport>
}

const ATTEMPTS = 10

type Stored = KubeObject & { status?: StoredReport }

/** Writes over exactly what was read, so that no report of another agent is lost. */
export function createCrosslinkReports(client: Pick<KubeClient, 'get' | 'mergePatch'>): CrosslinkReports {
  const turns = new Turns()
  return { record: (ref, report) => turns.take(`${ref.namespace}/${ref.name}`, () => write(client, ref, report)) }
}

async function write(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  ref: { namespace: string; name: string },
  report: CrosslinkReport,
): Promise<KnownReport> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await pauseAfterConflict(attempt - 1)
    try {
      const { metadata, status = {} } = await client.get<Stored>(BoundaryCrosslink.resource, ref)
      const next = withReport(status, report)
      const { uid, resourceVersion } = metadata
      if (JSON.stringify(next) !== JSON.stringify({ sites: status.sites ?? [], exposures: status.exposures ?? [] })) {
        const options = { subresource: 'status', uid, resourceVersion } as const
        await client.mergePatch(BoundaryCrosslink.resource, ref, { status: next }, options)
      }
      return next
    } catch (error) {
      if (isKubeError(error, 'NotFound')) throw disabled()
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
  const message = 'Too many reports come at once: send this one again.'
  throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}

export function disabled(): PlatformError {
  return new PlatformError('CROSSLINK_DISABLED', 'The clusters of this boundary are not linked: enable that first.')
}
