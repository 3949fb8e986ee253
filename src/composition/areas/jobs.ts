import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import type { Services } from '../../api/http/context.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { podLogs } from './podlogs.ts'
import type { AreaSetup } from './setup.ts'

/** Provides the logs of pods, and the store for logs of deleted ones. */
export function jobParts(setup: AreaSetup): Pick<Services, 'jobs'> & Required<Pick<ControllerPorts, 'jobs'>> {
  const blobs = secretBlobs(setup.client)
  return { jobs: { logs: podLogs(setup), blobs } }
}
