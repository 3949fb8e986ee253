import { keyOf } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import type { Pass, Workspace } from '../engine/controller.ts'
import type { ExecutionObject, InstallObject } from './stock.ts'

type Holder = { kind: AnyKind; key: string; uid: string | undefined; state: string | undefined; since: number }
type TurnPass = Pick<Pass, 'records' | 'clock' | 'kind'> & { readonly object: object }

/** Milliseconds for which a turn that nobody sees is waited for: its write is retried no longer than that, or never made. */
const UNSEEN_WITHIN = 60_000

/** By what the controllers of both see the rollouts in, which is one in a process. */
const holders = new WeakMap<object, Holder>()

/**
 * Takes the turn that installs and rollouts share, unless another one has taken it whose record does not say so yet: two passes
 * run at the same time, and each would read that nobody has it. Only one process leads.
 *
 * @returns the name of who has it instead
 */
export function takeTurn({ records, clock, kind, object }: TurnPass): string | undefined {
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
  return found?.metadata.uid === uid && found?.status?.state === state && now - since < UNSEEN_WITHIN
}
