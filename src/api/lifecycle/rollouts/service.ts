import type { RoleCeiling } from '../../../adapters/clusterinspector/ceiling.ts'
import type { ClusterInspector } from '../../../adapters/clusterinspector/port.ts'
import { type CheckInput, factsOf, toInspectedComponent } from '../../../contracts/rollouts/checkInput.ts'
import { type CompletedCheck, runChecks } from '../../../contracts/rollouts/preflight.ts'
import { PlatformError } from '../../../core/errors.ts'
import { PlatformCluster } from '../../../crds/clusters.ts'
import { ComponentInstall } from '../../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../../crds/rollouts.ts'
import type { Context } from '../../http/context.ts'
import type { RecordOf } from '../../records/records.ts'
import { listPlatformObjects, platformObjectId, readInventory } from '../inventory.ts'

declare module '../../http/context.ts' {
  interface Services {
    readonly rollouts: {
      readonly inspector: ClusterInspector
      readonly ceiling: RoleCeiling
      /** The version of the operator. */
      readonly version: string
    }
  }
}

export type PlanRecord = RecordOf<typeof RolloutPlan>
export type ExecutionRecord = RecordOf<typeof RolloutExecution>
export type ScanRecord = RecordOf<typeof PlatformDriftScan>

/** Returns the rollback of an execution. A failed or cancelled one does not count: another may follow. */
export function findRollback(name: string, executions: readonly ExecutionRecord[]): ExecutionRecord | undefined {
  const hasEndedEarly = (state: string | undefined) => state === 'Failed' || state === 'Cancelled'
  return executions.find(({ spec, status }) => spec.rollbackOf === name && !hasEndedEarly(status?.state))
}

/** @throws PlatformError PlanNotFound */
export async function findPlan(context: Context, id: string): Promise<PlanRecord> {
  const named = async (now?: boolean) =>
    (await listPlatformObjects(context, RolloutPlan, now)).find(
      ({ metadata }) => platformObjectId(RolloutPlan, metadata) === id.toLowerCase(),
    )
  const found = (await named()) ?? (await named(true))
  if (found !== undefined) return found
  throw new PlatformError('PlanNotFound', `Plan "${id.slice(0, 64)}" was not found.`)
}

export async function runPreflightChecks(
  context: Context,
  plan: CheckInput['plan'],
  ignored?: string,
): Promise<CompletedCheck[]> {
  const { services } = context
  const { inspector, version } = services.rollouts
  const inventory = await readInventory(context)
  const now = services.clock.now()
  const [rollouts, installs, scans, clusters, configured, cluster] = await Promise.all([
    listPlatformObjects(context, RolloutExecution),
    listPlatformObjects(context, ComponentInstall),
    listPlatformObjects(context, PlatformDriftScan),
    services.records.list(PlatformCluster, {}),
    services.lifecycle.configuration.read(),
    inspector.facts(
      inventory.components.map((component) => toInspectedComponent(component)),
      now,
    ),
  ])
  const facts = factsOf({
    ...{ ...inventory, now, plan, installs, scans, clusters, cluster, operatorVersion: version },
    rollouts: rollouts.filter(({ metadata }) => metadata.name !== ignored),
    configured: { value: new Set(Object.keys(configured.entries)) },
  })
  return runChecks(facts)
}
