import { keyOf } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import type { Pass, Workspace } from '../engine/controller.ts'
import type { ExecutionObject, InstallObject } from './storedObjects.ts'

type Holder = { kind: AnyKind; key: string; uid: string | undefined; state: string | undefined; since: number }
type LockPass = Pick<Pass, 'records' | 'clock' | 'kind'> & { readonly object: object }

/** Milliseconds to wait for a turn that no status shows yet: its write is not retried for longer, or was never made. */
const UNSEEN_TIMEOUT_MS = 60_000

/** Holders of the turn by rollout cache, which both controllers of a process share. */
const holders = new WeakMap<object, Holder>()

/**
 * Takes the turn that installs and rollouts share, unless another object took it and its status does not show that yet:
 * concurrent passes would both read that it is free. Only one process leads.
 *
 * @returns the name of the other holder
 */
export function acquireLifecycleLock({ records, clock, kind, object }: LockPass): string | undefined {
  const { metadata, status } = object as InstallObject | ExecutionObject
  const seen = records.cache(RolloutExecution)
  const holder = holders.get(seen)
  if (holder !== undefined && holder.uid !== metadata.uid && isUnseen(holder, records, clock.monotonic()))
    return holder.key.split('/').at(-1)
  const { uid } = metadata
  const key = keyOf(object as InstallObject | ExecutionObject)
  holders.set(seen, { kind, key, uid, state: status?.state, since: clock.monotonic() })
  return undefined
}

function isUnseen({ kind, key, uid, state, since }: Holder, records: Workspace, now: number): boolean {
  const [namespace, name = ''] = key.split('/')
  const found = records.cache<InstallObject | ExecutionObject>(kind.resource).get(namespace, name)
  return found?.metadata.uid === uid && found?.status?.state === state && now - since < UNSEEN_TIMEOUT_MS
}
