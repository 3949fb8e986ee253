import { directoryPrincipalStatus } from '../api/callers/directoryPrincipalStatus.ts'
import { createPrincipalStatus, type PrincipalStatus, recordedStanding } from '../api/callers/principalStatus.ts'
import type { AccountServices } from '../api/people/accounts.ts'
import type { Configuration } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import type { Connection } from './connection.ts'

/**
 * Returns the check for principals that were deleted or disabled while their token is still valid. For an external
 * issuer, only those that have a record here can be.
 */
export function principalStatusOf(
  { identityProvider }: Pick<Configuration, 'identityProvider'>,
  { client, caches, users }: Pick<Connection, 'client' | 'caches'> & Pick<AccountServices, 'users'>,
): PrincipalStatus {
  switch (identityProvider) {
    case 'local':
      return createPrincipalStatus({ client, caches })
    case 'keycloak':
      return directoryPrincipalStatus({ users, clock: systemClock })
    case 'external':
      return recordedStanding({ caches })
  }
}
