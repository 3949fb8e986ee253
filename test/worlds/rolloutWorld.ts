import type { PlanItem } from '../../src/contracts/rollouts/states.ts'
import {
  batchesOfPlan,
  type Execution,
  neededObservation,
  nextExecution,
  type RolloutObservation,
} from '../../src/desired/rollouts/index.ts'
import type { ObservedComponent } from '../../src/desired/rollouts/types.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
export const MINUTE = 60_000
export const item = (component: string, kind: PlanItem['kind'] = 'Module', more: Partial<PlanItem> = {}): PlanItem => ({
  ...{ component, kind, fromVersion: '1.0.0', toVersion: '1.1.0', addedBy: 'Caller', isReversible: true },
  ...more,
})
export const CHART = item('cnpg', 'ThirdPartyChart')
export const MODULE = item('facade')
export const batch = (index: number, { component, kind }: PlanItem) => ({
  index,
  kind: kind === 'ThirdPartyChart' || kind === 'CrdBundle' ? kind : ('Components' as const),
  components: [component],
  timeLimitMinutes: kind === 'ThirdPartyChart' ? 30 : 10,
})
export const newOne = (items: PlanItem[] = [CHART, MODULE], kind: Execution['kind'] = 'Components'): Execution => ({
  ...{ state: 'Executing', step: 'Preflight', kind, startedAt: '2026-01-01T00:00:00Z' },
  batches: batchesOfPlan({ items, batches: items.map((one, index) => batch(index, one)) }),
})

export const DRIFT = {
  ...{
    component: 'cnpg',
    step: 'batch 1',
    kind: 'Deployment',
    namespace: 'cnpg',
    name: 'cnpg',
    field: 'spec.replicas',
  },
  ...{ manager: 'kubectl-edit', message: 'Changed.' },
}

/** A cluster that follows its instructions, as fast as each test says. */
export class World {
  now = START
  readonly seen = new Map<string, ObservedComponent>()
  requests: RolloutObservation['requests'] = {}
  refusal: string | undefined
  snapshot: RolloutObservation['snapshot'] = { phase: 'Completed', completedAt: '2026-01-01T00:01:00Z' }
  drift: NonNullable<RolloutObservation['drift']> = []
  worsened: string[] = []
  preflight: NonNullable<RolloutObservation['preflight']> = {
    report: { runAt: '2026-01-01T00:00:00Z', checks: [] },
    refusal: undefined,
    acknowledged: [],
  }
  execution: Execution

  constructor(execution = newOne()) {
    this.execution = execution
  }

  set(name: string, state: ObservedComponent['state'], more: Partial<ObservedComponent> = {}): this {
    this.seen.set(name, {
      kind: 'Module',
      state,
      isInstalled: state === 'Ready',
      isHealthy: state === 'Ready',
      ...more,
    })
    return this
  }

  /** Until the rollout waits for something. */
  settle(): Execution {
    for (let round = 0; round < 50; round += 1) {
      const look = neededObservation(this.execution, this.now)
      const then = nextExecution(
        this.execution,
        {
          ...{ requests: this.requests, refusal: this.refusal, snapshot: this.snapshot, snapshotName: 'snapshot' },
          findComponent: (name) =>
            this.seen.get(name) ?? { kind: 'Module', state: 'Applying', isInstalled: false, isHealthy: false },
          ...(look === 'preflight' && { preflight: this.preflight }),
          ...(look === 'drift' && { drift: this.drift }),
          ...(look === 'checks' && { worsened: this.worsened }),
        },
        this.now,
      )
      if (JSON.stringify(then) === JSON.stringify(this.execution)) return then
      this.execution = then
    }
    throw new Error('The rollout does not settle.')
  }

  after(minutes: number): Execution {
    this.now += minutes * MINUTE
    return this.settle()
  }
}
