import type { Outcome } from '../../core/outcome.ts'
import type { StaticWebApp } from '../../crds/staticwebapps.ts'
import { siteApp } from '../../desired/staticwebapps.ts'
import { type AppPass, type AppState, type AppStep, overApp } from '../apps/types.ts'
import type { InstanceStep } from '../containers/types.ts'
import type { Pass, Step } from '../engine/controller.ts'

export type SitePass = Pass<typeof StaticWebApp, AppState>
export type SiteStep = Step<typeof StaticWebApp, AppState>

/** The pass over a site as one over an app. Its status has every field of an app's that these steps report. */
export function sitePass(pass: SitePass): AppPass {
  return { ...pass, object: siteApp(pass.object) } as unknown as AppPass
}

/** A step of apps, under its own name. */
export function overSite(step: AppStep): SiteStep {
  const taken = (pass: SitePass): Outcome | Promise<Outcome> => step(sitePass(pass))
  return Object.defineProperty(taken, 'name', { value: step.name })
}

/** A step of container instances, under its own name. */
export const overComponents = (step: InstanceStep): SiteStep => overSite(overApp(step))
