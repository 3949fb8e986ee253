import { PlatformError } from '../../core/errors.ts'
import { Reading } from '../../core/readers.ts'

/**
 * Before something is read from the API server of another cluster.
 *
 * @throws PlatformError NOT_ACCEPTABLE if it is read to be followed
 */
export function refuseFollowed(what: string): void {
  if (Reading.now === undefined) return
  const message = `${what} of another cluster cannot be followed: nobody says here what changes there.`
  throw new PlatformError('NOT_ACCEPTABLE', message, { supported: ['application/json'] })
}
