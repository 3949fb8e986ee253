import type { PlanItem, PlannedRollout } from '../../contracts/rollouts/states.ts'
import { batchTimeoutMinutes } from '../../contracts/rollouts/states.ts'
import { timestamp } from '../../core/clock.ts'
import type { Batch, BatchComponent, Execution, RolloutObservation } from './types.ts'

/** Returns the batches of a plan in their initial state. */
export function batchesOfPlan({ items, batches }: Pick<PlannedRollout, 'items' | 'batches'>): Batch[] {
  const byName = new Map(items.map((item) => [item.component, item]))
  return batches.map(({ components, ...batch }) => ({
    ...batch,
    state: 'Pending' as const,
    components: components.flatMap((name) => pendingComponents(byName.get(name))),
  }))
}

function pendingComponents(item: PlanItem | undefined): BatchComponent[] {
  if (item === undefined) return []
  const { component: name, fromVersion, toVersion, isReversible } = item
  return [{ name, fromVersion, toVersion, isReversible, state: 'Pending' }]
}

/** Returns the current or next batch; undefined when all are done. */
export function activeBatch({ batches }: Pick<Execution, 'batches'>): Batch | undefined {
  return batches.find(({ state }) => state !== 'Succeeded' && state !== 'Skipped')
}

/** The number of a batch in sentences, which count from one. */
export const numberOf = ({ index }: Pick<Batch, 'index'>): number => index + 1

/** Updates a batch from the current state of its components. */
export function updateBatch(
  batch: Batch,
  { findComponent }: Pick<RolloutObservation, 'findComponent'>,
  now: number,
): Batch {
  const components = batch.components.map((one): BatchComponent => {
    if (one.state !== 'Applying') return one
    const seen = findComponent(one.name, one)
    const message = seen?.message === undefined ? {} : { message: seen.message }
    if (seen === undefined) {
      return {
        ...one,
        state: 'Failed',
        message: `Component "${one.name}" no longer exists.`,
        finishedAt: timestamp(now),
      }
    }
    if (seen.state === 'Applying') return { ...one, ...message }
    return { ...one, ...message, state: seen.state, finishedAt: timestamp(now) }
  })
  const isInstalled = components.every((one) => one.state !== 'Applying' || findComponent(one.name, one)?.isInstalled)
  return { ...batch, state: isInstalled ? 'WaitingForHealth' : 'Applying', components }
}

/** Charts that can only be reverted by restoring their database need the snapshot. */
export function maySkipSnapshot({ batches }: Pick<Execution, 'batches'>): boolean {
  return batches
    .filter(({ kind }) => kind !== 'CrdBundle' && kind !== 'PlatformStep')
    .every(({ components }) => components.every((one) => one.isReversible || one.fromVersion === undefined))
}

function isRolledBack({ state, isReversible, fromVersion, toVersion }: BatchComponent): boolean {
  return isReversible && fromVersion !== toVersion && (state === 'Ready' || state === 'Failed' || state === 'Applying')
}

export function endExecution(execution: Execution): Execution {
  return { ...execution, canRollback: rollbackOf(execution).items.length > 0 }
}

/**
 * Returns the rollback of a rollout, in reverse order: each touched component that is reversible. CRDs, the platform
 * step and charts that migrated their database stay (rule 8 of interface section 4.21).
 */
export function rollbackOf({ batches }: Pick<Execution, 'batches'>): Pick<PlannedRollout, 'items' | 'batches'> {
  const reversed = batches
    .toReversed()
    .map((batch) => ({ ...batch, components: batch.components.filter(isRolledBack) }))
    .filter(({ components }) => components.length > 0)
  const kinds = {
    ThirdPartyChart: 'ThirdPartyChart',
    LifecycleModule: 'LifecycleModule',
    Components: 'Module',
  } as const
  return {
    items: reversed.flatMap(({ kind, components }) =>
      components.map((one) => ({
        component: one.name,
        kind: kinds[kind as keyof typeof kinds],
        fromVersion: one.toVersion,
        toVersion: one.fromVersion ?? '',
        addedBy: 'Caller' as const,
        isReversible: true,
      })),
    ),
    batches: reversed.map(({ kind, components }, index) => ({
      ...{ index, kind, timeLimitMinutes: batchTimeoutMinutes(kind) },
      components: components.map(({ name }) => name),
    })),
  }
}
