import { SecretActivity } from '../../adapters/activity/secrets.ts'
import { secretBlobs } from '../../adapters/blobs/secrets.ts'
import { activityOfRequest } from '../../api/activity/requests.ts'
import { followObjects } from '../../api/activity/watched.ts'
import type { Services } from '../../api/http/context.ts'
import type { RequestObserver } from '../../api/http/requestObserver.ts'
import { ActivityRecorder } from '../../api/records/activity/recorder.ts'
import { resourceExists } from '../../api/records/activity/subjects.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { runPeriodically } from '../../core/runPeriodically.ts'
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
  const sweep = () => activity.sweep((resource) => resourceExists(records, resource))
  // Replicas that start together must not sweep together.
  const interval = SWEEP_INTERVAL_MS * (0.5 + Math.random())
  const sweeps = runPeriodically(sweep, interval, { clock, log, failed: 'Old activity could not be removed.' })
  onStop(() => sweeps.stop())
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
