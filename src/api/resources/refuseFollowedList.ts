import { PlatformError } from '../../core/errors.ts'
import { ReadTracker } from '../../core/readTrackers.ts'

/**
 * Must be called before a read from the API server of another cluster, whose changes are not watched here.
 *
 * @throws PlatformError NOT_ACCEPTABLE if the list is being followed
 */
export function refuseFollowedList(what: string): void {
  if (ReadTracker.now === undefined) return
  const message = `${what} of another cluster cannot be followed: nobody says here what changes there.`
  throw new PlatformError('NOT_ACCEPTABLE', message, { supported: ['application/json'] })
}
