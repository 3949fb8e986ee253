import type { StaticWebApp } from '../../crds/staticwebapps.ts'
import { siteApp } from '../../desired/staticwebapps.ts'
import { type AppPass, type AppState, asAppStep } from '../apps/types.ts'
import type { InstanceStep } from '../containers/types.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { stepAdapter } from '../workload/pass.ts'

export type SitePass = Pass<typeof StaticWebApp, AppState>
export type SiteStep = Step<typeof StaticWebApp, AppState>

/** Presents a site's pass as an app's pass. A site has all status fields that these steps report. */
export function sitePass(pass: SitePass): AppPass {
  return { ...pass, object: siteApp(pass.object) } as unknown as AppPass
}

/** Runs a step of apps over a site. */
export const asSiteStep = stepAdapter(sitePass)

/** Runs a step of container instances over a site. */
export const instanceStepAsSiteStep = (step: InstanceStep): SiteStep => asSiteStep(asAppStep(step))
