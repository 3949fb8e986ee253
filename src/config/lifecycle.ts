import { between, Url } from './fields.ts'

/** Settings for keeping the platform itself up to date. */
export const lifecycleSettings = {
  chartRegistryUrl: Url.optional().describe(
    'Registry that charts of components are taken from, with the path below which each lies under its own name: for platforms without Internet. Those that components name when absent',
  ),
  releaseFeedMinutes: between(0, 1440)
    .default(60)
    .describe('How often the versions of components are looked up; 0: only if somebody asks for it'),
  healthSettleSeconds: between(0, 600)
    .default(30)
    .describe('How long the workloads of a component must have been ready before it counts as healthy'),
}
