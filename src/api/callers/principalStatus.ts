import { type Clock, systemClock } from '../../core/clock.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent } from '../../kube/errors.ts'
import type { Caller } from './tokens.ts'

/** Why a principal may no longer act. `deleted` also stands for one that never existed. */
export type InactiveReason = 'deleted' | 'disabled'

/**
 * Whether the bearer of a valid token is still one of the local identity provider's people or service accounts: a token
 * says who somebody was when it was issued, and stays valid after they are disabled or deleted.
 */
export interface PrincipalStatus {
  /**
   * Returns undefined for a principal in good standing. Answers from memory; asks the API server only about principals
   * that are not known.
   *
   * @param uid of the object that the token was issued for; the id may meanwhile belong to somebody else
   * @param type if known; otherwise both types count
   * @throws KubeError if the API server must be asked and does not answer
   */
  endOf(principalId: string, type?: Caller['principalType'], uid?: string): Promise<InactiveReason | undefined>
}

type Principal = KubeObject & { spec: { isEnabled?: boolean } }

export type PrincipalStatusOptions = {
  client: Pick<KubeClient, 'get'>
  caches: { get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'get'> }
  clock?: Clock
}

const PRINCIPAL_KINDS = {
  User: [PlatformUser.resource],
  ServicePrincipal: [PlatformClient.resource],
  either: [PlatformClient.resource, PlatformUser.resource],
} as const
/** How long an answer of the API server counts: requests with a deleted principal's token must not all reach it. */
const STATUS_TTL_MS = 2_000
/** Bounds the memory that invented principals take. */
const MAX_ANSWERS = 1_000

/** Standing by the PlatformClient and PlatformUser objects of the local provider. */
export function createPrincipalStatus({
  client,
  caches,
  clock = systemClock,
}: PrincipalStatusOptions): PrincipalStatus {
  const answers = createLruCache<string, { until: number; answer: Promise<InactiveReason | undefined> }>(MAX_ANSWERS)

  /** A new principal may have a token before our watch reports it. */
  async function ask(
    resources: readonly Resource[],
    name: string,
    uid: string | undefined,
  ): Promise<InactiveReason | undefined> {
    for (const resource of resources) {
      const found = await client.get<Principal>(resource, { namespace: SYSTEM_NAMESPACE, name }).catch(absent)
      if (found !== undefined) return inactiveReasonOf(found, uid)
    }
    return 'deleted'
  }
  function remembered(
    resources: readonly Resource[],
    name: string,
    uid: string | undefined,
  ): Promise<InactiveReason | undefined> {
    const key = [...resources.map(({ kind }) => kind), name, uid].join(' ')
    const known = answers.get(key)
    if (known !== undefined && clock.monotonic() < known.until) return known.answer
    const answer = ask(resources, name, uid)
    answers.set(key, { until: clock.monotonic() + STATUS_TTL_MS, answer })
    answer.catch(() => answers.delete(key))
    return answer
  }
  return {
    async endOf(principalId, type, uid) {
      // Only a uuid may become part of a path.
      if (!isUuid(principalId)) return 'deleted'
      const resources = PRINCIPAL_KINDS[type ?? 'either']
      for (const resource of resources) {
        const found = caches.get<Principal>(resource).get(SYSTEM_NAMESPACE, principalId)
        if (found !== undefined && (uid === undefined || found.metadata.uid === uid))
          return inactiveReasonOf(found, uid)
      }
      return remembered(resources, principalId, uid)
    },
  }
}

/** Standing with an issuer that cannot be asked who exists: only records here can disable a principal. */
export function recordedStanding({ caches }: Pick<PrincipalStatusOptions, 'caches'>): PrincipalStatus {
  return {
    async endOf(principalId, type) {
      const found = PRINCIPAL_KINDS[type ?? 'either'].map((kind) =>
        caches.get<Principal>(kind).get(SYSTEM_NAMESPACE, principalId),
      )
      return found.some((object) => object?.spec.isEnabled === false) ? 'disabled' : undefined
    },
  }
}

function inactiveReasonOf({ metadata, spec }: Principal, uid: string | undefined): InactiveReason | undefined {
  if (metadata.deletionTimestamp !== undefined || (uid !== undefined && metadata.uid !== uid)) return 'deleted'
  return spec.isEnabled === false ? 'disabled' : undefined
}
