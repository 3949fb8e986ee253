import type { Controller, ControllerDeclaration } from '../engine/controller.ts'
import { componentController } from './component.ts'
import { installController } from './install.ts'
import type { LifecycleOptions } from './types.ts'

export type { LifecycleOptions } from './types.ts'

type LifecycleController = ControllerDeclaration & ((options: LifecycleOptions) => Controller)

const { kind, observes, reads, writes } = installController

/** Reconcile components and their installs: docs/areas/lifecycle.md. */
export const LIFECYCLE_CONTROLLERS: readonly LifecycleController[] = [
  componentController,
  Object.assign(() => installController, { kind, observes, reads, writes }),
]
