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

/** Nodes keep 10 MiB of a container unless they are told otherwise, and a cluster in other hands may send for ever. */
const ELSEWHERE = { isPlayed: false, most: 256 * 1024 * 1024 }

/** Logs of pods of every cluster; none where pods are played, which only the platform's own may do. */
export function podLogs({ configuration, client, agents }: AreaSetup): PodLogs {
  const own = kubePodLogs(client, { isPlayed: configuration.simulated.includes('pods') })
  return {
    open(source, window) {
      if (source.clusterId === undefined) return own.open(source, window)
      return kubePodLogs(agents.clientOf(source.clusterId), ELSEWHERE).open(source, window)
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

/** The facade watches no pods of other clusters. One that does not answer is asked for the log again, and fails there. */
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
