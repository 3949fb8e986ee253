import type { Clock } from '../core/clock.ts'
import { timestamp } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformClient, PlatformUser } from '../crds/identity.ts'
import type { KubeClient } from '../kube/client.ts'
import { isKubeError } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** Times are written down no oftener than this: they tell who is still there, not when exactly. */
const HOUR = 3_600_000
/** Principals remembered at once; forgotten ones cost a read of the cache, or one write too many. */
const REMEMBERED = 10_000

/** Notes when people sign in and service accounts get tokens. Neither waits, nor fails a sign-in. */
export interface LastSeen {
  signedIn(userId: string): void
  gotToken(clientId: string): void
}

export type LastSeenOptions = {
  client: Pick<KubeClient, 'mergePatch'>
  /** As it is in a cache: what another replica wrote within the hour is enough. */
  find(kind: typeof PlatformUser | typeof PlatformClient, id: string): KubeObject | undefined
  clock: Clock
  log: Log
  namespace?: string
}

export function createLastSeen({ client, find, clock, log, namespace = SYSTEM_NAMESPACE }: LastSeenOptions): LastSeen {
  const noted = new Map<string, number>()
  function note(kind: typeof PlatformUser | typeof PlatformClient, field: string, id: string): void {
    const now = clock.now()
    // Only a uuid can name a principal or become part of a path.
    if (!isUuid(id) || now - (noted.get(id) ?? Number.NEGATIVE_INFINITY) < HOUR) return
    const object = find(kind, id)
    const stored = Date.parse(String((object?.status as Record<string, unknown> | undefined)?.[field]))
    if (noted.size >= REMEMBERED) noted.clear()
    // Before the write: a hundred tokens at once are one write.
    noted.set(id, Number.isNaN(stored) || now - stored >= HOUR ? now : stored)
    if (noted.get(id) !== now) return
    const patch = { status: { [field]: timestamp(now) } }
    const options = { subresource: 'status', uid: object?.metadata.uid } as const
    client.mergePatch(kind.resource, { namespace, name: id }, patch, options).catch((error) => {
      noted.delete(id)
      // Public clients, such as the command line, have no object, and a namesake did not sign in.
      if (!isKubeError(error, 'NotFound', 'Conflict'))
        log.warn({ id, error: messageOf(error) }, 'The time of a sign-in could not be stored.')
    })
  }
  return {
    signedIn: (userId) => note(PlatformUser, 'lastSignInAt', userId),
    gotToken: (clientId) => note(PlatformClient, 'lastTokenAt', clientId),
  }
}
