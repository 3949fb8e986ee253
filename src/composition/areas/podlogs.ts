import { kubePodLogs } from '../../adapters/podlogs/client.ts'
import { followedPodLogs } from '../../adapters/podlogs/followed.ts'
import type { PodLogs } from '../../adapters/podlogs/port.ts'
import type { Services } from '../../api/http/context.ts'
import { systemClock } from '../../core/clock.ts'
import type { KubeObject } from '../../core/object.ts'
import { pod } from '../../kube/builtin.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

/** Logs of pods, none where pods are played. */
export function podLogs({ configuration, client }: AreaSetup): PodLogs {
  return kubePodLogs(client, { isPlayed: configuration.simulated.includes('pods') })
}

export function podLogServices(setup: FacadeSetup): Pick<Services, 'podLogs'> {
  const pods = setup.caches.get<Pod>(pod)
  const isAlive = ({ namespace, pod: name }: { namespace: string; pod: string }) => mayWrite(pods.get(namespace, name))
  return { podLogs: followedPodLogs(podLogs(setup), { clock: systemClock, isAlive }) }
}

type Pod = KubeObject & { status?: { phase?: string } }

function mayWrite(found: Pod | undefined): boolean {
  const hasEnded = ['Succeeded', 'Failed'].includes(found?.status?.phase ?? '')
  return found !== undefined && !hasEnded && found.metadata.deletionTimestamp === undefined
}
