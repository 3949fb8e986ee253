import { type CrosslinkReport, type KnownReport, type StoredReport, withReport } from '../../contracts/crosslink.ts'
import { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import type { KubeClient } from '../../kube/client.ts'
import { createStatusWriter } from '../records/statusWriter.ts'

/** Stores reports of agents in the status of the crosslink. */
export interface CrosslinkReports {
  /** Returns the merged report. @throws PlatformError SERVICE_UNAVAILABLE, CROSSLINK_DISABLED */
  record(ref: { namespace: string; name: string }, report: CrosslinkReport, now: number): Promise<KnownReport>
}

type Stored = KubeObject & { status?: StoredReport }

/** Concurrent reports of several agents are all kept. */
export function createCrosslinkReports(client: Pick<KubeClient, 'get' | 'mergePatch'>): CrosslinkReports {
  const write = createStatusWriter<Stored>(client, BoundaryCrosslink.resource, {
    gone: crosslinkDisabled,
    busy: 'Too many reports at once: send this one again.',
  })
  return {
    record: (ref, report, now) =>
      write(ref, ({ status = {} }) => {
        const next = withReport(status, report, now)
        const known = { sites: status.sites ?? [], exposures: status.exposures ?? [] }
        return { answer: next, status: JSON.stringify(next) === JSON.stringify(known) ? undefined : next }
      }),
  }
}

export function crosslinkDisabled(): PlatformError {
  return new PlatformError('CROSSLINK_DISABLED', 'The clusters of this boundary are not linked: enable that first.')
}
