import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import type { KubeObject } from '../../core/object.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import type { Workspace } from '../engine/controller.ts'
import { platformObjects } from '../platformObjects.ts'

export type ComponentObject = PlatformComponent & KubeObject
export type ReleaseObject = ComponentRelease & KubeObject
export type InstallObject = ComponentInstall & KubeObject
export type ExecutionObject = RolloutExecution & KubeObject

export const componentsOf = (records: Workspace) => platformObjects<ComponentObject>(records, PlatformComponent)
export const releasesOf = (records: Workspace) => platformObjects<ReleaseObject>(records, ComponentRelease)
export const installsOf = (records: Workspace) => platformObjects<InstallObject>(records, ComponentInstall)
export const executionsOf = (records: Workspace) => platformObjects<ExecutionObject>(records, RolloutExecution)

/** Whether others wait for a rollout. */
export const isRollingOut = (execution: KubeObject) => isRolloutActive((execution as ExecutionObject).status?.state)
