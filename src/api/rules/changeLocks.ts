import { setTimeout as sleep } from 'node:timers/promises'
import { PlatformError } from '../../core/errors.ts'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { DenyAssignment, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { TURN_TIMINGS } from '../../kube/keyedLeaseMutex.ts'
import { compareResourceVersions } from '../../kube/resourceVersion.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Services } from '../http/context.ts'
import type { ListFilter } from '../records/records.ts'

/** A kind and where it is read: everywhere if no place is named. */
type Seen = { readonly kind: AnyKind } & Pick<ListFilter, 'namespace' | 'boundaryId'>
/** A lock: changes with the same key run one at a time. `sees` lists what the change decides by. */
export type ChangeLock = { readonly key: string; readonly sees: readonly Seen[] }

const ACCESS_KINDS = [RoleAssignment, DenyAssignment, PrincipalGroup]
const localMutex = new KeyedMutex()

/** For changes to who holds what at the platform. */
export const ROOT_LOCK: ChangeLock = {
  key: '/',
  sees: ACCESS_KINDS.map((kind) => ({ kind, namespace: SYSTEM_NAMESPACE })),
}

/** For changes to who holds what in a boundary. */
export function boundaryLock(boundaryId: string): ChangeLock {
  const namespace = boundaryNamespace(boundaryId)
  const inside = ACCESS_KINDS.map((kind) => ({ kind, namespace }))
  return { key: boundaryScope(boundaryId), sees: [...inside, ...ROOT_LOCK.sees] }
}

/** For changes to a tenant and to what belongs to it. Take it inside the turn of a boundary, never around it. */
export function tenantLock(tenantId: string, sees: ChangeLock['sees'] = []): ChangeLock {
  return { key: `tenant ${tenantId}`, sees }
}

/**
 * Runs the changes of a key one at a time over all replicas, each once the caches hold what others wrote before.
 *
 * @throws PlatformError SERVICE_UNAVAILABLE if others hold the turn for too long, or the caches stay behind
 */
export function withChangeLock<Result>(
  { records }: Pick<Services, 'records'>,
  { key, sees }: ChangeLock,
  change: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + TURN_TIMINGS.timeout
  const changeWhenCaughtUp = async () => {
    await waitUntilCaughtUp(records, sees)
    return change()
  }
  // The wait in this process counts too: the review of a removal by kubectl may hold the turn for all of the timeout.
  return withLocalChangeLock(key, () =>
    records.exclusively(key, changeWhenCaughtUp, { timeout: deadline - performance.now() }),
  )
}

/** Within this process only. */
export function withLocalChangeLock<Result>(key: string, change: () => Promise<Result>): Promise<Result> {
  return localMutex.take(key, change)
}

/** Milliseconds. */
const POLL_INTERVAL_MS = 10
const CATCH_UP_TIMEOUT_MS = 5_000

async function waitUntilCaughtUp(records: Services['records'], sees: readonly Seen[]): Promise<void> {
  const deadline = performance.now() + CATCH_UP_TIMEOUT_MS
  for (let pending = sees; ; await sleep(POLL_INTERVAL_MS)) {
    const areBehind = await Promise.all(pending.map((each) => isBehind(records, each)))
    pending = pending.filter((_, index) => areBehind[index])
    if (pending.length === 0) return
    if (performance.now() < deadline) continue
    const message = `What is known of ${pending.map(({ kind }) => kind.plural).join(', ')} is not up to date.`
    throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
  }
}

const nameIn = ({ metadata: { namespace = '', name } }: KubeObject) => `${namespace}/${name}`

async function isBehind(records: Services['records'], { kind, ...place }: Seen): Promise<boolean> {
  const stored = await records.list(kind, place, { fresh: true })
  const known = new Map(
    records.peekAll(kind, place).map((object) => [nameIn(object), object.metadata.resourceVersion ?? '0']),
  )
  const isUnknown = (object: (typeof stored)[number]) =>
    compareResourceVersions(known.get(nameIn(object)) ?? '0', object.metadata.resourceVersion ?? '0') < 0
  return stored.length !== known.size || stored.some(isUnknown)
}
