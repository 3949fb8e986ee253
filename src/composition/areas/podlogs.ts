import { kubePodLogs } from '../../adapters/podlogs/client.ts'
import { followedPodLogs } from '../../adapters/podlogs/followed.ts'
import type { LogSource, PodLogs } from '../../adapters/podlogs/port.ts'
import type { Services } from '../../api/http/context.ts'
import { systemClock } from '../../core/clock.ts'
import type { KubeObject } from '../../core/object.ts'
import { pod } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

/** Nodes keep 10 MiB per container by default; the limit is for hostile clusters, which could send without end. */
const REMOTE_OPTIONS = { isSimulated: false, most: 256 * 1024 * 1024 }

/** Reads logs of pods in all clusters. Only pods of the platform's own cluster may be simulated, without logs. */
export function podLogs({ configuration, client, agents }: AreaSetup): PodLogs {
  const ownLogs = kubePodLogs(client, { isSimulated: configuration.simulated.includes('pods') })
  return {
    open(source, window) {
      if (source.clusterId === undefined) return ownLogs.open(source, window)
      return kubePodLogs(agents.clientOf(source.clusterId), REMOTE_OPTIONS).open(source, window)
    },
  }
}

export function podLogServices(setup: FacadeSetup): Pick<Services, 'podLogs'> {
  const pods = setup.caches.get<Pod>(pod)
  const isAlive = ({ namespace, pod: name, clusterId }: LogSource) =>
    clusterId === undefined
      ? mayWrite(pods.get(namespace, name))
      : mayWriteThere(setup.agents.clientOf(clusterId), { namespace, name })
  return { podLogs: followedPodLogs(podLogs(setup), { clock: systemClock, isAlive }) }
}

type Pod = KubeObject & { status?: { phase?: string } }

function mayWrite(found: Pod | undefined): boolean {
  const hasEnded = ['Succeeded', 'Failed'].includes(found?.status?.phase ?? '')
  return found !== undefined && !hasEnded && found.metadata.deletionTimestamp === undefined
}

/** The facade watches no pods of other clusters. If unreachable, they count as alive: reading the log fails then. */
async function mayWriteThere(
  client: Pick<KubeClient, 'get'>,
  ref: { namespace: string; name: string },
): Promise<boolean> {
  try {
    return mayWrite(await client.get<Pod>(pod, ref))
  } catch (error) {
    return !isKubeError(error, 'NotFound')
  }
}
