import type { StaticWebApp } from '../../crds/staticwebapps.ts'
import { siteApp } from '../../desired/staticwebapps.ts'
import { type AppPass, type AppState, overApp } from '../apps/types.ts'
import type { InstanceStep } from '../containers/types.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { over } from '../workload/pass.ts'

export type SitePass = Pass<typeof StaticWebApp, AppState>
export type SiteStep = Step<typeof StaticWebApp, AppState>

/** The pass over a site as one over an app. Its status has every field of an app's that these steps report. */
export function sitePass(pass: SitePass): AppPass {
  return { ...pass, object: siteApp(pass.object) } as unknown as AppPass
}

/** A step of apps. */
export const overSite = over(sitePass)

/** A step of container instances. */
export const overComponents = (step: InstanceStep): SiteStep => overSite(overApp(step))
