import { integerSettingInRange, Url } from './fields.ts'

/** Settings for keeping the platform itself up to date. */
export const lifecycleSettings = {
  chartRegistryUrl: Url.optional().describe(
    'Registry and path from which charts of components are pulled, each by its own name, for platforms without Internet access; those that components specify when absent',
  ),
  releaseFeedMinutes: integerSettingInRange(0, 1440)
    .default(60)
    .describe('How often the versions of components are looked up; with 0, only on request'),
  healthSettleSeconds: integerSettingInRange(0, 600)
    .default(30)
    .describe('How long the workloads of a component must have been ready before it counts as healthy'),
}
