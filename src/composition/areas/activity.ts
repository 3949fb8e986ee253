import { SecretActivity } from '../../adapters/activity/secrets.ts'
import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { activityOfRequest } from '../../api/activity/requests.ts'
import { followObjects } from '../../api/activity/watched.ts'
import type { Services } from '../../api/http/context.ts'
import type { RequestObserver } from '../../api/http/requestObserver.ts'
import { ActivityRecorder } from '../../api/records/activity/recorder.ts'
import { resourceExists } from '../../api/records/activity/subjects.ts'
import { type Clock, DAY_MS, systemClock, type Timer } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { FacadeSetup } from './setup.ts'

/** Milliseconds until the first sweep for expired records, as a process may live for hours only, and between sweeps. */
const [FIRST, SWEEP] = [3_600_000, DAY_MS]

export function activityServices(
  { client, onStop, log }: FacadeSetup,
  clock: Clock = systemClock,
): Pick<Services, 'activity' | 'bugReports'> {
  const activity = new SecretActivity(client)
  const sweep = () =>
    activity.sweep().catch((error) => log.warn({ error: messageOf(error) }, 'Old activity could not be removed.'))
  // Jitter, so that replicas that start together do not sweep together.
  const sweepIn = (milliseconds: number) =>
    clock.setTimeout(
      () => {
        timer = sweepIn(SWEEP)
        void sweep()
      },
      milliseconds * (0.5 + Math.random()),
    )
  let timer: Timer = sweepIn(FIRST)
  onStop(() => timer.cancel())
  return { activity, bugReports: { blobs: secretBlobs(client) } }
}

/** Creates the sources of entries: requests, and the API server's audit log or, without it, watches. */
export function activityRecorder(
  { configuration, client, caches, onStop, log }: FacadeSetup,
  { activity: store, records }: Pick<Services, 'activity' | 'records'>,
): { recorder: ActivityRecorder; observer: RequestObserver } {
  const recorder = new ActivityRecorder({ store, clock: systemClock, log })
  onStop(() => recorder.stop())
  if (!configuration.auditWebhook)
    onStop(followObjects({ client, caches, records, recorder, store, clock: systemClock, log }))
  return {
    recorder,
    observer(request) {
      const activity = activityOfRequest(request, (resource) => resourceExists(records, resource))
      if (activity !== undefined) recorder.note(activity)
    },
  }
}
