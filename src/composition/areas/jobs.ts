import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { kubePodLogs } from '../../adapters/podlogs/client.ts'
import type { Services } from '../../api/http/context.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import type { AreaSetup } from './setup.ts'

/** Logs of pods, none where pods are played, and where they are kept when the pods are gone. */
export function jobParts({
  configuration,
  client,
}: AreaSetup): Pick<Services, 'jobs'> & Required<Pick<ControllerPorts, 'jobs'>> {
  const logs = kubePodLogs(client, { isPlayed: configuration.simulated.includes('pods') })
  return { jobs: { logs, blobs: secretBlobs(client) } }
}
