import { namesOf } from '../../contracts/containerinstances.ts'
import type { Deployed } from '../../crds/appRevisions.ts'
import { APP_COMPONENT, type PlatformApp } from '../../crds/apps.ts'
import { appInstance } from '../../desired/apps/instance.ts'
import { copiesOf } from '../../desired/apps/scaling.ts'
import type { LiveDeployment } from '../../desired/workload/trouble.ts'
import { deployment } from '../../kube/builtin.ts'
import { type InstancePass, type InstanceState, newInstanceState } from '../containers/types.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { over } from '../workload/pass.ts'

/** What steps hand on, beyond those of container instances. */
export type AppState = InstanceState & {
  /** chooseDeployment: what is to be served. */
  deployed: Deployed | undefined
  /** numberRevision: the newest revision, what its copies are, and how many seconds they have to last before they get requests. */
  revision: number
  running: string | undefined
  probation: number
  /** runReleaseCommand: why it failed. */
  releaseFailure: string | undefined
}

export const newAppState = (): AppState => ({
  ...newInstanceState(),
  deployed: undefined,
  revision: 0,
  running: undefined,
  probation: 0,
  releaseFailure: undefined,
})

export type AppPass = Pass<typeof PlatformApp, AppState>
export type AppStep = Step<typeof PlatformApp, AppState>
export type CachedApp = AppPass['object'] & { [key: string]: unknown }

/** An image that stands for none: what is looked at without one does not run. */
const NO_IMAGE = 'none'

export function deploymentOf({ object, workloads }: Pick<AppPass, 'object' | 'workloads'>): LiveDeployment | undefined {
  const name = namesOf(object).component(APP_COMPONENT)
  return workloads.cache<LiveDeployment>(deployment).get(object.metadata.namespace, name)
}

export const viewOfApp = (app: CachedApp) => appInstance(app, { image: NO_IMAGE, replicas: 1, probation: 0 })

/** The pass over an app as one over what runs one component. Its status has every field of a container instance's. */
export function instancePass(pass: AppPass): InstancePass {
  const image = pass.state.deployed?.image ?? NO_IMAGE
  const replicas = copiesOf(pass.object.spec, deploymentOf(pass)?.spec.replicas)
  return {
    ...pass,
    object: appInstance(pass.object, { image, replicas, probation: pass.state.probation }),
  } as unknown as InstancePass
}

/** A step of container instances. */
export const overApp = over(instancePass)
