import { containerNamesOf } from '../../contracts/containerinstances.ts'
import type { DeployedImage } from '../../crds/appRevisions.ts'
import { APP_COMPONENT, type PlatformApp } from '../../crds/apps.ts'
import { appInstance } from '../../desired/apps/instance.ts'
import { copiesOf } from '../../desired/apps/scaling.ts'
import type { LiveDeployment } from '../../desired/workload/podProblems.ts'
import { deployment } from '../../kube/builtin.ts'
import { type InstancePass, type InstanceState, newInstanceState } from '../containers/types.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { stepAdapter } from '../workload/pass.ts'

/** State shared between steps, in addition to that of container instances. */
export type AppState = InstanceState & {
  /** chooseDeployment: the deployment to serve. */
  deployed?: DeployedImage | undefined
  /** numberRevision: the newest revision, a hash of its pod template, and its probation in seconds. */
  revision: number
  running?: string | undefined
  probation: number
}

export const newAppState = (): AppState => ({
  ...newInstanceState(),
  revision: 0,
  probation: 0,
})

export type AppPass = Pass<typeof PlatformApp, AppState>
export type AppStep = Step<typeof PlatformApp, AppState>
export type CachedApp = AppPass['object'] & { [key: string]: unknown }

/** Placeholder image for passes that do not start anything. */
const NO_IMAGE = 'none'

export function deploymentOf({ object, workloads }: Pick<AppPass, 'object' | 'workloads'>): LiveDeployment | undefined {
  const name = containerNamesOf(object).component(APP_COMPONENT)
  return workloads.cache<LiveDeployment>(deployment).get(object.metadata.namespace, name)
}

export const viewOfApp = (app: CachedApp) => appInstance(app, { image: NO_IMAGE, replicas: 1, probation: 0 })

/** Presents the app's pass as a container instance's pass, whose status fields the app has as well. */
export function instancePass(pass: AppPass): InstancePass {
  const image = pass.state.deployed?.image ?? NO_IMAGE
  const replicas = copiesOf(pass.object.spec, deploymentOf(pass)?.spec.replicas)
  return {
    ...pass,
    object: appInstance(pass.object, { image, replicas, probation: pass.state.probation }),
  } as unknown as InstancePass
}

/** Runs a step of container instances over an app. */
export const asAppStep = stepAdapter(instancePass)
