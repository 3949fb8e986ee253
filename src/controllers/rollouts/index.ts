import type { Controller, ControllerDeclaration } from '../engine/controller.ts'
import { executionController } from './execution.ts'
import { planController } from './plan.ts'
import { scanController } from './scan.ts'
import type { RolloutOptions } from './types.ts'

export { scheduleScan } from './scan.ts'
export type { RolloutOptions } from './types.ts'

/** Controllers of plans, rollouts and drift scans: docs/areas/rollouts.md. */
export const ROLLOUT_CONTROLLERS: readonly (ControllerDeclaration & ((options: RolloutOptions) => Controller))[] = [
  planController,
  executionController,
  scanController,
]
