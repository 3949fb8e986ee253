import { LIFECYCLE_TURN_KEY } from '../../contracts/lifecycle.ts'
import { isRolloutOver } from '../../contracts/rollouts/states.ts'
import { PlatformError } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import type { Context } from '../http/context.ts'
import { atPlatform } from '../resources/collection/homes.ts'
import type { Turn } from '../rules/turns.ts'
import { type ComponentRecord, isBusy, type Stock } from './records.ts'

const AT_PLATFORM = { namespace: atPlatform().namespace }

/** Installs and rollouts are asked for one after the other, over all replicas. */
export const LIFECYCLE_TURN: Turn = { key: LIFECYCLE_TURN_KEY, sees: [] }

/** Components and their releases. */
export async function stockOf({ services, fresh }: Context): Promise<Stock> {
  const [components, releases] = await Promise.all([
    services.records.list(PlatformComponent, AT_PLATFORM, { fresh }),
    services.records.list(ComponentRelease, AT_PLATFORM, { fresh }),
  ])
  return { components, releases }
}

/** @throws PlatformError ComponentNotFound */
export function componentOf({ components }: Stock, name: string): ComponentRecord {
  const found = components.find(({ metadata }) => metadata.name === name)
  if (found !== undefined) return found
  throw new PlatformError('ComponentNotFound', `Component "${name.slice(0, 128)}" was not found.`)
}

/**
 * Refuses a change while another one is under way. To be asked in LIFECYCLE_TURN.
 *
 * @param but the install that it is about
 * @throws PlatformError RolloutBusy with `installId` or `executionId`
 */
export async function refuseWhileBusy({ services }: Context, but?: string): Promise<void> {
  const list = <K extends AnyKind>(kind: K) => services.records.list(kind, AT_PLATFORM, { fresh: true })
  const [installs, rollouts] = await Promise.all([list(ComponentInstall), list(RolloutExecution)])
  const idIn = ({ kind, resource }: AnyKind, name: string) =>
    idOf({ group: resource.group, kind, ...AT_PLATFORM, name })
  const rollout = rollouts.find(({ status }) => !isRolloutOver(status?.state))
  if (rollout !== undefined) {
    const executionId = idIn(RolloutExecution, rollout.metadata.name)
    throw new PlatformError('RolloutBusy', 'A rollout has not ended: wait, or cancel it.', { executionId })
  }
  const install = installs.find((one) => isBusy(one) && one.metadata.name !== but)
  if (install === undefined) return
  const message = `Component "${install.spec.component}" is being installed: wait until that has ended.`
  const installId = idIn(ComponentInstall, install.metadata.name)
  throw new PlatformError('RolloutBusy', message, { installId })
}
