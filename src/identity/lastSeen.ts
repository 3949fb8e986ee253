import type { Clock } from '../core/clock.ts'
import { timestamp } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformClient, PlatformUser } from '../crds/identity.ts'
import type { KubeClient } from '../kube/client.ts'
import { isKubeError } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** The resolution of the stored times: they show who is still active, not exactly when. */
const HOUR_MS = 3_600_000
/** How many principals to remember. A forgotten one costs a cache lookup, or an extra write. */
const REMEMBERED_MAX = 10_000

/** Records when people sign in and service accounts get tokens. Never delays or fails a sign-in. */
export interface LastSeen {
  signedIn(userId: string): void
  gotToken(clientId: string): void
}

export type LastSeenOptions = {
  client: Pick<KubeClient, 'mergePatch'>
  /** From a cache: a slightly stale time is good enough. */
  find(kind: typeof PlatformUser | typeof PlatformClient, id: string): KubeObject | undefined
  clock: Clock
  log: Log
  namespace?: string
}

export function createLastSeen({ client, find, clock, log, namespace = SYSTEM_NAMESPACE }: LastSeenOptions): LastSeen {
  const noted = new Map<string, number>()
  function note(kind: typeof PlatformUser | typeof PlatformClient, field: string, id: string): void {
    const now = clock.now()
    // Principal ids are uuids. Nothing else may become part of a path.
    if (!isUuid(id) || now - (noted.get(id) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return
    const object = find(kind, id)
    const stored = Date.parse(String((object?.status as Record<string, unknown> | undefined)?.[field]))
    if (noted.size >= REMEMBERED_MAX) noted.clear()
    // Set before the write, so that a hundred tokens at once cause one write.
    noted.set(id, Number.isNaN(stored) || now - stored >= HOUR_MS ? now : stored)
    if (noted.get(id) !== now) return
    const patch = { status: { [field]: timestamp(now) } }
    const options = { subresource: 'status', uid: object?.metadata.uid } as const
    client.mergePatch(kind.resource, { namespace, name: id }, patch, options).catch((error) => {
      noted.delete(id)
      // NotFound: public clients such as the command line have no object. Conflict: the object is a namesake.
      if (!isKubeError(error, 'NotFound', 'Conflict'))
        log.warn({ id, error: messageOf(error) }, 'The time of a sign-in could not be stored.')
    })
  }
  return {
    signedIn: (userId) => note(PlatformUser, 'lastSignInAt', userId),
    gotToken: (clientId) => note(PlatformClient, 'lastTokenAt', clientId),
  }
}
