import type { ResourcePath } from '../../adapters/activity/port.ts'
import { SecretActivity } from '../../adapters/activity/secrets.ts'
import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { activityOfRequest } from '../../api/activity/requests.ts'
import { followObjects } from '../../api/activity/watched.ts'
import type { Services } from '../../api/http/context.ts'
import type { RequestObserver } from '../../api/http/requestObserver.ts'
import { ActivityRecorder } from '../../api/records/activity/recorder.ts'
import { resourceExists } from '../../api/records/activity/subjects.ts'
import { type Clock, systemClock, type Timer } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { FacadeSetup } from './setup.ts'

/** Milliseconds between sweeps. They bound what is left of resources that were created and deleted meanwhile. */
const SWEEP_INTERVAL_MS = 3_600_000

export function activityServices({ client }: FacadeSetup): Pick<Services, 'activity' | 'bugReports'> {
  return { activity: new SecretActivity(client), bugReports: { blobs: secretBlobs(client) } }
}

export function sweepActivity(
  { onStop, log }: Pick<FacadeSetup, 'onStop' | 'log'>,
  { activity, records }: Pick<Services, 'activity' | 'records'>,
  clock: Clock = systemClock,
): void {
  const exists = (resource: ResourcePath) => resourceExists(records, resource)
  const sweep = () =>
    activity.sweep(exists).catch((error) => log.warn({ error: messageOf(error) }, 'Old activity could not be removed.'))
  // Jitter, so that replicas that start together do not sweep together.
  const sweepLater = (): Timer =>
    clock.setTimeout(
      () => {
        timer = sweepLater()
        void sweep()
      },
      SWEEP_INTERVAL_MS * (0.5 + Math.random()),
    )
  let timer = sweepLater()
  onStop(() => timer.cancel())
}

/** Creates the sources of entries: requests, and the API server's audit log or, without it, watches. */
export function activityRecorder(
  setup: FacadeSetup,
  services: Pick<Services, 'activity' | 'records'>,
): { recorder: ActivityRecorder; observer: RequestObserver } {
  const { configuration, client, caches, onStop, log } = setup
  const { activity: store, records } = services
  sweepActivity(setup, services)
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
