import type { RoleCeiling } from '../../../adapters/clusterlook/ceiling.ts'
import type { ClusterLook } from '../../../adapters/clusterlook/port.ts'
import { LIFECYCLE_TURN_KEY } from '../../../contracts/lifecycle.ts'
import { factsOf, type Gathered, lookedComponent } from '../../../contracts/rollouts/gather.ts'
import { type Checked, runChecks } from '../../../contracts/rollouts/preflight.ts'
import { isRolloutActive } from '../../../contracts/rollouts/states.ts'
import { PlatformError } from '../../../core/errors.ts'
import { idOf } from '../../../core/ids.ts'
import type { ObjectMeta } from '../../../core/object.ts'
import { PlatformCluster } from '../../../crds/clusters.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../../crds/rollouts.ts'
import type { Context } from '../../http/context.ts'
import type { RecordOf } from '../../records/records.ts'
import { atPlatform } from '../../resources/collection/homes.ts'
import type { Turn } from '../../rules/turns.ts'
import type { RolloutConfiguration } from './configuration.ts'

declare module '../../http/context.ts' {
  interface Services {
    readonly rollouts: {
      readonly look: ClusterLook
      readonly ceiling: RoleCeiling
      readonly configuration: RolloutConfiguration
      /** Version of the operator. */
      readonly version: string
    }
  }
}

export type PlanRecord = RecordOf<typeof RolloutPlan>
export type ExecutionRecord = RecordOf<typeof RolloutExecution>
export type ScanRecord = RecordOf<typeof PlatformDriftScan>

/** The turn of installs, rollouts and scans: what one decides by, none of the others changes meanwhile. */
export const ROLLOUT_TURN: Turn = { key: LIFECYCLE_TURN_KEY, sees: [] }

const HERE = { namespace: atPlatform().namespace }

export function idIn({ resource, kind }: AnyKind, { name }: Pick<ObjectMeta, 'name'>): string {
  return idOf({ group: resource.group, kind, ...HERE, name })
}

/** All objects of a kind of the platform. */
export function all<K extends AnyKind>({ services, fresh }: Context, kind: K, now = fresh) {
  return services.records.list(kind, HERE, { fresh: now })
}

/** @throws PlatformError PlanNotFound */
export async function findPlan(context: Context, id: string): Promise<PlanRecord> {
  const named = async (now?: boolean) =>
    (await all(context, RolloutPlan, now)).find(({ metadata }) => idIn(RolloutPlan, metadata) === id.toLowerCase())
  const found = (await named()) ?? (await named(true))
  if (found !== undefined) return found
  throw new PlatformError('PlanNotFound', `Plan "${id.slice(0, 64)}" was not found.`)
}

/** @throws PlatformError RolloutBusy with what has the turn */
export async function refuseWhileBusy(context: Context): Promise<void> {
  const [rollouts, installs] = await Promise.all([
    all(context, RolloutExecution, true),
    all(context, ComponentInstall, true),
  ])
  // One that has not begun yet has its turn before.
  const isOpen = ({ status }: ExecutionRecord) => status?.state === undefined || isRolloutActive(status.state)
  const rollout = rollouts.find(isOpen)
  if (rollout !== undefined) {
    const extras = { executionId: idIn(RolloutExecution, rollout.metadata) }
    throw new PlatformError('RolloutBusy', 'Another rollout has not ended: wait, or cancel it.', extras)
  }
  const install = installs.find(({ status }) => status?.state === 'Running' || status?.state === 'Paused')
  if (install === undefined) return
  const message = `Component "${install.spec.component}" is being installed: wait until that has ended.`
  throw new PlatformError('RolloutBusy', message, { installId: idIn(ComponentInstall, install.metadata) })
}

/** Components and releases, which plans are made from. */
export async function stockOf(context: Context) {
  const [components, releases] = await Promise.all([all(context, PlatformComponent), all(context, ComponentRelease)])
  return { components, releases }
}

/** What the checks say now. */
export async function checksNow(context: Context, plan: Gathered['plan'], but?: string): Promise<Checked[]> {
  const { services } = context
  const { look, version, configuration } = services.rollouts
  const stock = await stockOf(context)
  const now = services.clock.now()
  const [rollouts, installs, scans, clusters, configured, cluster] = await Promise.all([
    all(context, RolloutExecution),
    all(context, ComponentInstall),
    all(context, PlatformDriftScan),
    services.records.list(PlatformCluster, {}),
    configuration.read(),
    look.facts(
      stock.components.map((component) => lookedComponent(component)),
      now,
    ),
  ])
  const agents = clusters
    .filter(({ spec }) => !spec.isPlatform)
    .map(({ spec, status }) => ({ name: spec.name ?? spec.displayName, version: status?.agent?.version }))
  const facts = factsOf({
    ...{ ...stock, now, plan, installs, scans, agents, cluster, operatorVersion: version },
    rollouts: rollouts.filter(({ metadata }) => metadata.name !== but),
    configured: { value: new Set(configured === undefined ? [] : Object.keys(configured.entries)) },
  })
  return runChecks(facts)
}
