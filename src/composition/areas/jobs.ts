import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import type { Services } from '../../api/http/context.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { podLogs } from './podlogs.ts'
import type { AreaSetup } from './setup.ts'

/** Where logs are kept when the pods are gone, and for controllers where they come from. */
export function jobParts(setup: AreaSetup): Pick<Services, 'jobs'> & Required<Pick<ControllerPorts, 'jobs'>> {
  const blobs = secretBlobs(setup.client)
  return { jobs: { logs: podLogs(setup), blobs } }
}
