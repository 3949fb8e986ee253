import { directoryStanding } from '../api/callers/directoryStanding.ts'
import { createStanding, recordedStanding, type Standing } from '../api/callers/standing.ts'
import type { AccountServices } from '../api/people/accounts.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import type { Connection } from './connection.ts'

/**
 * Returns the check for principals that were deleted or disabled while their token is still valid. For an external
 * issuer, only those that have a record here can be.
 */
export function standingOf(
  { identityProvider }: Pick<Configuration, 'identityProvider'>,
  { client, caches, users }: Pick<Connection, 'client' | 'caches'> & Pick<AccountServices, 'users'>,
): Standing {
  switch (identityProvider) {
    case 'local':
      return createStanding({ client, caches })
    case 'keycloak':
      return directoryStanding({ users, clock: systemClock })
    case 'external':
      return recordedStanding({ caches })
  }
}
